"""One device's transmission hierarchy: applications, documents, components by name.

Translates between names, as policies know them, and nodes, as hats knows them. Rules may name
nodes that do not exist yet ("*" stands for any name): they are kept and hold for later ones.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

from hats.disciplines.catalogue import BUILT_IN, Catalogue
from hats.disciplines.registry import INITIAL, create
from hats.multiplexer import Multiplexer
from hats.tree.errors import SchedulerError
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import NO_MARK, Node
from hats.tree.rules import check_quantum, check_weight
from scheduling.giving_way import GivingWay
from scheduling.level_limits import LevelLimits
from scheduling.picture_marks import PictureMarks
from scheduling.places import AwaitedPlaces
from scheduling.promised import PromisedLeaves
from scheduling.standing_rules import ANY, MAX_NAMES, Pattern, StandingRules
from wire.applications import TUNNELS, Application

TALK: Final = "tunnel"
"""Kind of a tunnel in which two ends talk: before pictures (hats/disciplines/tiers.py,
hats/disciplines/text_first.py)."""
TRANSFER: Final = "other"
"""Kind of one that carries a transfer, and of a text that is one."""
SCRIPT: Final = "script"
DEFERRED_SCRIPT: Final = "deferred_script"
"""Kind of one that holds nothing up: behind coarse pictures."""
TALK_WEIGHT: Final = 8.0
"""Of one, against 1 of the other."""
MAX_URGENCY: Final = 1000

T = TypeVar("T")
Hold = Literal["command", "plan", "timer"]
"""Why a component is held back."""


class Tree:
    """The hierarchy, its multiplexer and the standing rules of one device."""

    def __init__(self, *, quantum: int, schedulers: Catalogue = BUILT_IN) -> None:
        """`quantum`: bytes, where nobody says otherwise."""
        self._create = schedulers.create
        self.hierarchy = Hierarchy(root=create(INITIAL))
        self.promised = PromisedLeaves(self.hierarchy)
        """Components that are to be there by a time, and nodes that are to have a rate."""
        self.multiplexer = Multiplexer(
            self.hierarchy,
            quantum=quantum,
            appointments=self.promised.appointments,
            reservations=self.promised.reservations,
        )
        self._awaited = AwaitedPlaces()
        self._leaves: dict[int, Node] = {}
        self._holds: dict[int, set[Hold]] = {}
        self._wanted: set[int] = set()
        """Components that schedulers may not hold back."""
        self._deferred_scripts: set[int] = set()
        self._marks = PictureMarks()
        self._levels = LevelLimits()
        self._schedulers: StandingRules[tuple[str, dict[str, Any]]] = StandingRules(
            "scheduler rules"
        )
        self._weights: StandingRules[float] = StandingRules("weights")
        self._quanta: StandingRules[int] = StandingRules("quanta")
        self.giving_way = GivingWay(self.hierarchy)
        self._applications = {
            one: self._interior(self.hierarchy.root, (one.node,)) for one in Application
        }
        self._tunnels = self._interior(self.hierarchy.root, (TUNNELS,))

    def document(self, document: int, application: Application = Application.BROWSER) -> Node:
        """Gives the node of an application's document, made when it is new."""
        path = (application.node, str(document))
        node = self.hierarchy.find(path)
        return node if node is not None else self._interior(self._applications[application], path)

    def promise(
        self,
        document: int,
        component: int,
        *,
        kind: str,
        order: int,
        size: int | None = None,
        application: Application = Application.BROWSER,
    ) -> None:
        """Enter a component that is being fetched: schedulers know of it before its bytes."""
        kind = self._kind(component, kind)
        parent, name = self.document(document, application), str(component)
        path = (*self.hierarchy.path(parent), name)
        leaf = self.hierarchy.attach(
            parent,
            name,
            kind=kind,
            order=order,
            size=size,
            weight=self._weights.enter(path) or 1.0,
            quantum=self._quanta.enter(path) or None,
        )
        self._leaves[component] = leaf
        self._apply_holds(component)
        self._apply_limit(component)
        self.promised.entered(component, leaf)

    def leaf(
        self,
        document: int,
        component: int,
        *,
        kind: str,
        order: int,
        application: Application = Application.BROWSER,
    ) -> Node:
        """The component's leaf, made when it was not promised."""
        leaf = self.find_leaf(component)
        if leaf is None:
            self.promise(document, component, kind=kind, order=order, application=application)
            leaf = self._leaves[component]
        elif leaf.kind != (kind := self._kind(component, kind)):
            self.hierarchy.set_kind(leaf, kind)
        return leaf

    def defer_script(self, component: int, *, on: bool) -> None:
        """Whether a script, if it is one, holds nothing of its document up: no text and no picture
        waits for it. It may enter the tree later."""
        (self._deferred_scripts.add if on else self._deferred_scripts.discard)(component)
        leaf = self.find_leaf(component)
        if leaf is not None and leaf.kind in (SCRIPT, DEFERRED_SCRIPT):
            kind = self._kind(component, SCRIPT)
            if leaf.kind != kind:
                self.hierarchy.set_kind(leaf, kind)

    def _kind(self, component: int, kind: str) -> str:
        return DEFERRED_SCRIPT if kind == SCRIPT and component in self._deferred_scripts else kind

    def set_marks(
        self,
        document: int,
        component: int,
        levels: Sequence[int],
        steps: Sequence[int],
        *,
        ends: Mapping[str, int],
    ) -> None:
        """Offsets, bytes, at which a picture is worth more than before, and the same where it is
        one response that grows. `ends`: of its levels by their names."""
        self._marks.known(document, component, levels, steps)
        self._levels.known(component, ends)
        self._apply_marks(component)
        self._apply_limit(component)

    def stop_at(self, component: int, level: str, *, at_least: bool) -> None:
        """Send a picture up to a level and no further, now or once it has levels; "original": to
        its end. `at_least`: to the next finer one where it does not have that level, else to the
        next coarser."""
        if self._levels.stop_at(component, level, at_least=at_least):
            self._apply_limit(component)

    def level_ends(self, component: int) -> Mapping[str, int]:
        """Offsets, bytes, at which its levels end, as far as is known."""
        return self._levels.ends(component)

    def level_end(self, component: int, level: str) -> int | None:
        """Offset, bytes, at which that level or the next finer one ends; None: not known."""
        return self._levels.end(component, level)

    @property
    def parked(self) -> int:
        """Bytes that wait behind the levels at which their components stop."""
        leaves = (self.find_leaf(component) for component in self._levels.stopping())
        return sum(
            max(0, leaf.sent + leaf.backlog - max(leaf.sent, leaf.limit))
            for leaf in leaves
            if leaf is not None
        )

    def _apply_limit(self, component: int) -> None:
        leaf = self.find_leaf(component)
        if leaf is not None:
            limit = self._levels.limit(component)
            if limit != (None if leaf.limit == NO_MARK else leaf.limit):
                self.hierarchy.set_limit(leaf, limit)

    def grow(self, document: int) -> None:
        """The document's pictures are such responses."""
        if not any(self._is_there(path) for path in _paths(document)):
            return  # closed, or never there
        for component in self._marks.grow(document):
            self._apply_marks(component)

    def grows(self, document: int) -> bool:
        """Whether the document's pictures are such responses."""
        return self._marks.grows(document)

    def want_whole(self, component: int) -> None:
        """A program waits for all of a picture: behind its coarse level it comes in one."""
        self._marks.want_whole(component)
        self._apply_marks(component)

    def _apply_marks(self, component: int) -> None:
        leaf, marks = self.find_leaf(component), self._marks.of(component)
        if leaf is not None and marks is not None:
            self.hierarchy.set_marks(leaf, marks)

    def tunnel(self, component: int) -> Node:
        """The leaf of a tunnel: beside the applications, for it belongs to no document."""
        leaf = self.hierarchy.attach(self._tunnels, str(component), kind=TALK, weight=TALK_WEIGHT)
        self._leaves[component] = leaf
        return leaf

    def set_talk(self, component: int, talks: bool) -> None:
        """Whether two ends talk in a tunnel, or one sends to the other
        (transport/sending/talk.py)."""
        leaf = self.find_leaf(component)
        kind = TALK if talks else TRANSFER
        if leaf is not None and leaf.kind != kind:
            self.hierarchy.set_kind(leaf, kind)
            self.hierarchy.set_weight(leaf, TALK_WEIGHT if talks else 1.0)

    def set_transfer(self, component: int) -> None:
        """A text turned out to be nothing that anybody waits to read."""
        leaf = self.find_leaf(component)
        if leaf is not None and leaf.kind != TRANSFER:
            self.hierarchy.set_kind(leaf, TRANSFER)

    def find_leaf(self, component: int) -> Node | None:
        """The component's leaf while it is in the tree."""
        leaf = self._leaves.get(component)
        return leaf if leaf is not None and leaf.attached else None

    def awaits(self, component: int) -> bool:
        """Whether one with a deadline is in the tree, or has still to enter it."""
        leaf = self._leaves.get(component)
        return component in self.promised if leaf is None else leaf.attached

    def leaves(self) -> list[Node]:
        """All that are in the tree now."""
        return [leaf for leaf in self._leaves.values() if leaf.attached]

    @property
    def known(self) -> set[int]:
        """Components of which anything is kept, in the tree or not."""
        return {
            *self._leaves, *self._holds, *self._wanted, *self._marks, *self._levels,
            *self._deferred_scripts, *self.promised.known,
        }  # fmt: skip

    def forget(self, component: int) -> None:
        """The component leaves, sent or not."""
        self._holds.pop(component, None)
        self._wanted.discard(component)
        self._deferred_scripts.discard(component)
        self._marks.forget(component)
        self._levels.forget(component)
        self.set_deadline(component, None)
        leaf = self._leaves.pop(component, None)
        if leaf is not None:
            path = self.hierarchy.path(leaf)
            self.hierarchy.remove(leaf)
            self._leave(path)

    def sweep(self, live: Container[int]) -> None:
        """Let go of what has been sent in full; the hierarchy dropped it by itself."""
        self._holds = {id_: why for id_, why in self._holds.items() if id_ in live}
        for ids in (self._wanted, self._deferred_scripts):
            ids.intersection_update([id_ for id_ in ids if id_ in live])
        self._leaves = {id_: leaf for id_, leaf in self._leaves.items() if leaf.attached}
        for rules in (self._weights, self._quanta):
            rules.forget_if(lambda path: len(path) == MAX_NAMES and not self._expected(path, live))
        self._marks.sweep(self._leaves, live)
        self.promised.sweep(live)
        self._levels.sweep({id_ for id_ in self._levels if id_ in live or id_ in self._leaves})

    def _expected(self, path: Pattern, live: Container[int]) -> bool:
        """Whether a component is in the tree, or on its way there."""
        return self._is_there(path) or (path[-1].isdecimal() and int(path[-1]) in live)

    def set_priority(self, component: int, priority: int) -> None:
        """How urgent a component is among its siblings; ignored when it has left."""
        leaf = self.find_leaf(component)
        if leaf is not None:
            self.hierarchy.set_priority(leaf, max(-MAX_URGENCY, min(priority, MAX_URGENCY)))

    def go_next(self, component: int) -> None:
        """A browser waits for it: it goes to the front of its like; ignored when it has left."""
        leaf = self.find_leaf(component)
        if leaf is not None:
            self.hierarchy.set_order(leaf, self._awaited.next(leaf.order))

    def set_deadline(self, component: int, deadline: float | None, *, priority: int = 0) -> None:
        """By when it is to be there, seconds on the loop's clock; None: no time. It goes before
        what schedulers choose, and `edf` orders by it."""
        leaf = self.find_leaf(component)
        self.promised.set_deadline(component, leaf, deadline, priority=priority)

    def hold(self, component: int, *, on: bool, why: Hold = "command") -> None:
        """Defer a component, or resume it (HATS, 3.2.2: in the root's name).

        It goes on once neither a command nor the plan holds it; one that is not in the tree yet is
        held when it enters.
        """
        if on:
            self._holds.setdefault(component, set()).add(why)
        else:
            self._holds.get(component, set()).discard(why)
        self._apply_holds(component)

    def want(self, component: int, *, on: bool) -> None:
        """Let a component go whatever the strategies of schedulers say, or no longer; one that is
        deferred waits for its time nevertheless."""
        (self._wanted.add if on else self._wanted.discard)(component)
        self._apply_holds(component)

    def reasons(self, leaf: Node) -> tuple[Hold, ...]:
        """Why a component is held back by command."""
        component = int(leaf.name) if leaf.name.isdecimal() else 0
        return tuple(sorted(self._holds.get(component, ())))

    def _apply_holds(self, component: int) -> None:
        leaf = self.find_leaf(component)
        if leaf is not None:
            hierarchy, held = self.hierarchy, bool(self._holds.get(component))
            wanted = component in self._wanted
            undo = hierarchy.enable if wanted else hierarchy.withdraw
            (hierarchy.disable if held else undo)(leaf, by=hierarchy.root)

    def set_quantum(self, pattern: Pattern, quantum: int) -> None:
        """Bytes per quantum at a node and below, now and whenever it appears; 0: as its parent.

        Raises HatsError.
        """
        check_quantum(quantum or 1)
        self._put(self._quanta, pattern, quantum)
        for node in self._named(pattern):
            self.hierarchy.set_quantum(node, quantum or None)

    def close_document(self, document: int) -> None:
        """The document and all that it holds leave, whichever application has it."""
        self._marks.close_document(document)
        for path in _paths(document):
            node = self.hierarchy.find(path)
            if node is not None:
                self.hierarchy.remove(node)
            self._leave(path)

    def set_scheduler(self, pattern: Pattern, name: str, params: dict[str, Any]) -> None:
        """Install a scheduler now and on all later nodes of that name. Raises HatsError."""
        self._create(name, params)  # refuse before anything changes
        if len(pattern) == MAX_NAMES:
            raise SchedulerError("a component has no scheduler")
        self._put(self._schedulers, pattern, (name, params))
        for node in self._named(pattern):
            self.hierarchy.set_scheduler(node, self._create(name, params))

    def set_weight(self, pattern: Pattern, weight: float) -> None:
        """A share for a node, now and whenever it appears. Raises HatsError."""
        check_weight(weight)
        if not pattern:
            raise SchedulerError("the root has no siblings, so no weight")
        self._put(self._weights, pattern, weight)
        for node in self._named(pattern):
            self.hierarchy.set_weight(node, weight)

    def give_way(self, pattern: Pattern, *, on: bool) -> None:
        """Have what is sent below a node give way to others on the line, or no longer. Raises
        SchedulerError."""
        if len(pattern) == MAX_NAMES:
            raise SchedulerError("a component gives way with its document")
        self._put(self.giving_way.rules, pattern, on)

    def _put(self, rules: StandingRules[T], pattern: Pattern, rule: T) -> None:
        if pattern[:1] == (TUNNELS,) and len(pattern) > 1:
            raise SchedulerError("single tunnels can't be set")
        rules.put(pattern, rule, present=self._is_there(pattern))

    def _leave(self, path: Pattern) -> None:
        for rules in (self._schedulers, self._weights, self._quanta, self.giving_way.rules):
            rules.leave(path)

    def _is_there(self, pattern: Pattern) -> bool:
        return self.hierarchy.find(pattern) is not None

    def _interior(self, parent: Node, path: Pattern) -> Node:
        name, params = self._schedulers.enter(path) or (INITIAL, {})
        try:
            scheduler = self._create(name, params)
        except SchedulerError:  # a plug-in that made one when it was asked first
            scheduler = create(INITIAL)
        return self.hierarchy.attach(
            parent,
            path[-1],
            scheduler=scheduler,
            weight=self._weights.enter(path) or 1.0,
            quantum=self._quanta.enter(path) or None,
            keep=True,
        )

    def _named(self, pattern: Pattern) -> list[Node]:
        """The nodes that a rule names. Single tunnels are the session's own affair."""
        found = [self.hierarchy.root]
        for wanted in pattern:
            found = [child for node in found for child in _children(node, wanted)]
        return [node for node in found if node.scheduler is not None or node.depth == MAX_NAMES]


def _paths(document: int) -> list[Pattern]:
    """Where a document may stand: its id does not say whose it is."""
    return [(application.node, str(document)) for application in Application]


def _children(node: Node, wanted: str) -> Iterable[Node]:
    if wanted == ANY:
        return node.children.values()
    child = node.children.get(wanted)
    return () if child is None else (child,)
