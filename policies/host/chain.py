"""The host: several policies on one session, as a state machine without threads or clocks.

It says whose turn it is to react to what, checks and orders what comes back, keeps timers and
bandwidth ranges, and puts a failed policy out. Who calls `react`, and with how much patience, is
the driver's affair: local_proxy/policy/runtime.py in a session, policies/testing/__init__.py in a
test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import isclose
from typing import Final

from policies.api import Policy
from policies.api.commands import (
    Cancel,
    Command,
    Defer,
    Fetch,
    Resume,
    SetPlan,
    SetTimer,
    WatchBandwidth,
)
from policies.api.events import (
    BandwidthChanged,
    CommandRefused,
    DocumentClosed,
    Event,
    FetchInTime,
    FocusChanged,
    Progress,
    TimerExpired,
)
from policies.api.plan import Rule, resolve
from policies.api.view import SessionView
from policies.host.checks import COMMANDS, problem, size_problem
from policies.host.given_commands import GivenCommand, Giver, SaidCommands
from policies.host.model import SessionModel
from policies.host.standing_commands import StandingCommands
from wire.skeleton import LEVELS

MAX_COMMANDS: Final = 10_000
"""Of one reaction: more is an endless generator."""
MAX_REFUSALS: Final = 100
"""Refusals that wait to be heard by one policy; more are logged alone."""
MAX_TIMERS: Final = 1_000
"""Of one policy at a time."""


class Misbehaved(Exception):
    """A policy returned what isn't commands."""


@dataclass(eq=False, slots=True)
class PolicySlot:
    """A policy's place in the order, and how it has fared."""

    index: int
    policy: Policy
    name: str
    on: bool = True
    why_off: str = ""
    reactions: int = 0
    commands: int = 0
    refused: int = 0
    seconds: float = 0.0
    """Spent reacting, in all."""
    slowest: float = 0.0
    """Seconds of the longest reaction."""
    watch: WatchBandwidth | None = None
    timers: dict[str, float] = field(default_factory=dict)
    fetches: dict[int, str] = field(default_factory=dict)
    """Components with a fetch timer, and the level that stops it."""
    refusals: int = 0
    """It has still to hear."""


@dataclass(frozen=True, slots=True)
class PolicyTurn:
    """A policy is to react to an event."""

    slot: PolicySlot
    event: Event


@dataclass(frozen=True, slots=True)
class HostStep:
    """What follows: first send the commands, then take the turns, in order."""

    given: tuple[GivenCommand, ...] = ()
    turns: tuple[PolicyTurn, ...] = ()
    refused: tuple[str, ...] = ()
    """Commands that can't be carried out, and why, for the log."""

    @property
    def commands(self) -> tuple[Command, ...]:
        """What is to be sent, without who gave it."""
        return tuple(given.command for given in self.given)


def react(turn: PolicyTurn, view: SessionView) -> list[Command]:
    """Let the policy react. Raises what it raises, or Misbehaved; safe in another thread."""
    reaction: object = turn.slot.policy.react(turn.event, view)
    if reaction is None:
        return []
    if not isinstance(reaction, Iterable):
        raise Misbehaved(f"returned {reaction!r:.100}, not commands")
    commands = list(islice(reaction, MAX_COMMANDS + 1))
    if len(commands) > MAX_COMMANDS:
        raise Misbehaved(f"more than {MAX_COMMANDS} commands in answer to one event")
    for command in commands:
        if not isinstance(command, COMMANDS):
            raise Misbehaved(f"answered {command!r:.100}, which is no command")
    return commands


