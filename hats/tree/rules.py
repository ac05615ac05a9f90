"""Bounds of what a hierarchy takes, rules of who may do what, and the checks that enforce them.

Values come from policies and from the peer, so each is checked where it enters. All checks raise
HierarchyError and return what they were given.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite, isnan
from typing import Final

from hats.tree.errors import HierarchyError
from hats.tree.node import MAX_WEIGHT, MIN_WEIGHT, Node

MAX_DEPTH: Final = 16
"""Levels below the root: root > application > document > frames > component needs five or so."""
MAX_MARKS: Final = 64
"""Fidelity levels of one component; a progressive JPEG has about ten scans."""
MAX_QUANTUM: Final = 1 << 20
"""Bytes; far more than a frame holds, far less than a link's patience."""


def check_weight(weight: float) -> float:
    if not MIN_WEIGHT <= weight <= MAX_WEIGHT:
        raise HierarchyError(f"weight {weight}: must be {MIN_WEIGHT} to {MAX_WEIGHT:g}")
    return weight


def check_quantum(quantum: int) -> int:
    if not isinstance(quantum, int) or not 0 < quantum <= MAX_QUANTUM:
        raise HierarchyError(f"quantum of {quantum} bytes: must be 1 to {MAX_QUANTUM}")
    return quantum


def check_bytes(nbytes: int) -> int:
    if not isinstance(nbytes, int) or nbytes < 0:
        raise HierarchyError(f"{nbytes} is no number of bytes")
    return nbytes


def check_rate(rate: float) -> float:
    if not isfinite(rate) or rate < 0:
        raise HierarchyError(f"{rate} is no rate in bytes/second")
    return rate


def check_deadline(deadline: float | None) -> float | None:
    if deadline is not None and isnan(deadline):
        raise HierarchyError("a deadline that is not a number")
    return deadline


def check_marks(marks: Sequence[int]) -> tuple[int, ...]:
    if len(marks) > MAX_MARKS:
        raise HierarchyError(f"{len(marks)} fidelity marks; at most {MAX_MARKS}")
    if any(a >= b for a, b in pairwise((0, *marks))):
        raise HierarchyError(f"fidelity marks {tuple(marks)} don't rise from above 0")
    return tuple(marks)


def check_attached(node: Node) -> Node:
    if not node.attached:
        raise HierarchyError(f"{node!r} has left the hierarchy")
    return node


def check_leaf(node: Node) -> Node:
    if node.scheduler is not None:
        raise HierarchyError(f"{node!r} is not a leaf")
    return check_attached(node)


def check_ancestor(node: Node, by: Node) -> Node:
    """`by` is above the node, so it may disable it."""
    above = check_attached(node).parent
    while above is not None and above is not by:
        above = above.parent
    if above is None:
        raise HierarchyError(f"{by!r} is no ancestor of {node!r}")
    return by


def check_may_enable(node: Node, by: Node) -> None:
    """`by` is at least as high as whoever disables the node (HATS, section 3.2.2)."""
    check_ancestor(node, by)
    for holder in node.holds:
        place = holder if isinstance(holder, Node) else holder.node
        if place.depth < by.depth:
            where = repr(place.name) if place.parent is not None else "the root"
            raise HierarchyError(f"{node!r} was disabled at {where}, above {by.name!r}")
