"""Carries out what policies command: schedulers, shares, plans, holds (HATS, section 3.2.4).

Each command changes the tree at once, so the very next quantum obeys. A command that can't be
carried out is logged and changes nothing. Knows the tree and the plan; not links, not fetches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf
from typing import Final, Protocol

import structlog

from hats.tree.errors import HatsError, SchedulerError
from policies.api.plan import PlanError, Subject
from scheduling.deadlines import Deadlines
from scheduling.plan import Plan
from scheduling.tree import Tree
from wire import messages as m
from wire.skeleton import Kind, Use

MAX_PARTS: Final = 1 << 20
"""Of one document, far above what is ever promised: the distance between two tiers."""
MIN_QUANTUM: Final = 64
MAX_QUANTUM: Final = 16_384
"""Bytes that a policy may set; 0 leaves the choice to the session."""
SETTINGS: Final = (m.SetScheduler, m.SetWeight, m.SetQuantum, m.SetPlan, m.Raise)
"""What policies command of schedulers and plans."""
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
        self.fixed_quantum = 0
        """Bytes, while a policy has set it for all; 0: fit it to the link."""
        self._subjects: dict[int, Subject] = {}
        """What the plan can ask about each component that has entered the tree."""
        self._fetched: set[int] = set()
        """Components that a policy wants whatever the plan says."""

    # -- components --------------------------------------------------------------------------------

    def entered(self, one: Placeable, kind: Kind) -> None:
        """A component is about to enter the tree as what it turned out to be."""
        self._subjects[one.component] = _subject(one, kind)
        self._hold_by_plan(self._subjects[one.component])

    def place(self, one: Placeable, kind: Kind) -> int:
        """Its place among its siblings: by the plan's tiers, then in document order."""
        return self._plan.decide_on(_subject(one, kind)).tier * MAX_PARTS + one.order

    def forget(self, component: int) -> None:
        """It has left."""
        self.deadlines.clear(component)
        self._subjects.pop(component, None)
        self._fetched.discard(component)

    def sweep(self, live: Collection[int]) -> None:
        """Forget all but these."""
        self._subjects = {id_: what for id_, what in self._subjects.items() if id_ in live}
        self._fetched.intersection_update(live)

    # -- commands ----------------------------------------------------------------------------------

    def obey(self, message: m.Message) -> None:
        """Carry out one of SETTINGS."""
        match message:
            case m.SetScheduler():
                self.set_scheduler(message)
            case m.SetWeight():
                self.set_weight(message)
            case m.SetQuantum():
                self.set_quantum(message)
            case m.SetPlan():
                self.set_plan(message)
            case m.Raise():
                self.move(message)

    def set_scheduler(self, command: m.SetScheduler) -> None:
        """Install a scheduler at all nodes that the path names."""
        self._obey(
            lambda: self._tree.set_scheduler(tuple(command.path), command.name, command.params)
        )

    def set_weight(self, command: m.SetWeight) -> None:
        """Change a node's share."""
        self._obey(lambda: self._tree.set_weight(tuple(command.path), command.weight))

    def set_quantum(self, command: m.SetQuantum) -> None:
        """Change the quantum of a node, or of all."""
        self._obey(lambda: self._set_quantum(tuple(command.path), command.quantum))

    def set_plan(self, command: m.SetPlan) -> None:
        """Other standing rules; what is under way obeys them too."""
        self._obey(lambda: self._plan.replace(command.rules))
        for subject in self._subjects.values():
            self._hold_by_plan(subject)

    def fetch(self, command: m.Fetch, *, running: bool, now: float) -> None:
        """Send it whatever the plan says, and watch whether it can be there in time."""
        self.deadlines.clear(command.component)
        if 0 < command.timer < inf:
            self.deadlines.set(
                command.component,
                level=command.level,
                priority=command.urgency,
                deadline=now + command.timer,
            )
        if running or command.component in self._subjects:
            self._fetched.add(command.component)
            for why in ("command", "plan", "timer"):
                self._tree.hold(command.component, on=False, why=why)
        self._tree.set_priority(command.component, command.urgency)

    def expire(self, now: float, *, rate: float) -> list[int]:
        """Hold the fetches that can't be in time at `rate` bytes/second; which these are."""
        early = self.deadlines.expire(now, rate=rate)
        for component in early:
            self._tree.hold(component, on=True, why="timer")
        return early

    def move(self, command: m.Raise) -> None:
        """Change its urgency among its siblings."""
        self._tree.set_priority(command.component, command.urgency)

    def hold(self, command: m.Hold, *, running: bool) -> None:
        """Defer it, or resume it."""
        if running or command.component in self._subjects:
            self._tree.hold(command.component, on=command.on)
            self._tree.hold(command.component, on=False, why="timer")

    # -- how ---------------------------------------------------------------------------------------

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

    def _hold_by_plan(self, subject: Subject) -> None:
        """Send it or not, as the plan has it; a Fetch overrules the plan."""
        withheld = self._plan.decide_on(subject).level == "none"
        held = withheld and subject.component not in self._fetched
        self._tree.hold(subject.component, on=held, why="plan")

    @staticmethod
    def _obey(command: Callable[[], None]) -> None:
        try:
            command()
        except (HatsError, PlanError) as error:
            _log.warning("a policy command was refused", error=str(error))


def _subject(one: Placeable, kind: Kind) -> Subject:
    return Subject(component=one.component, document=one.document, kind=kind, use=one.use)
