"""Callback timers and other appointments: what is due, O(log n) a change.

Pure. What an appointment means is for its owner.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

Owner = TypeVar("Owner")

_SLACK: Final = 64
"""Stale entries below this are not worth a rebuild."""


class Timers(Generic[Owner]):
    """At most one appointment an owner, who is told apart by identity."""

    __slots__ = ("_entries", "_heap", "_number")

    def __init__(self) -> None:
        self._entries: dict[Owner, tuple[float, int, Owner]] = {}
        self._heap: list[tuple[float, int, Owner]] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self._entries)

    def set(self, owner: Owner, at: float) -> None:
        """In the place of an older one."""
        self._number += 1
        entry = self._entries[owner] = (at, self._number, owner)
        heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._entries) + _SLACK:
            self._heap = list(self._entries.values())
            heapify(self._heap)

    def clear(self, owner: Owner) -> None:
        """If there is one."""
        self._entries.pop(owner, None)

    def next_time(self) -> float | None:
        """When something is due next."""
        heap = self._heap
        while heap and self._entries.get(heap[0][2]) is not heap[0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: float) -> list[Owner]:
        """Whose time has come, in order; they have none afterwards."""
        found = []
        while (at := self.next_time()) is not None and at <= now:
            owner = heappop(self._heap)[2]
            del self._entries[owner]
            found.append(owner)
        return found
