"""One device's transmission hierarchy: applications, documents, components by name.

Translates between names, as policies know them, and nodes, as hats knows them. Rules may name
nodes that do not exist yet ("*" stands for any name): they are kept and hold for later ones.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

from hats.disciplines.registry import INITIAL, create
from hats.multiplexer import Multiplexer
from hats.tree.errors import SchedulerError
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node
from hats.tree.rules import check_weight

APPLICATION: Final = "browser"
"""The one application there is so far; office documents will have their own."""
TUNNELS: Final = "tunnels"
"""The node of all tunnels: together they share the link with each application."""
TALK: Final = "tunnel"
"""Kind of a tunnel in which two ends talk: before pictures (hats/disciplines/tiers.py,
hats/disciplines/text_first.py)."""
TRANSFER: Final = "other"
"""Kind of one that carries a transfer, and of a text that is one."""
TALK_WEIGHT: Final = 8.0
"""Of one, against 1 of the other."""
MAX_RULES: Final = 256
"""Scheduler rules, and weights, that a device may set for nodes which are not there yet."""
MAX_URGENCY: Final = 1000

Pattern = tuple[str, ...]
Hold = Literal["command", "plan", "timer"]
"""Why a component is held back."""
T = TypeVar("T")


def matches(pattern: Pattern, path: Pattern) -> bool:
    """Whether a rule's pattern, in which "*" stands for any one name, names this node."""
    return len(pattern) == len(path) and all(
        want in ("*", name) for want, name in zip(pattern, path, strict=True)
    )


