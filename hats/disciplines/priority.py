"""Strict priority: nothing of a lower priority while a higher one has data (NAI's queues)."""

from __future__ import annotations

from typing import ClassVar

from hats.tree.heap import Key
from hats.tree.node import Node
from hats.tree.scheduler import KeyScheduler


class Priority(KeyScheduler):
    """Highest `priority` first; equals in order of arrival."""

    __slots__ = ()
    name: ClassVar[str] = "priority"

    def key(self, child: Node) -> Key:
        return (-child.priority, child.arrived)
