"""In order: the ready child with the lowest `order` is served, one after the other.

The paper's order for the images of a page (HATS, section 4.1.1): in parallel they would all
become visible at the same late time.
"""

from __future__ import annotations

from typing import ClassVar

from hats.tree.heap import Key
from hats.tree.node import Node
from hats.tree.scheduler import KeyScheduler


class InOrder(KeyScheduler):
    """By `order`; an earlier child that becomes ready takes over at the next quantum."""

    __slots__ = ()
    name: ClassVar[str] = "in_order"

    def key(self, child: Node) -> Key:
        return (child.order,)
