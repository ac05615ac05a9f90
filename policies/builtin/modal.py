"""Modal: which fidelity pictures have follows from the bandwidth (ATP, sections 3.1, 4.4).

The application has modes; in each it sends what the link carries soon enough, and nothing else. It
changes modes when the estimate leaves the range of the one that it is in. What has been sent stays,
and what was cut at a level is not sent on: a mode holds for what is found from then on.

In the mode without pictures a reader may wait for them with nothing under way that would tell that
the link has recovered. So it is polled, as a bandwidth of zero is (ATP, 4.2): now and then one
picture that is held comes, coarse.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final, NamedTuple

from policies.api import (
    BandwidthChanged,
    Command,
    Event,
    Kind,
    Rule,
    SessionOpened,
    SessionView,
    SetPlan,
    SetTimer,
    SkeletonGrew,
    TimerExpired,
    WatchBandwidth,
)
from policies.api.plan import StopLevel


class PictureMode(NamedTuple):
    """Up to which level pictures are sent, from which bandwidth on."""

    at_least: float
    """Bytes/second."""
    level: StopLevel


MODES: Final = (
    PictureMode(0.0, "none"),
    PictureMode(3_000.0, "low"),
    PictureMode(20_000.0, "medium"),
    PictureMode(60_000.0, "original"),
)
"""A page has some 20 pictures of which 1, 10 and 40 KB make the levels: each mode brings them
within half a minute at its least bandwidth."""
UNKNOWN: Final = 1
"""The mode before anything is known: coarse pictures cost little."""
POLL: Final = 5.0
"""Seconds between two pictures of the mode without any. A coarse one has 2 KB: on a link that is
still slow texts go first, and else nothing wants it."""
_PLAY: Final = 0.8
"""Of a mode's least bandwidth: it is left only below that, so as not to flutter."""


class Modal:
    """`modes`: the lowest first, from 0 bytes/second on."""

    name = "modal"

    def __init__(self, *, modes: Iterable[tuple[float, StopLevel]] = MODES) -> None:
        self._modes = [PictureMode(*one) for one in modes]
        self._mode = min(UNKNOWN, len(self._modes) - 1)
        self._polled: int | None = None
        """The picture that comes though its mode has none."""
        self._poll_due = False

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case SessionOpened():
                if view.bandwidth is not None:
                    self._mode = self._fitting(view.bandwidth)
            case BandwidthChanged(rate):
                self._mode = self._fitting(rate)
            case TimerExpired(name="poll"):
                self._poll_due = False
                yield from self._poll(view)
                return
            case SkeletonGrew():
                yield from self._poll_later()
                return
            case _:
                return
        yield from self._change()

    def _change(self) -> Iterable[Command]:
        """The plan of the mode, and the range that would change it."""
        mode = self._modes[self._mode]
        above = self._modes[self._mode + 1 :]
        yield SetPlan(self._rules())
        yield WatchBandwidth(mode.at_least * _PLAY, above[0].at_least if above else inf)
        yield from self._poll_later()

    def _rules(self) -> tuple[Rule, ...]:
        level = self._modes[self._mode].level
        if level == "original":
            return ()
        rule = Rule(kind=Kind.IMAGE, level=level)
        if level != "none" or self._polled is None:
            return (rule,)
        return rule, Rule(kind=Kind.IMAGE, components=(self._polled,), level="low")

    def _poll_later(self) -> Iterable[Command]:
        """Where pictures are held back; at rest no timer runs."""
        if self._modes[self._mode].level == "none" and not self._poll_due:
            self._poll_due = True
            yield SetTimer("poll", after=POLL)

    def _poll(self, view: SessionView) -> Iterable[Command]:
        """Let the next picture come, once the one before is here, coarse."""
        if self._modes[self._mode].level != "none":
            return
        held = [
            one
            for document in view.documents
            for one in view.parts(document)
            if one.kind is Kind.IMAGE and not one.level and not one.complete
        ]
        if not held:
            return
        if self._polled not in [one.id for one in held]:
            self._polled = held[0].id
            yield SetPlan(self._rules())
        yield from self._poll_later()

    def _fitting(self, rate: float) -> int:
        """The highest mode that the rate carries; the present one has some play."""
        fitting = max((n for n, mode in enumerate(self._modes) if rate >= mode.at_least), default=0)
        if fitting < self._mode and rate >= self._modes[self._mode].at_least * _PLAY:
            return self._mode
        return fitting
