"""A heap of nodes by key whose members may leave from the middle: O(log n) a change.

A member that leaves stays in the list as a stale entry until it surfaces. Stale entries never
outnumber the live ones by much: `put` rebuilds the list when they would.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from hats.tree.node import Node

Key = tuple[float, ...]
Entry = tuple[Key, int, Node]

_SLACK: Final = 16
"""Entries: below this it is not worth rebuilding."""


class NodeHeap:
    """Nodes by key, smallest first; equal keys by age of the node."""

    __slots__ = ("_entries", "_heap")

    def __init__(self) -> None:
        self._entries: dict[Node, Entry] = {}
        self._heap: list[Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> int:
        """How many it holds, stale ones too."""
        return len(self._heap)

    def put(self, node: Node, key: Key) -> None:
        """Insert the node or move it to another key."""
        entries, heap = self._entries, self._heap
        entries[node] = entry = (key, node.serial, node)
        heappush(heap, entry)
        if len(heap) > 2 * len(entries) + _SLACK:
            heap[:] = entries.values()
            heapify(heap)

    def discard(self, node: Node) -> None:
        """Take the node out, if it is in."""
        self._entries.pop(node, None)

    def key(self, node: Node) -> Key | None:
        """The node's key, None if it isn't in."""
        entry = self._entries.get(node)
        return None if entry is None else entry[0]

    def first(self) -> Entry | None:
        """The entry with the smallest key, None if the heap is empty. Leaves it in."""
        entries, heap = self._entries, self._heap
        while heap:
            entry = heap[0]
            if entries.get(entry[2]) is entry:
                return entry
            heappop(heap)
        return None
