"""First in, first out: the child whose data came first is served until it has none left."""

from __future__ import annotations

from typing import ClassVar

from hats.tree.heap import Key
from hats.tree.node import Node
from hats.tree.scheduler import KeyScheduler


class Fifo(KeyScheduler):
    """By arrival. A child that runs dry goes to the end when it has data again."""

    __slots__ = ()
    name: ClassVar[str] = "fifo"

    def key(self, child: Node) -> Key:
        return (child.arrived,)