class PolicyHost:
    """Policies in order. A later one sees, and may override, what an earlier one did."""

    def __init__(self, policies: Sequence[Policy], *, fallback: Callable[[], Policy]) -> None:
        """`fallback` makes the policy that takes over when no other is left."""
        self._fallback: Callable[[], Policy] | None = fallback
        self._model = SessionModel()
        self._settings = StandingCommands()
        self._said = SaidCommands()
        self._suspended: set[int] = set()
        """Components that the remote proxy holds until a policy says what becomes of them."""
        self._resolved_of: tuple[tuple[Rule, ...], int | None, tuple[Rule, ...]] | None = None
        """The plan and the document in front that `rules` was last asked of, and what it was."""
        self.slots: list[PolicySlot] = []
        for policy in policies:
            self._add(policy)
        if not policies:
            self._take_over()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The plan in effect, "front" and "back" resolved."""
        asked = (self._settings.rules, self._model.front)
        if self._resolved_of is None or self._resolved_of[0] is not asked[0]:
            self._resolved_of = None
        if self._resolved_of is None or self._resolved_of[1] != asked[1]:
            self._resolved_of = (*asked, resolve(asked[0], front=asked[1]))
        return self._resolved_of[2]

    def rules_of(self, slot: PolicySlot) -> tuple[Rule, ...]:
        """What of the plan is that policy's, as it said it."""
        return self._settings.rules_of(slot.index)

    def view(self, *, now: float) -> SessionView:
        settings = self._settings
        return self._model.view(
            now=now,
            schedulers=settings.schedulers,
            weights=settings.weights,
            deferred=settings.deferred,
        )

    def begin_again(self) -> HostStep:
        """All that holds, for a remote proxy that starts from nothing and counts anew."""
        self._said.clear()
        held = [
            GivenCommand(command, (Giver(owner, command),))
            for owner, command in self._settings.held()
        ]
        return HostStep((*held, *([self._whole_plan()] if self._settings.plans() else [])))

    def said(self, number: int, given: GivenCommand) -> None:
        """The command was said to the remote proxy, as the session's with that number."""
        self._said.put(number, given)

    def refused(self, number: int, reason: str) -> HostStep:
        """The remote proxy can't carry out the command of that number."""
        why = "".join(letter if letter.isprintable() else " " for letter in reason)
        turns: list[PolicyTurn] = []
        log = []
        for giver in self._said.take(number):
            slot, command = self.slots[giver.owner], giver.command
            log.append(_line(command, f"the remote proxy says: {why}"))
            if not slot.on:
                continue
            self._settings.refused(giver.owner, command)
            slot.refused += 1
            if not giver.answers_refusal:
                turns += self._tell(slot, CommandRefused(command, why))
        return HostStep(turns=tuple(turns), refused=tuple(log))

    def hear(self, event: Event, *, now: float) -> HostStep:
        """Tells the policy that something happened."""
        surplus = self._model.surplus(event)
        if surplus is not None:
            first, then = self.hear(DocumentClosed(surplus), now=now), self.hear(event, now=now)
            return HostStep(first.given + then.given, first.turns + then.turns)
        before = self.rules
        if isinstance(event, DocumentClosed):
            closed = self._model.documents.get(event.document)
            if closed is not None:
                self._settings.forget(document=closed.path, components=closed.components)
        in_time = self._fetched(event, now) if isinstance(event, Progress) else []
        heard = self._model.hear(event, now=now)
        moved = any(isinstance(event, FocusChanged) for event in heard) and self.rules != before
        turns = tuple(PolicyTurn(slot, event) for event in heard for slot in self.slots if slot.on)
        return HostStep((self._whole_plan(),) if moved else (), (*turns, *in_time))

    def measured(
        self, rate: float, *, confidence: float = 1.0, available: float | None = None
    ) -> HostStep:
        """The bandwidth estimate was renewed: bytes/second towards the device, and those of it that
        others leave."""
        self._model.measured(rate)
        turns = []
        for slot in self.slots:
            watch = slot.watch
            if slot.on and watch is not None and not watch.low <= rate < watch.high:
                slot.watch = None
                turns.append(PolicyTurn(slot, BandwidthChanged(rate, confidence, available)))
        return HostStep(turns=tuple(turns))

    def reacted(
        self, turn: PolicyTurn, commands: Sequence[Command], *, seconds: float, now: float
    ) -> HostStep:
        """A policy answered, after so many seconds. An answer of one that is off is void."""
        slot = turn.slot
        if not slot.on:
            return HostStep()
        slot.reactions += 1
        slot.seconds += seconds
        slot.slowest = max(slot.slowest, seconds)
        answers_refusal = isinstance(turn.event, CommandRefused)
        slot.refusals -= answers_refusal
        given: list[GivenCommand] = []
        turns: list[PolicyTurn] = []
        refused: list[str] = []
        for command in commands:
            why = self._problem(slot, command)
            if why:
                slot.refused += 1
                refused.append(_line(command, why))
                if not answers_refusal:
                    turns += self._tell(slot, CommandRefused(command, why))
                continue
            slot.commands += 1
            by = (Giver(slot.index, command, answers_refusal),)
            given += [GivenCommand(one, by) for one in self._carry_out(slot, command, now)]
        if isinstance(turn.event, TimerExpired):
            given += [GivenCommand(command) for command in self._let_go_on(turn.event.name)]
        resolved = [replace(one, command=self._resolved(one.command)) for one in given]
        return HostStep(tuple(resolved), tuple(turns), tuple(refused))

    def failed(self, slot: PolicySlot, reason: str) -> HostStep:
        """Switch a policy off: undo what it set, go on with the others, or with the fallback."""
        if not slot.on:
            return HostStep()
        slot.on, slot.why_off = False, reason
        slot.watch = None
        slot.timers.clear()
        slot.fetches.clear()
        withdrawn = [*self._settings.withdraw(slot.index), *self._let_go_on()]
        undo = tuple(GivenCommand(self._resolved(command)) for command in withdrawn)
        if any(other.on for other in self.slots):
            return HostStep(undo)
        newcomer = self._take_over()
        if newcomer is None:
            return HostStep(undo)
        return HostStep(undo, tuple(PolicyTurn(newcomer, event) for event in self._model.recall()))

    def next_timer(self) -> float | None:
        """When `expired` is due; None: no timer runs."""
        return min((at for slot in self.slots for at in slot.timers.values()), default=None)

    def expired(self, *, now: float) -> HostStep:
        """The turns of all timers that are due, the earliest first."""
        due = sorted(
            (at, slot.index, name)
            for slot in self.slots
            for name, at in slot.timers.items()
            if at <= now or isclose(at, now, abs_tol=1e-6)
        )
        turns, suspend = [], []
        for _, index, name in due:
            slot = self.slots[index]
            del slot.timers[name]
            if name.startswith("fetch:"):
                component = int(name.removeprefix("fetch:"))
                slot.fetches.pop(component, None)
                if component not in self._suspended:
                    self._suspended.add(component)
                    suspend.append(GivenCommand(Defer(component)))
            turns.append(PolicyTurn(slot, TimerExpired(name)))
        return HostStep(tuple(suspend), tuple(turns))

    def missed(
        self, component: int, *, level: str = "", within: float | None = None, refused: bool = False
    ) -> HostStep:
        """A fetch can't be in time, and the remote proxy has suspended it, or `refused` it: the
        turns of those who gave it a timer. `level`, `within`: what could be, and in how many
        seconds."""
        name = f"fetch:{component}"
        event = TimerExpired(
            name, early=not refused, refused=refused, level=level, within=within or None
        )
        turns = []
        for slot in self.slots:
            if slot.on and slot.fetches.pop(component, None) is not None:
                slot.timers.pop(name, None)
                turns.append(PolicyTurn(slot, event))
        if refused:
            return HostStep(turns=tuple(turns))
        if not turns:
            return HostStep((GivenCommand(Resume(component)),))
        self._suspended.add(component)
        return HostStep(turns=tuple(turns))

    # -- one command -----------------------------------------------------------------------

    def _problem(self, slot: PolicySlot, command: Command) -> str:
        if isinstance(command, SetTimer) and command.name.startswith("fetch:"):
            return "names that begin with fetch: are those of fetches"
        if isinstance(command, SetTimer | Fetch) and len(slot.timers) >= MAX_TIMERS:
            return f"{MAX_TIMERS} timers are running"
        try:
            return problem(command, self._model) or self._size_problem(slot, command)
        except (TypeError, ValueError, AttributeError) as error:  # fields of the wrong type
            return str(error) or type(error).__name__

    def _size_problem(self, slot: PolicySlot, command: Command) -> str:
        if isinstance(command, SetPlan):  # goes together with those of the others
            command = SetPlan(self._settings.rules_with(slot.index, command.rules))
        return size_problem(command)

    def _carry_out(self, slot: PolicySlot, command: Command, now: float) -> list[Command]:
        """The commands to send, if any."""
        if isinstance(command, WatchBandwidth):
            slot.watch = command
            return []
        if isinstance(command, SetTimer):
            when = command.at if command.after is None else now + command.after
            slot.timers.pop(command.name, None)
            if when is not None:
                slot.timers[command.name] = when
            return []
        if isinstance(command, Fetch) and command.timer is not None:
            slot.timers[f"fetch:{command.component}"] = now + command.timer
            slot.fetches[command.component] = command.level
        send = self._settings.put(slot.index, command)
        if isinstance(command, Fetch | Resume | Defer | Cancel):
            if command.component in self._suspended:
                send = [command]  # it changes something over there
            self._suspended.discard(command.component)
        return send

    def _tell(self, slot: PolicySlot, event: CommandRefused) -> list[PolicyTurn]:
        """The policy's turn to hear of it, unless so many wait already."""
        if slot.refusals >= MAX_REFUSALS:
            return []
        slot.refusals += 1
        return [PolicyTurn(slot, event)]

    def _whole_plan(self) -> GivenCommand:
        """The plan of all policies; who refuses it refuses each one's."""
        givers = tuple(Giver(owner, plan) for owner, plan in self._settings.plans())
        return GivenCommand(SetPlan(self.rules), givers)

    def _let_go_on(self, name: str | None = None) -> list[Command]:
        """What is suspended and of which its policy has not said what becomes of it; None: all."""
        suspended = {id_ for id_ in self._suspended if name in (None, f"fetch:{id_}")}
        self._suspended -= suspended
        return [Resume(component) for component in sorted(suspended)]

    def _resolved(self, command: Command) -> Command:
        return SetPlan(self.rules) if isinstance(command, SetPlan) else command

    def _fetched(self, event: Progress, now: float) -> list[PolicyTurn]:
        """Stop the timers of fetches that this progress fulfils; their policies are told."""
        turns = []
        for slot in self.slots:
            level = slot.fetches.get(event.component)
            if level is not None and (_reaches(event.level, level) or _is_whole(event)):
                del slot.fetches[event.component]
                at = slot.timers.pop(f"fetch:{event.component}", now)
                in_time = FetchInTime(event.component, event.level, at - now)
                turns.append(PolicyTurn(slot, in_time))
        return turns

    def _add(self, policy: Policy) -> PolicySlot:
        slot = PolicySlot(
            len(self.slots), policy, str(getattr(policy, "name", type(policy).__name__))
        )
        self.slots.append(slot)
        return slot

    def _take_over(self) -> PolicySlot | None:
        """Start the fallback; None if it was used up."""
        if self._fallback is None:
            return None
        make, self._fallback = self._fallback, None
        return self._add(make())


def _is_whole(event: Progress) -> bool:
    """Whether no more will come: one without levels, or that ends where it was stopped."""
    return event.complete


def _line(command: Command, why: str) -> str:
    """What the log says of a command that is refused."""
    return f"{command!r:.200}: {why}"


def _reaches(level: str, wanted: str) -> bool:
    return level in LEVELS and LEVELS.index(level) >= LEVELS.index(wanted)
