"""Runs policies against a recorded session in virtual time: for tests, and for trying one out.

A recording is a list of (seconds, event). `Estimate` stands for a renewed bandwidth estimate. There
are no threads and no patience here: a policy that raises, raises in your test.

    result = replay(MyPolicy(), [(0.0, SessionOpened()), (1.0, Estimate(rate=5_000))])
    assert result.sent == [...]

policies/testing/simulation.py goes further and shows what the commands do to a page load.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from policies.api import Command, Event, Policy, SessionView
from policies.builtin.default import Default
from policies.host.chain import HostStep, PolicyHost, react


@dataclass(frozen=True, slots=True)
class Estimate:
    """In a recording: the bandwidth estimate was renewed."""

    rate: float
    """Bytes/second towards the device."""
    confidence: float = 1.0
    available: float | None = None
    """Bytes/second that others leave of it; None: it is not measured."""


Recording = Iterable[tuple[float, Event | Estimate] | tuple[float, Event]]


@dataclass(slots=True)
class Replay:
    """What came of a recording."""

    answers: list[tuple[float, str, Command]] = field(default_factory=list)
    """Everything that policies answered: when, which policy, what."""
    sent: list[tuple[float, Command]] = field(default_factory=list)
    """What went to the remote proxy: without what stays here, is refused or changes nothing."""
    refused: list[str] = field(default_factory=list)
    """Commands that could not be carried out, and why."""
    view: SessionView = field(default_factory=SessionView)
    """How the session stood at the end."""

    def commands(self) -> list[Command]:
        """What went to the remote proxy, without the times."""
        return [command for _, command in self.sent]


class Player:
    """Plays events to policies one at a time and keeps what comes of it."""

    def __init__(self, policies: Policy | Sequence[Policy]) -> None:
        several = policies if isinstance(policies, Sequence) else [policies]
        self._host = PolicyHost(several, fallback=Default)
        self.result = Replay()
        self._numbers = count(1)
        self._untaken: list[tuple[int, Command]] = []

    def play(self, event: Event | Estimate, *, now: float) -> list[Command]:
        """One event, and the turns that follow from it; the commands for the remote proxy."""
        if isinstance(event, Estimate):
            return self._run(
                self._host.measured(
                    event.rate, confidence=event.confidence, available=event.available
                ),
                now,
            )
        return self._run(self._host.hear(event, now=now), now)

    def next_timer(self) -> float | None:
        """When `fire` is due; None: no timer runs."""
        return self._host.next_timer()

    def fire(self, *, now: float) -> list[Command]:
        """The timers that are due."""
        return self._run(self._host.expired(now=now), now)

    def missed(
        self,
        component: int,
        *,
        now: float,
        level: str = "",
        within: float = 0.0,
        refused: bool = False,
    ) -> list[Command]:
        """The remote proxy has suspended, or refused, a fetch whose timer can't be kept."""
        said = self._host.missed(component, level=level, within=within, refused=refused)
        return self._run(said, now)

    def refused(self, number: int, reason: str, *, now: float) -> list[Command]:
        """The remote proxy can't carry out the command of that number."""
        return self._run(self._host.refused(number, reason), now)

    def take(self) -> list[tuple[int, Command]]:
        """What goes to the remote proxy since this was last asked, with the commands' numbers."""
        taken, self._untaken = self._untaken, []
        return taken

    def _run(self, step: HostStep, now: float) -> list[Command]:
        given = list(step.given)
        turns = deque(step.turns)
        self.result.refused += step.refused
        while turns:
            turn = turns.popleft()
            commands = react(turn, self._host.view(now=now))
            self.result.answers += [(now, turn.slot.name, command) for command in commands]
            after = self._host.reacted(turn, commands, seconds=0.0, now=now)
            given += after.given
            turns += after.turns
            self.result.refused += after.refused
        for one in given:
            number = next(self._numbers)
            self._host.said(number, one)
            self._untaken.append((number, one.command))
        sent = [one.command for one in given]
        self.result.sent += [(now, command) for command in sent]
        self.result.view = self._host.view(now=now)
        return sent


def replay(
    policies: Policy | Sequence[Policy], recording: Recording, *, until: float | None = None
) -> Replay:
    """Play a recording, and timers up to `until` seconds (by default its last event).

    Raises what a policy raises.
    """
    player = Player(policies)
    now = 0.0

    def fire_before(end: float) -> None:
        while (at := player.next_timer()) is not None and at <= end:
            player.fire(now=max(at, now))

    for at, event in recording:
        if at < now:
            raise ValueError(f"the recording goes back in time, from {now} to {at} s")
        fire_before(at)
        now = at
        player.play(event, now=now)
    fire_before(now if until is None else until)
    return player.result
