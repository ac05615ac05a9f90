"""Simulates what a policy does to a page load: its commands as a remote proxy obeys them.

The link carries one quantum after the other at a fixed rate and is never idle while the tree has
something to send; commands take half a round trip to reach it, and so does word of those that it
refuses. Origins are instantly fast. That is
enough to see order, shares and fidelity, and to compare policies; for real delays, losses and
browsers there is the bench.

    done = simulate(Focus(), [Page(1, (Item(2, 60_000), ...))], rate=48_000)
    done.components[2].complete     # seconds
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Final, NamedTuple

from policies.api import (
    Command,
    DocumentClosed,
    DocumentOpened,
    Event,
    Policy,
    Progress,
    SessionOpened,
    SkeletonGrew,
)
from policies.testing import Estimate, Player, Recording, Replay
from policies.testing.simulated_remote import Item, SimulatedLeaf, SimulatedPage, SimulatedRemote
from scheduling.deadlines import Missed
from wire.skeleton import LEVELS, Part

__all__ = ["Completion", "Item", "Outcome", "SimulatedPage", "simulate"]

MAX_QUANTA: Final = 1_000_000
"""Of one simulation, so that a mistake ends."""


class _Said(NamedTuple):
    """A command on its way to the remote."""

    number: int
    command: Command


class _Refusal(NamedTuple):
    """On its way back."""

    number: int
    reason: str


_Happening = Event | Estimate | _Said | _Refusal | Missed


@dataclass(slots=True)
class Completion:
    """Seconds at which a component reached its levels and its end; absent: never."""

    levels: dict[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> float | None:
        return self.levels.get("original")


@dataclass(slots=True)
class Outcome:
    """What came of a simulation."""

    components: dict[int, Completion]
    sent: list[tuple[float, int, int]]
    """Every quantum: when it was over, whose document, how many bytes."""
    replay: Replay
    """The policies' side of it."""

    def reached(self, items: Iterable[Item], level: str = "original") -> float | None:
        """When the last of these reached the level; None: not all did."""
        times = [self.components[item.component].levels.get(level) for item in items]
        return None if None in times else max((t for t in times if t is not None), default=0.0)

    def share(self, document: int, start: float, end: float) -> float:
        """The document's part of all bytes sent between two times, 0 to 1."""
        sizes = [(size, owner) for at, owner, size in self.sent if start < at <= end]
        return sum(s for s, o in sizes if o == document) / max(sum(s for s, _ in sizes), 1)


def simulate(
    policies: Policy | Sequence[Policy],
    pages: Sequence[SimulatedPage],
    *,
    rate: float,
    quantum: int = 256,
    round_trip: float = 0.0,
    events: Recording = (),
    until: float = 3600.0,
) -> Outcome:
    """Load the pages over a link of `rate` bytes/second; `events` are what the user does.

    Ends when everything was sent and nothing is to happen, or after `until` seconds.
    """
    return _Run(policies, pages, rate=rate, quantum=quantum, round_trip=round_trip).run(
        events, until
    )


