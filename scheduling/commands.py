"""Carries out what policies command: schedulers, shares, plans, holds (HATS, section 3.2.4).

Each command changes the tree at once, so the very next quantum obeys. A command that can't be
carried out changes nothing, is logged, and the reason is returned for whoever gave it. Commands
about single components are never refused: such a component may just have left. Knows the tree and
the plan; not links, not fetches.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import inf
from typing import Any, Final, Protocol, cast

import structlog

from admission.admission import Protects
from hats.disciplines.low_fidelity_first import BEFORE_TIERS
from hats.tree.errors import HatsError, SchedulerError
from policies.api.plan import Decision, PlanError, StopLevel, Subject
from scheduling.deadlines import Deadlines, Missed
from scheduling.guarantees import Guarantees
from scheduling.places import place
from scheduling.plan import Plan
from scheduling.timely import Timely
from scheduling.tree import Tree
from wire import messages as m
from wire.skeleton import LEVELS, Kind, Use

MIN_QUANTUM: Final = 64
MAX_QUANTUM: Final = 16_384
"""Bytes that a policy may set; 0 leaves the choice to the session."""
SETTINGS: Final = (
    m.SetScheduler,
    m.SetWeight,
    m.SetQuantum,
    m.SetPlan,
    m.Raise,
    m.Reserve,
    m.GiveWay,
    m.AskedFor,
)
"""What is said of schedulers, plans and places in the tree."""
_log = structlog.get_logger("sluice.remote")


class Placeable(Protocol):
    """What a component's place depends on; remote_proxy.jobs.job.Job is one."""

    @property
    def component(self) -> int: ...
    @property
    def document(self) -> int: ...
    @property
    def use(self) -> Use: ...
    @property
    def order(self) -> int: ...


