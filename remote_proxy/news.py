"""Says to one device what only the remote knows: what it was refused, which commands can't be
carried out and which times can't be kept, what its link carries, what was decided about pictures.

Refused commands are told at once. The rest is asked for now and again while anything happens
(jobs/link_fit.py). What came too soon after the last is told at a later look, for which it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Final, Protocol

import structlog

from monitor.announcements import Announcements
from monitor.estimate import BandwidthEstimate
from remote_proxy.jobs.economy import Economy
from remote_proxy.jobs.link_rate import CONFIDENT
from remote_proxy.jobs.refusals import Refusals
from scheduling.drawing import draw
from scheduling.guarantees import GuaranteeNews
from scheduling.tree import Tree
from wire import abilities
from wire import messages as m

AGAIN: Final = 30.0
"""Seconds after which what others leave is told again though it is the same: a device believes it
for a while."""
BETWEEN_TURNS: Final = 2.0
"""Seconds; others come and go, and people can read no more of it."""
BETWEEN_DRAWINGS: Final = 0.5
"""Seconds; a device of ours asks for less than .2 % of its link."""
_log = structlog.get_logger("sluice.remote")


class Hearer(Protocol):
    """What it needs of the session with the device."""

    @property
    def device(self) -> str: ...

    def accepts(self, what: str) -> bool:
        """Whether the device said that it understands that message."""

    def say(self, message: m.Message) -> None:
        """Queue a control message."""


class MeasuredLink(Protocol):
    """What it needs of a link's statistics."""

    @property
    def outgoing(self) -> BandwidthEstimate | None: ...
    @property
    def available(self) -> BandwidthEstimate | None: ...
    @property
    def shared(self) -> bool: ...


class DeviceNews:
    """All that one session tells by itself."""

    def __init__(
        self,
        device: Hearer,
        refusals: Refusals,
        economy: Economy,
        *,
        refused: Callable[[], Mapping[str, int]],
        measured: Callable[[], MeasuredLink],
        too_soon: Callable[[], Iterable[tuple[int, float]]],
        guarantees: Callable[[], Iterable[GuaranteeNews]],
        later: Callable[[], None],
    ) -> None:
        """`refused`: what others refused it, counted; `measured`: its link, of which the
        gate has found what it carries, and perhaps what others leave of it;
        `too_soon`: documents whose time can't be kept, and the seconds in which it could, once;
        `guarantees`: rates that are guaranteed now, or not any more, once;
        `later`: there is to be another look, whatever happens."""
        self._device = device
        self._refusals = refusals
        self._economy = economy
        self._refused = refused
        self._measured = measured
        self._left = Announcements(again=AGAIN)
        self._too_soon = too_soon
        self._guarantees = guarantees
        self._later = later
        self._announcements = Announcements()
        self._drawn_at = -inf
        self._shared = False
        """As it was told last, and when."""
        self._shared_at = -inf

    def draw(self, tree: Tree, now: float) -> None:
        """Answer that somebody looks at the tree, but not as often as somebody may ask."""
        if now >= self._drawn_at + BETWEEN_DRAWINGS:
            self._drawn_at = now
            self._device.say(m.TreeDrawn(draw(tree)))

    def tell(self, now: float) -> None:
        """All that is due, and that the device understands."""
        self._tell_refusals(now)
        self._tell_times()
        self._tell_guarantees()
        self._tell_bandwidth(now)
        self._tell_decisions(now)

    def refused(self, number: int, reason: str) -> None:
        """Tell why the command of that number can't be carried out; "": it was."""
        if reason and self._device.accepts(abilities.REFUSALS):
            self._device.say(m.Refused(number, reason[: m.MAX_REFUSAL]))

    def _tell_refusals(self, now: float) -> None:
        said = self._refusals.news(self._refused(), now=now)
        if not said:
            return
        _log.warning("a device was refused", device=self._device.device, what=said)
        if self._device.accepts(abilities.NOTICES):
            self._device.say(m.Notice(said))

    def _tell_times(self) -> None:
        for document, seconds in self._too_soon():
            if self._device.accepts(abilities.TIMELY):
                self._device.say(m.TooSoon(document, round(min(seconds, m.MAX_SECONDS), 2)))

    def _tell_guarantees(self) -> None:
        for path, rate, held in self._guarantees():
            if self._device.accepts(abilities.RESERVES):
                self._device.say(m.Guaranteed(list(path), round(rate, 1), held))

    def _tell_bandwidth(self, now: float) -> None:
        """What the device's policies go by: only this end knows what its gate has found."""
        link = self._measured()
        carried, left = link.outgoing, link.available
        if carried is not None and carried.confidence >= CONFIDENT:
            self._tell_rate(m.Carries, abilities.BANDWIDTH, self._announcements, carried, now)
        if left is not None:
            self._tell_rate(m.Leaves, abilities.AVAILABLE, self._left, left, now)
        self._tell_shared(link.shared, now)

    def _tell_shared(self, shared: bool, now: float) -> None:
        if shared == self._shared or not self._device.accepts(abilities.CONTENDED):
            return
        if now < self._shared_at + BETWEEN_TURNS:
            self._later()
            return
        self._shared, self._shared_at = shared, now
        self._device.say(m.Contended(shared))

    def _tell_rate(
        self,
        message: type[m.Carries | m.Leaves],
        ability: str,
        announcements: Announcements,
        estimate: BandwidthEstimate,
        now: float,
    ) -> None:
        if not self._device.accepts(ability):
            return
        due = announcements.due(estimate, now)
        if due is not None:
            self._device.say(message(round(due.rate), round(100 * due.confidence)))
        elif announcements.untold(estimate):
            self._later()

    def _tell_decisions(self, now: float) -> None:
        if not self._device.accepts(abilities.DECISIONS):
            return
        counts = self._economy.news(now)
        if counts is not None:
            self._device.say(m.Decisions(dict(counts)))
        elif self._economy.untold:
            self._later()
