"""Which fetches with timers can't be in time any more at the present bandwidth (ATP, section 3.3).

The device says of a fetch by when it wants a level. Those that are wanted are ranked by urgency,
then deadline; texts go before all of them, as the tree sends them. The first one that is too late
expires early, which leaves the link to those behind it; then the next one that still is. Admission
and timers are those of transport/nai. Pure; it knows the tree's leaves, not links nor policies.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from admission.admission import Admission, AdmissionEntry
from admission.timers import Timers
from hats.tree.node import Node
from scheduling.tree import Tree
from wire.skeleton import LEVELS

MOST: Final = 1000
"""Timers of one device at a time; a fetch beyond them has the device's own timer alone."""
GRACE: Final = 0.25
"""Seconds by which a fetch must be too late: estimates waver, and so does the look at them."""
_TEXTS: Final = frozenset(("text", "style", "script"))
_QUEUE: Final = "fetches"
_FIRST: Final = AdmissionEntry(priority=1 << 16, deadline=None, order=0)
"""Where texts stand."""


class _Wanted(NamedTuple):
    level: str
    priority: int
    deadline: float


class Deadlines:
    """The deadlines of one device's fetches."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._wanted: dict[int, _Wanted] = {}
        self._timers: Timers[int] = Timers()

    def __len__(self) -> int:
        return len(self._wanted)

    def set(self, component: int, *, level: str, priority: int, deadline: float) -> None:
        """In place of the component's former one. `deadline` on the loop's clock."""
        if component in self._wanted or len(self._wanted) < MOST:
            self._wanted[component] = _Wanted(level, priority, deadline)
            self._timers.set(component, deadline)

    def clear(self, component: int) -> None:
        """Nobody waits for it by a time any more."""
        self._wanted.pop(component, None)
        self._timers.clear(component)

    def expire(self, now: float, *, rate: float) -> list[int]:
        """The fetches that can't be in time at `rate` bytes/second; nothing is known of them then.

        Those whose time is over are forgotten without a word: the device has a timer, too.
        """
        for component in self._timers.due(now):
            del self._wanted[component]
        if not self._wanted:
            return []
        admission, entries = self._admission(rate)
        early = []
        shares = {_QUEUE: 1.0}
        while (late := next(admission.late(now, grace=GRACE, shares=shares), None)) is not None:
            component, size = entries.pop(late[1][2])
            admission.remove(_QUEUE, self._entry(component), size)
            self.clear(component)
            early.append(component)
        return early

    def _admission(self, rate: float) -> tuple[Admission, dict[int, tuple[int, int]]]:
        """What is to be sent, and by what stands in its key the component and its bytes."""
        admission = Admission()
        admission.set_rate(rate)
        texts = sum(leaf.backlog for leaf in self._tree.leaves() if leaf.kind in _TEXTS)
        if texts:
            admission.add(_QUEUE, _FIRST, texts)
        entries = {}
        for component, wanted in list(self._wanted.items()):
            leaf = self._tree.find_leaf(component)
            left = None if leaf is None else bytes_left(leaf, wanted.level)
            if leaf is None or left == 0:
                self.clear(component)  # it is gone, or on its way as far as it was wanted
            elif left is not None:
                admission.add(_QUEUE, self._entry(component), left)
                entries[component] = (component, left)
        return admission, entries

    def _entry(self, component: int) -> AdmissionEntry:
        wanted = self._wanted[component]
        return AdmissionEntry(wanted.priority, wanted.deadline, component)


def bytes_left(leaf: Node, level: str) -> int | None:
    """Bytes until the leaf has sent that level; None: nobody knows how long it is."""
    if leaf.marks:
        place = LEVELS.index(level) if level in LEVELS else len(LEVELS)
        return max(0, leaf.marks[min(place, len(leaf.marks) - 1)] - leaf.sent)
    if leaf.size is None and not leaf.finished:
        return None
    return max(0, leaf.total - leaf.sent)