class Obedience:
    """One device's policies, as the remote proxy obeys them."""

    def __init__(self, tree: Tree, plan: Plan) -> None:
        self._tree = tree
        self._plan = plan
        self.deadlines = Deadlines(tree)
        self.timely = Timely(tree)
        self.guarantees = Guarantees(tree)
        self.fixed_quantum = 0
        """Bytes, while a policy has set it for all; 0: fit it to the link."""
        self._subjects: dict[int, Subject] = {}
        """What the plan can ask about each component that has entered the tree."""
        self._fetched: dict[int, str] = {}
        """Components that a policy wants up to a level, whatever the plan says."""

    # -- components --------------------------------------------------------------------------------

    def entered(self, one: Placeable, kind: Kind) -> None:
        """A component is about to enter the tree as what it turned out to be."""
        self._subjects[one.component] = _subject(one, kind)
        self._follow_rate(self._subjects[one.component])
        self._follow_times(self._subjects[one.component])
        self._follow_plan(self._subjects[one.component])

    def decide(
        self, component: int, document: int, kind: Kind, use: Use, length: int | None = None
    ) -> Decision:
        """What holds for one component, by the plan or the Fetch that overrules it."""
        decision = self._plan.decide(component, document, kind, use, length)
        level = self._fetched.get(component)
        return decision if level is None else replace(decision, level=cast(StopLevel, level))

    def place(self, one: Placeable, kind: Kind) -> int:
        """Its place among its siblings: by the plan's tiers, then in document order."""
        return place(self._plan.decide_on(_subject(one, kind)).tier, one.order)

    def forget(self, component: int) -> None:
        """It has left."""
        self.deadlines.clear(component)
        self.timely.forget(component)
        self.guarantees.forget(component)
        self._subjects.pop(component, None)
        self._fetched.pop(component, None)

    def sweep(self, live: Collection[int]) -> None:
        """Forget all but these."""
        self._subjects = {id_: what for id_, what in self._subjects.items() if id_ in live}
        self._fetched = {id_: level for id_, level in self._fetched.items() if id_ in live}
        self.guarantees.sweep(live)

    # -- commands ----------------------------------------------------------------------------------

    def obey(self, message: m.Message, *, now: float, rate: float | None = None) -> str:
        """Carry out one of SETTINGS, the link carrying `rate` bytes/second, None: not measured; why
        it can't be, for people, or ""."""
        try:
            match message:
                case m.SetScheduler(path, name, params):
                    self._tree.set_scheduler(tuple(path), name, params)
                case m.SetWeight(path, weight):
                    self._tree.set_weight(tuple(path), weight)
                case m.SetQuantum(path, quantum):
                    self._set_quantum(tuple(path), quantum)
                case m.SetPlan(rules):
                    self._set_plan(rules)
                case m.Raise():
                    self.move(message)
                case m.AskedFor(component):
                    self._tree.go_next(component)
                case m.GiveWay(path, on):
                    self._tree.give_way(tuple(path), on=on)
                case m.Reserve(path, wanted, delay):
                    return self.guarantees.ask(tuple(path), wanted, delay, now=now, link=rate)
        except (HatsError, PlanError) as error:
            _log.warning("a policy command was refused", error=str(error))
            return str(error) or type(error).__name__
        return ""

    def want(self, component: int, level: str) -> None:
        """A component comes up to this level whatever the plan says; it may not be there yet."""
        level = level if level in LEVELS else LEVELS[-1]
        self._fetched[component] = level
        self._tree.stop_at(component, level, at_least=True)

    def fetch(
        self,
        command: m.Fetch,
        *,
        running: bool,
        now: float,
        rate: float | None = None,
        latency: float = 0.0,
    ) -> Missed | None:
        """Send it whatever the plan says, and by its time if it has one. One that is urgent enough
        to go before all tiers is held back by no scheduler either.

        A fetch that can't be in time at `rate` bytes/second changes nothing: what could be is the
        answer. None: not measured, all may be. `latency`: seconds since it was said, and until a
        byte that is sent now is there.
        """
        self.deadlines.clear(command.component)
        if 0 < command.timer < inf:
            missed = self.deadlines.set(
                command.component,
                level=command.level,
                priority=command.urgency,
                deadline=now + command.timer - latency,
                now=now,
                rate=rate,
                protects=Protects.PEERS if command.peers else Protects.ALL,
                goes_on=command.goes_on,
            )
            if missed is not None:
                return missed
        if running or command.component in self._subjects:
            self.want(command.component, command.level)
            for why in ("command", "plan", "timer"):
                self._tree.hold(command.component, on=False, why=why)
            self._tree.want(command.component, on=command.urgency >= BEFORE_TIERS)
            if command.urgency and command.level == LEVELS[-1]:
                self._tree.want_whole(command.component)
        self._tree.set_priority(command.component, command.urgency)
        return None

    def expire(self, now: float, *, rate: float) -> list[Missed]:
        """Hold the fetches that can't be in time at `rate` bytes/second; which these are."""
        early = self.deadlines.expire(now, rate=rate)
        for missed in early:
            self._tree.hold(missed.component, on=True, why="timer")
        return early

    def late(self, now: float) -> None:
        """Hold the fetches whose time is over: the device, which has a timer too, says what becomes
        of them (ATP, 3.3: it first suspends, and then the application decides)."""
        for component in self.deadlines.late(now):
            self._tree.hold(component, on=True, why="timer")

    def look(self, now: float, *, rate: float | None, latency: float = 0.0) -> bool:
        """Time has passed, or the estimate has changed: hold what is late, and choose anew what
        fits into the time of documents that have one. Whether any is to stop elsewhere now, so
        that there may be something to send again."""
        self.late(now)
        self.guarantees.look(now, link=rate)
        others = [
            self._subjects[component]
            for component in self.timely.look(now, rate=rate, latency=latency)
            if component in self._subjects
        ]
        for subject in others:
            self._follow_plan(subject)
        return bool(others)

    def move(self, command: m.Raise) -> None:
        """Change its urgency among its siblings."""
        self._tree.set_priority(command.component, command.urgency)

    def hold(self, command: m.Hold, *, running: bool) -> None:
        """Defer it, or resume it."""
        self.deadlines.clear(command.component)
        if running or command.component in self._subjects:
            self._tree.hold(command.component, on=command.on)
            self._tree.hold(command.component, on=False, why="timer")

    # -- how ---------------------------------------------------------------------------------------

    def _set_plan(self, rules: list[dict[str, Any]]) -> None:
        """Other standing rules; what is under way obeys them too."""
        self._plan.replace(rules)
        for subject in self._subjects.values():
            self._follow_rate(subject)
            self._follow_times(subject)
            self._follow_plan(subject)

    def _set_quantum(self, path: tuple[str, ...], quantum: int) -> None:
        if quantum and not MIN_QUANTUM <= quantum <= MAX_QUANTUM:
            raise SchedulerError(
                f"quantum of {quantum} bytes: must be {MIN_QUANTUM} to {MAX_QUANTUM}, or 0"
            )
        if path:
            self._tree.set_quantum(path, quantum)
            return
        self.fixed_quantum = quantum
        if quantum:
            self._tree.multiplexer.quantum = quantum

    def _follow_rate(self, subject: Subject) -> None:
        """Have the rate at which it is played, if the plan wants it so."""
        if subject.kind is Kind.MEDIA:
            steady = self._plan.decide_on(subject).steady
            self.guarantees.want(subject.component, on=steady)

    def _follow_times(self, subject: Subject) -> None:
        """Have it by the time that the plan gives it, if it does."""
        if subject.kind is not Kind.IMAGE:
            return
        within = self._plan.decide_on(subject).within
        if within is None:
            self.timely.forget(subject.component)
        else:
            self.timely.want(subject.component, subject.document, within)

    def _follow_plan(self, subject: Subject) -> None:
        """Send it as far as the plan has it, which may be not at all; a Fetch overrules it."""
        fetched = subject.component in self._fetched
        level = self._plan.decide_on(subject).level
        self._tree.hold(subject.component, on=level == "none" and not fetched, why="plan")
        if not fetched:
            stop = _stop_level(level)
            timely = self.timely.level(subject.component)
            if timely is not None and LEVELS.index(timely) < LEVELS.index(stop):
                stop = _stop_level(timely)
            self._tree.stop_at(subject.component, stop, at_least=False)


def _stop_level(level: str) -> StopLevel:
    """At which level a picture stops that is sent at all."""
    return cast(StopLevel, level) if level in LEVELS else "original"


def _subject(one: Placeable, kind: Kind) -> Subject:
    return Subject(component=one.component, document=one.document, kind=kind, use=one.use)