class _Run:
    def __init__(
        self,
        policies: Policy | Sequence[Policy],
        pages: Sequence[SimulatedPage],
        *,
        rate: float,
        quantum: int,
        round_trip: float,
    ) -> None:
        self._player = Player(policies)
        self._remote = SimulatedRemote(quantum=quantum, rate=rate)
        self._pages = {page.document: page for page in pages}
        self._rate, self._half_trip = rate, round_trip / 2
        self._agenda: list[tuple[float, int, _Happening]] = []
        self._serial = count()
        self._outcome = Outcome(
            {item.component: Completion() for page in pages for item in page.items},
            [],
            self._player.result,
        )

    def run(self, events: Recording, until: float) -> Outcome:
        self._plan(0.0, SessionOpened())
        for page in self._pages.values():
            opened = DocumentOpened(page.document, page.url, page.application.node)
            self._plan(page.at, opened)
        for at, event in events:
            self._plan(at, event)
        now = idle = 0.0
        busy = 0  # bytes since the link was last idle: times are exact, not a sum of roundings
        for _ in range(MAX_QUANTA):
            self._happen(now)
            grant = self._remote.multiplexer.next_quantum(now)
            if grant is not None:
                busy += grant.length
                now = idle + busy / self._rate
                self._sent(self._remote.leaves[int(grant.leaf.name)], grant.length, now)
                continue
            later = [at for at in (self._next_event(), self._player.next_timer()) if at is not None]
            if not later:
                return self._outcome
            now, busy = max(now, min(later)), 0
            idle = now
            if now > until:
                return self._outcome
        raise RuntimeError(f"not done after {MAX_QUANTA} quanta")

    def _next_event(self) -> float | None:
        return self._agenda[0][0] if self._agenda else None

    def _plan(self, at: float, what: _Happening) -> None:
        heappush(self._agenda, (at, next(self._serial), what))

    def _happen(self, now: float) -> None:
        """Everything that is due."""
        timer = self._player.next_timer()
        if timer is not None and timer <= now:
            self._player.fire(now=now)
            self._send(now)
        for missed in self._remote.expired(now):
            self._missed(missed, now)
        for event in self._remote.guaranteed(now):
            self._plan(now + self._half_trip, event)
        while self._agenda and self._agenda[0][0] <= now:
            at, _, what = heappop(self._agenda)
            if isinstance(what, _Said):
                self._obey(what, at)
            elif isinstance(what, _Refusal):
                self._refused(what, at)
            elif isinstance(what, Missed):
                self._missed(what, at)
            else:
                self._play(what, at)

    def _play(self, event: Event | Estimate, now: float) -> None:
        page = self._pages.get(event.document) if isinstance(event, DocumentOpened) else None
        if page is not None:
            self._remote.open(page)
        if isinstance(event, DocumentClosed) and event.document in self._pages:
            self._remote.close(self._pages[event.document])
        self._player.play(event, now=now)
        self._send(now)
        if page is not None:
            parts = tuple(
                Part(item.component, page.part_url(item), item.kind, item.use, order)
                for order, item in enumerate(page.items)
            )
            self._player.play(SkeletonGrew(page.document, parts), now=now)
            self._send(now)

    def _send(self, now: float) -> None:
        for number, command in self._player.take():
            if self._half_trip:
                self._plan(now + self._half_trip, _Said(number, command))
            else:
                self._obey(_Said(number, command), now)

    def _obey(self, said: _Said, now: float) -> None:
        reason = self._remote.obey(said.command, now=now)
        if not reason:
            return
        refusal = reason if isinstance(reason, Missed) else _Refusal(said.number, reason)
        if self._half_trip:
            self._plan(now + self._half_trip, refusal)
        elif isinstance(refusal, Missed):
            self._missed(refusal, now)
        else:
            self._refused(refusal, now)

    def _refused(self, refusal: _Refusal, now: float) -> None:
        self._player.refused(refusal.number, refusal.reason, now=now)
        self._send(now)

    def _missed(self, missed: Missed, now: float) -> None:
        self._player.missed(
            missed.component,
            now=now,
            level=missed.level,
            within=missed.within,
            refused=missed.refused,
        )
        self._send(now)

    def _sent(self, leaf: SimulatedLeaf, length: int, now: float) -> None:
        leaf.sent += length
        self._outcome.sent.append((now, leaf.page.document, length))
        told = self._outcome.components[leaf.item.component].levels
        level = leaf.reached()
        if level and level not in told:
            for passed in LEVELS[: LEVELS.index(level) + 1]:
                told.setdefault(passed, now)
            done = leaf.sent >= leaf.item.size
            progress = Progress(leaf.item.component, leaf.sent, level, done, leaf.item.size)
            self._player.play(progress, now=now)
            self._send(now)
