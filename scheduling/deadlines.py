"""Which fetches with timers can be in time at the present bandwidth, and which can't (ATP, 3.3).

The device says of a fetch by when it wants a level. It enters with its deadline only if it can be
in time and those that entered before it still are; else it is refused at once, and told what could
be. Those that entered are ranked by urgency, then deadline, as the tree sends them (Appointments);
texts go before all of them. Where the estimate falls the first one that is too late expires early,
which leaves the link to those behind it; then the next one that still is. One that is wanted late
as well is lowered to what of it can be in time instead, and never held. A fetch may have its time
before it enters the tree. Admission and timers are those of transport/nai. Pure; it knows the
tree's leaves, not links nor policies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from admission.admission import Admission, AdmissionEntry, Protects
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
_SHARES: Final = {_QUEUE: 1.0}
_FIRST: Final = AdmissionEntry(priority=1 << 16, deadline=None, order=0)
"""Where texts stand."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A fetch that can't be in time, and what could be."""

    component: int
    level: str
    """The finest level that can be here by then; "": none."""
    within: float
    """Seconds in which the level that is wanted can be here, at the present bandwidth."""
    refused: bool = False
    """It did not enter at all; else it is held."""


class _Wanted(NamedTuple):
    level: str
    priority: int
    deadline: float
    goes_on: bool = False


class _Queue:
    """What is to be sent before deadlines, as admission sees it at one moment."""

    def __init__(self, rate: float) -> None:
        self.admission = Admission()
        self.admission.set_rate(rate)
        self.sizes: dict[AdmissionEntry, int] = {}
        self._rate = rate

    def add(self, entry: AdmissionEntry, size: int) -> None:
        self.admission.add(_QUEUE, entry, size)
        self.sizes[entry] = size

    def remove(self, entry: AdmissionEntry) -> None:
        self.admission.remove(_QUEUE, entry, self.sizes.pop(entry))

    def within(self, entry: AdmissionEntry, size: int) -> float:
        """Seconds until it can be through, behind all that goes before it."""
        before = sum(one for other, one in self.sizes.items() if other.key < entry.key)
        return (before + size) / self._rate if self._rate > 0 else 0.0


