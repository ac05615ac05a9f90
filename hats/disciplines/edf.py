"""Earliest deadline first within each priority (ATP, 3.3, orders the messages of one queue so).

Late ones are not dropped here: what a deadline passed means is the caller's business.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar

from hats.tree.heap import Key
from hats.tree.node import Node
from hats.tree.scheduler import KeyScheduler


class EarliestDeadlineFirst(KeyScheduler):
    """By `priority`, highest first, then by `deadline`: children without one come last, equals in
    order of arrival."""

    __slots__ = ()
    name: ClassVar[str] = "edf"

    def key(self, child: Node) -> Key:
        deadline = inf if child.deadline is None else child.deadline
        return (-child.priority, deadline, child.arrived)
