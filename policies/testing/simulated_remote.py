"""A remote proxy in miniature, for simulations: a transmission tree that obeys commands.

Knows sizes only, no bytes: components are there at once and whole. What a plan says about levels
holds; what it says about quality and layout does not, because nothing is re-encoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hats.disciplines.registry import create
from hats.multiplexer import Multiplexer
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node
from policies.api import (
    Cancel,
    Command,
    Defer,
    Fetch,
    Raise,
    Resume,
    SetPlan,
    SetQuantum,
    SetScheduler,
    SetWeight,
)
from policies.api.plan import Rule, Subject, decide
from policies.host.standing import DEFAULT_SCHEDULERS
from wire.skeleton import Kind, Use

LEVEL_SHARES: Final = {"low": 1 / 7, "medium": 2 / 7, "high": 4 / 7, "original": 1.0}
"""Of a picture's bytes, by level (HATS, 4.1.1)."""
MIN_LEVELLED: Final = 4096
"""Bytes of the smallest picture that gets levels (HATS, 4.1.1)."""


@dataclass(frozen=True, slots=True)
class Item:
    """A component of a page."""

    component: int
    size: int
    """Bytes."""
    kind: Kind = Kind.IMAGE


@dataclass(frozen=True, slots=True)
class SimulatedPage:
    """A document, and when it is opened."""

    document: int
    items: tuple[Item, ...]
    at: float = 0.0
    application: str = "browser"


@dataclass(slots=True)
class Leaf:
    """A component as the simulated remote proxy holds it."""

    item: Item
    page: SimulatedPage
    order: int
    node: Node | None = None
    queued: int = 0
    sent: int = 0
    stop: str | None = None
    """The level that a Fetch asked for, whatever the plan says."""
    urgency: int = 0
    deferred: bool = False
    cancelled: bool = False

    @property
    def levelled(self) -> bool:
        return self.item.kind is Kind.IMAGE and self.item.size >= MIN_LEVELLED

    def ends(self) -> dict[str, int]:
        """Bytes at which its levels end."""
        if not self.levelled:
            return {"original": self.item.size}
        return {name: round(self.item.size * share) for name, share in LEVEL_SHARES.items()}

    def reached(self) -> str:
        """The finest level that has been sent."""
        return next((n for n, end in reversed(self.ends().items()) if end <= self.sent), "")


class SimulatedRemote:
    """The tree at the far end, and what commands do to it."""

    def __init__(self, *, quantum: int) -> None:
        self.tree = Hierarchy(root=create(DEFAULT_SCHEDULERS[0]), quantum=quantum)
        self.multiplexer = Multiplexer(self.tree, quantum=quantum)
        self.leaves: dict[int, Leaf] = {}
        self._rules: tuple[Rule, ...] = ()
        self._quantum = quantum

    def open(self, page: SimulatedPage) -> None:
        tree = self.tree
        application = tree.find([page.application]) or tree.attach(
            tree.root, page.application, scheduler=create(DEFAULT_SCHEDULERS[1]), keep=True
        )
        tree.attach(
            application, str(page.document), scheduler=create(DEFAULT_SCHEDULERS[2]), keep=True
        )
        for order, item in enumerate(page.items):
            leaf = self.leaves[item.component] = Leaf(item, page, order)
            self._offer(leaf)

    def close(self, page: SimulatedPage) -> None:
        node = self.tree.find([page.application, str(page.document)])
        if node is not None:
            self.tree.remove(node)
        for item in page.items:
            del self.leaves[item.component]

    def obey(self, command: Command) -> None:
        """Carry out a command. What speaks of a node that has left is ignored, as in a session."""
        tree = self.tree
        match command:
            case SetPlan(rules):
                self._rules = rules
                for leaf in self.leaves.values():
                    self._offer(leaf)
            case SetScheduler(path, name, params) if (node := tree.find(path)) is not None:
                tree.set_scheduler(node, create(name, params))
            case SetWeight(path, weight) if (node := tree.find(path)) is not None:
                tree.set_weight(node, weight)
            case SetQuantum(path, quantum) if (node := tree.find(path)) is not None:
                tree.set_quantum(node, quantum or None)
            case Raise(component, urgency) | Fetch(component, _, urgency) if (
                component in self.leaves
            ):
                leaf = self.leaves[component]
                leaf.urgency = urgency
                if isinstance(command, Fetch):
                    leaf.stop = command.level
                self._offer(leaf)
            case Defer(component) | Resume(component) | Cancel(component) if (
                component in self.leaves
            ):
                leaf = self.leaves[component]
                leaf.deferred = isinstance(command, Defer)
                leaf.cancelled = leaf.cancelled or isinstance(command, Cancel)
                self._offer(leaf)

    def _offer(self, leaf: Leaf) -> None:
        """Bring the leaf's node in line with how far it may be sent, how urgently."""
        tree, limit = self.tree, self._limit(leaf)
        attached = leaf.node is not None and leaf.node.attached
        if leaf.cancelled or limit <= leaf.sent:
            if attached and leaf.node is not None:
                tree.remove(leaf.node)
            leaf.node = None
            return
        if leaf.node is None or not attached:
            parent = tree.find([leaf.page.application, str(leaf.page.document)])
            assert parent is not None
            leaf.node = tree.attach(
                parent, str(leaf.item.component), kind=leaf.item.kind, order=leaf.order,
                size=leaf.item.size, priority=leaf.urgency, keep=True,
            )  # fmt: skip
            if leaf.levelled:
                ends = [end - leaf.sent for end in leaf.ends().values() if end > leaf.sent]
                tree.set_marks(leaf.node, ends)
            leaf.queued = leaf.sent
        if limit > leaf.queued:
            tree.enqueue(leaf.node, limit - leaf.queued)
        elif limit < leaf.queued:
            tree.unqueue(leaf.node, leaf.queued - limit)
        leaf.queued = limit
        tree.set_priority(leaf.node, leaf.urgency)
        if leaf.deferred:
            tree.disable(leaf.node, by=tree.root)
        else:
            tree.enable(leaf.node, by=tree.root)

    def _limit(self, leaf: Leaf) -> int:
        """Bytes up to which it may be sent."""
        item = leaf.item
        use = Use.ELEMENT if item.kind is Kind.IMAGE else Use.OTHER
        decision = decide(
            self._rules,
            Subject(
                component=item.component, document=leaf.page.document, kind=item.kind, use=use,
                length=item.size,
            ),
        )  # fmt: skip
        stop = leaf.stop or ("none" if decision.fetch == "never" else decision.level)
        if stop == "none":
            return 0
        return leaf.ends().get(stop, item.size)