class Deadlines:
    """The deadlines of one device's fetches."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._wanted: dict[int, _Wanted] = {}
        self._timers: Timers[int] = Timers()

    def __len__(self) -> int:
        return len(self._wanted)

    def set(
        self,
        component: int,
        *,
        level: str,
        priority: int,
        deadline: float,
        now: float,
        rate: float | None = None,
        protects: Protects = Protects.ALL,
        goes_on: bool = False,
    ) -> Missed | None:
        """In place of the component's former one, if it can be kept at `rate` bytes/second; else
        there is none, and what could be is said. None: not measured, all enter. `deadline` on the
        loop's clock; `protects`: whose timers it must not break. `goes_on`: it comes even when it
        is late, so nobody is to hold it or to hear of it.
        """
        self.clear(component)
        wanted = _Wanted(level, priority, deadline, goes_on)
        missed = None if rate is None else self._refusal(component, wanted, now, rate, protects)
        if missed is None and len(self._wanted) < MOST:
            self._wanted[component] = wanted
            self._timers.set(component, deadline)
            self._tree.set_deadline(component, deadline, priority=priority)
        return missed

    def until(self, component: int) -> float | None:
        """By when it is to be there, on the loop's clock; None: it has no time."""
        wanted = self._wanted.get(component)
        return None if wanted is None else wanted.deadline

    def clear(self, component: int) -> None:
        """Nobody waits for it by a time any more."""
        if self._wanted.pop(component, None) is not None:
            self._timers.clear(component)
            self._tree.set_deadline(component, None)

    def late(self, now: float) -> list[int]:
        """The fetches whose time is over; nothing is known of them then."""
        over = [component for component in self._timers.due(now) if component in self._wanted]
        late = [component for component in over if self._to_be_held(component)]
        for component in over:
            self.clear(component)
        return late

    def _to_be_held(self, component: int) -> bool:
        """Whether it is not on its way yet, and nobody has said that it is wanted late as well."""
        waits = self._tree.awaits(component) and self._left(component, LEVELS[-1]) != 0
        return waits and not self._wanted[component].goes_on

    def expire(self, now: float, *, rate: float) -> list[Missed]:
        """The fetches that can't be in time at `rate` bytes/second; nothing is known of them
        then."""
        if not self._wanted:
            return []
        queue = self._queue(rate)
        missed = []
        while (
            late := next(queue.admission.late(now, grace=GRACE, shares=_SHARES), None)
        ) is not None:
            component = late[1][2]
            entry = self._entry(component)
            size, wanted = queue.sizes[entry], self._wanted[component]
            queue.remove(entry)
            early = self._missed(queue, component, wanted, size, now)
            if wanted.goes_on:
                self._lower(queue, component, wanted, early.level)
            else:
                missed.append(early)
                self.clear(component)
        return missed

    def _lower(self, queue: _Queue, component: int, wanted: _Wanted, level: str) -> None:
        """One that goes on wants from now on what can be in time of it; if that is nothing, it has
        no time any more."""
        left = self._left(component, level) if level else None
        if not left:
            self.clear(component)
        else:
            self._wanted[component] = wanted._replace(level=level)
            queue.add(self._entry(component), left)

    def _refusal(
        self, component: int, wanted: _Wanted, now: float, rate: float, protects: Protects
    ) -> Missed | None:
        size = self._left(component, wanted.level)
        if not size:
            return None  # nobody knows, or it is on its way as far as it is wanted
        queue = self._queue(rate)
        queue.admission.protects = protects
        if _admits(queue, component, wanted, size, now):
            return None
        return self._missed(queue, component, wanted, size, now, refused=True)

    def _missed(
        self,
        queue: _Queue,
        component: int,
        wanted: _Wanted,
        size: int,
        now: float,
        *,
        refused: bool = False,
    ) -> Missed:
        entry = AdmissionEntry(wanted.priority, wanted.deadline, component)
        coarser = LEVELS[: LEVELS.index(wanted.level)] if wanted.level in LEVELS else ()
        possible = ""
        for name in reversed(coarser):
            less = self._left(component, name)
            if less is not None and less < size and _admits(queue, component, wanted, less, now):
                possible = name
                break
        return Missed(component, possible, queue.within(entry, size), refused)

    def _queue(self, rate: float) -> _Queue:
        """What is to be sent before deadlines now."""
        queue = _Queue(rate)
        texts = sum(leaf.backlog for leaf in self._tree.leaves() if leaf.kind in _TEXTS)
        if texts:
            queue.add(_FIRST, texts)
        for component, wanted in list(self._wanted.items()):
            left = self._left(component, wanted.level)
            if left == 0 or not self._tree.awaits(component):
                self.clear(component)  # it is gone, or on its way as far as it was wanted
            elif left is not None:
                queue.add(self._entry(component), left)
        return queue

    def _left(self, component: int, level: str) -> int | None:
        leaf = self._tree.find_leaf(component)
        return None if leaf is None else bytes_left(self._tree, leaf, component, level)

    def _entry(self, component: int) -> AdmissionEntry:
        wanted = self._wanted[component]
        return AdmissionEntry(wanted.priority, wanted.deadline, component)


def bytes_left(tree: Tree, leaf: Node, component: int, level: str) -> int | None:
    """Bytes until the leaf has sent that level; None: nobody knows how long it is."""
    end = tree.level_end(component, level)
    if end is not None:
        return max(0, end - leaf.sent)
    if leaf.size is None and not leaf.finished:
        return None
    return max(0, leaf.total - leaf.sent)


def _admits(queue: _Queue, component: int, wanted: _Wanted, size: int, now: float) -> bool:
    entry = AdmissionEntry(wanted.priority, wanted.deadline, component)
    return queue.admission.admits(_QUEUE, entry, size, now, shares=_SHARES)
