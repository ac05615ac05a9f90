"""Round-robin: every ready child gets one quantum in turn, whatever its weight."""

from __future__ import annotations

from typing import ClassVar

from hats.tree.heap import Key
from hats.tree.node import Node
from hats.tree.scheduler import KeyScheduler


class RoundRobin(KeyScheduler):
    """By turn: who was served goes to the end of the line, and so does who joins it."""

    __slots__ = ("_turn",)
    name: ClassVar[str] = "round_robin"

    def __init__(self) -> None:
        super().__init__()
        self._turn = 0

    def key(self, child: Node) -> Key:
        """Stable between turns, so that a change of parameters moves nobody."""
        return self._heap.key(child) or self._next_turn()

    def charge(self, child: Node, length: int) -> None:
        self._heap.put(child, self._next_turn())

    def _next_turn(self) -> Key:
        self._turn += 1
        return (self._turn,)