class Tree:
    """The hierarchy, its multiplexer and the standing rules of one device."""

    def __init__(self, *, quantum: int) -> None:
        self.hierarchy = Hierarchy(root=create(INITIAL))
        self.multiplexer = Multiplexer(self.hierarchy, quantum=quantum)
        self._leaves: dict[int, Node] = {}
        self._holds: dict[int, set[Hold]] = {}
        self._growing: set[int] = set()
        """Documents in which no driver runs."""
        self._steps: dict[int, tuple[int, Sequence[int]]] = {}
        """By component its document, and its marks if it is one response that grows."""
        self._schedulers: dict[Pattern, tuple[str, dict[str, Any]]] = {}
        self._weights: dict[Pattern, float] = {}
        self._application = self._interior(self.hierarchy.root, (APPLICATION,))
        self._tunnels = self._interior(self.hierarchy.root, (TUNNELS,))

    def document(self, document: int) -> Node:
        """The node of a document, made when it is new."""
        path = (APPLICATION, str(document))
        node = self.hierarchy.find(path)
        return node if node is not None else self._interior(self._application, path)

    def promise(
        self, document: int, component: int, *, kind: str, order: int, size: int | None = None
    ) -> None:
        """Enter a component that is being fetched: schedulers know of it before its bytes."""
        leaf = self.hierarchy.attach(
            self.document(document), str(component), kind=kind, order=order, size=size
        )
        self._leaves[component] = leaf
        self._apply_holds(component)

    def leaf(self, document: int, component: int, *, kind: str, order: int) -> Node:
        """The component's leaf, made when it was not promised."""
        leaf = self.find_leaf(component)
        if leaf is None:
            self.promise(document, component, kind=kind, order=order)
            leaf = self._leaves[component]
        elif leaf.kind != kind:
            self.hierarchy.set_kind(leaf, kind)
        return leaf

    def set_marks(
        self, document: int, component: int, levels: Sequence[int], steps: Sequence[int]
    ) -> None:
        """Offsets, bytes, at which a picture's levels end, and at which it is worth showing more
        where it is one response that grows."""
        self._steps[component] = document, steps
        leaf = self.find_leaf(component)
        if leaf is not None:
            self.hierarchy.set_marks(leaf, steps if document in self._growing else levels)

    def grow(self, document: int) -> None:
        """The document's pictures are such responses."""
        if self.hierarchy.find((APPLICATION, str(document))) is None:
            return  # closed, or never there
        self._growing.add(document)
        for component, (its_document, steps) in self._steps.items():
            leaf = self.find_leaf(component)
            if its_document == document and leaf is not None:
                self.hierarchy.set_marks(leaf, steps)

    def grows(self, document: int) -> bool:
        """Whether the document's pictures are such responses."""
        return document in self._growing

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

    def leaves(self) -> list[Node]:
        """All that are in the tree now."""
        return [leaf for leaf in self._leaves.values() if leaf.attached]

    @property
    def remembered(self) -> int:
        """Components that something is known of: those that left since the last sweep, too."""
        return len(self._leaves)

    def forget(self, component: int) -> None:
        """The component leaves, sent or not."""
        self._holds.pop(component, None)
        self._steps.pop(component, None)
        leaf = self._leaves.pop(component, None)
        if leaf is not None:
            self.hierarchy.remove(leaf)

    def sweep(self, live: Container[int]) -> None:
        """Let go of what has been sent in full; the hierarchy dropped it by itself."""
        self._holds = {id_: why for id_, why in self._holds.items() if id_ in live}
        self._leaves = {id_: leaf for id_, leaf in self._leaves.items() if leaf.attached}
        self._steps = {id_: steps for id_, steps in self._steps.items() if id_ in self._leaves}

    def set_priority(self, component: int, priority: int) -> None:
        """How urgent a component is among its siblings; ignored when it has left."""
        leaf = self.find_leaf(component)
        if leaf is not None:
            self.hierarchy.set_priority(leaf, max(-MAX_URGENCY, min(priority, MAX_URGENCY)))

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

    def _apply_holds(self, component: int) -> None:
        leaf = self.find_leaf(component)
        if leaf is not None:
            held = bool(self._holds.get(component))
            change = self.hierarchy.disable if held else self.hierarchy.enable
            change(leaf, by=self.hierarchy.root)

    def set_quantum(self, pattern: Pattern, quantum: int) -> None:
        """Bytes per quantum below a node; 0: as its parent. Raises SchedulerError."""
        for path, node in self._interiors():
            if path and matches(pattern, path):
                self.hierarchy.set_quantum(node, quantum or None)

    def close_document(self, document: int) -> None:
        """The document and all that it holds leave."""
        self._growing.discard(document)
        path = (APPLICATION, str(document))
        node = self.hierarchy.find(path)
        if node is not None:
            self.hierarchy.remove(node)
        self._schedulers.pop(path, None)
        self._weights.pop(path, None)

    def set_scheduler(self, pattern: Pattern, name: str, params: dict[str, Any]) -> None:
        """Install a scheduler now and on all later nodes of that name. Raises HatsError."""
        create(name, params)  # refuse before anything changes
        self._check_room(self._schedulers, pattern, "scheduler rules")
        self._schedulers.pop(pattern, None)
        self._schedulers[pattern] = (name, params)
        for path, node in self._interiors():
            if matches(pattern, path):
                self.hierarchy.set_scheduler(node, create(name, params))

    def set_weight(self, pattern: Pattern, weight: float) -> None:
        """A share for a node, now and whenever it appears. Raises HatsError."""
        check_weight(weight)
        self._check_room(self._weights, pattern, "weights")
        self._weights.pop(pattern, None)
        self._weights[pattern] = weight
        for path, node in self._interiors():
            if path and matches(pattern, path):
                self.hierarchy.set_weight(node, weight)

    def _check_room(self, rules: Mapping[Pattern, object], pattern: Pattern, what: str) -> None:
        """Raises SchedulerError for one rule too many about nodes that are not there.

        What is said of a node that is there leaves with it: however many documents are open, each
        may have its share.
        """
        find = self.hierarchy.find
        if pattern in rules or len(rules) < MAX_RULES or find(pattern) is not None:
            return
        if sum(find(other) is None for other in rules) >= MAX_RULES:
            raise SchedulerError(f"more than {MAX_RULES} {what} for later nodes")

    def _interior(self, parent: Node, path: Pattern) -> Node:
        name, params = self._rule(self._schedulers, path) or (INITIAL, {})
        return self.hierarchy.attach(
            parent,
            path[-1],
            scheduler=create(name, params),
            weight=self._rule(self._weights, path) or 1.0,
            keep=True,
        )

    @staticmethod
    def _rule(rules: dict[Pattern, T], path: Pattern) -> T | None:
        """The latest rule for this path; an exact name beats a pattern."""
        if path in rules:
            return rules[path]
        found = [rule for pattern, rule in rules.items() if matches(pattern, path)]
        return found[-1] if found else None

    def _interiors(self) -> list[tuple[Pattern, Node]]:
        """The root, the applications and the documents, with their paths."""
        found: list[tuple[Pattern, Node]] = [((), self.hierarchy.root)]
        for application in list(self.hierarchy.root.children.values()):
            found.append(((application.name,), application))
            for document in list(application.children.values()):
                found.append(((application.name, document.name), document))
        return found
