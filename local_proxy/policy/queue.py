"""Turns that wait while a policy is busy: in order, without repeating what is out of date.

An event that a later one of its kind makes pointless is dropped when that comes; it never moves
forward, so nothing is heard of before it exists. Pure.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import count

from policies.api.events import (
    BandwidthChanged,
    Event,
    FocusChanged,
    PointerOn,
    Progress,
    ScrolledInView,
)
from policies.host.chain import PolicySlot, PolicyTurn


class TurnQueue:
    """First in, first out, but for what is superseded."""

    def __init__(self) -> None:
        self._turns: dict[Hashable, tuple[int, PolicyTurn]] = {}
        self._unique = count()
        self.latest = 0
        """The number of the turn that was put last; they are counted from 1."""

    def __len__(self) -> int:
        return len(self._turns)

    def put(self, turns: Iterable[PolicyTurn]) -> None:
        """Append; a turn of the same policy that is now out of date goes."""
        for turn in turns:
            topic = _topic(turn.event)
            key = (turn.slot.index, next(self._unique) if topic is None else topic)
            self._turns.pop(key, None)
            self.latest += 1
            self._turns[key] = (self.latest, turn)

    @property
    def done(self) -> int:
        """Number up to which no turn waits any more."""
        oldest = next(iter(self._turns.values()), None)
        return self.latest if oldest is None else oldest[0] - 1

    def take(self) -> PolicyTurn | None:
        """The oldest turn."""
        return self._turns.pop(next(iter(self._turns)))[1] if self._turns else None

    def drop(self, slot: PolicySlot) -> None:
        """Forget the turns of a policy that was switched off."""
        self._turns = {key: one for key, one in self._turns.items() if one[1].slot is not slot}

    def waiting_for(self, slot: PolicySlot) -> int:
        """Turns that a policy has still to take."""
        return sum(turn.slot is slot for _, turn in self._turns.values())


def _topic(event: Event) -> Hashable | None:
    """What the event is about, if only the latest word on that matters."""
    match event:
        case Progress(component):
            return ("progress", component)
        case ScrolledInView(document):
            return ("scrolled", document)
        case FocusChanged() | PointerOn() | BandwidthChanged():
            return type(event).__name__
        case _:
            return None
