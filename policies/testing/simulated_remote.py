"""A remote proxy in miniature, for simulations: the product's own tree, plan and commands.

What commands do is decided by the code that decides it in a session (scheduling/); only what that
stands on is made up here. Components are there at once and whole, by their sizes alone. So a plan's
word about levels and holds counts, its word about quality and layout does not, since nothing is
re-encoded; and as in a session a picture has the levels that the plan wanted when it was fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hats.multiplexer import Multiplexer
from policies.api import Cancel, Command, RateGuaranteed
from policies.host.to_wire import message_for
from scheduling.commands import SETTINGS, Obedience
from scheduling.deadlines import Missed
from scheduling.plan import Plan
from scheduling.tree import Tree
from wire import messages as m
from wire.applications import Application
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

    @property
    def use(self) -> Use:
        """What the page does with it."""
        return Use.ELEMENT if self.kind is Kind.IMAGE else Use.OTHER

    @property
    def levelled(self) -> bool:
        """Whether it is a picture that is shown coarse first."""
        return self.kind is Kind.IMAGE and self.size >= MIN_LEVELLED

    def ends(self) -> dict[str, int]:
        """Bytes at which its levels end."""
        if not self.levelled:
            return {"original": self.size}
        return {name: round(self.size * share) for name, share in LEVEL_SHARES.items()}


@dataclass(frozen=True, slots=True)
class SimulatedPage:
    """A document, and when it is opened."""

    document: int
    items: tuple[Item, ...]
    at: float = 0.0
    package: bool = False
    """It is a file of an office program, which comes in parts."""
    application: Application = Application.BROWSER
    """Whose document it is."""

    @property
    def url(self) -> str:
        """Its address."""
        return f"sim:{self.document}"

    def part_url(self, item: Item) -> str:
        """Where a component is: inside a file, or at an address of its own."""
        return f"{self.url}#{item.component}" if self.package else f"sim:{item.component}"


@dataclass(slots=True)
class SimulatedLeaf:
    """A component as the simulated remote proxy holds it (scheduling.commands.Placeable)."""

    item: Item
    page: SimulatedPage
    order: int
    sent: int = 0

    @property
    def component(self) -> int:
        return self.item.component

    @property
    def document(self) -> int:
        return self.page.document

    @property
    def use(self) -> Use:
        return self.item.use

    def reached(self) -> str:
        """The finest level that has been sent."""
        ends = reversed(self.item.ends().items())
        return next((name for name, end in ends if end <= self.sent), "")


class SimulatedRemote:
    """The tree at the far end, and what commands do to it."""

    def __init__(self, *, quantum: int, rate: float) -> None:
        """`quantum`: bytes. `rate`: bytes/second of the link, which is known from the start."""
        self._tree = Tree(quantum=quantum)
        self._tree.hierarchy.bandwidth_changed(rate)
        self._plan = Plan()
        self._obedience = Obedience(self._tree, self._plan)
        self._rate = rate
        self.leaves: dict[int, SimulatedLeaf] = {}

    @property
    def multiplexer(self) -> Multiplexer:
        """What the link asks for the next quantum."""
        return self._tree.multiplexer

    def open(self, page: SimulatedPage) -> None:
        """The document's components are there, all but those that no plan lets come."""
        for order, item in enumerate(page.items):
            decision = self._plan.decide(
                item.component, page.document, item.kind, item.use, item.size
            )
            if decision.fetch != "never":
                ends = item.ends()
                self._enter(
                    SimulatedLeaf(item, page, order), ends.get(decision.level, item.size), ends
                )

    def _go_on(self, fetch: m.Fetch) -> None:
        """A picture that was sent in full as far as it was wanted is asked for once more, as the
        device does (local_proxy.link.session.LocalSession.refine)."""
        leaf = self.leaves.get(fetch.component)
        if leaf is None or not leaf.sent or self._tree.find_leaf(fetch.component) is not None:
            return
        end = leaf.item.ends().get(fetch.level, leaf.item.size)
        if leaf.sent < end:
            self._obedience.want(fetch.component, fetch.level)
            left = {name: at - leaf.sent for name, at in leaf.item.ends().items() if at > leaf.sent}
            self._enter(leaf, end - leaf.sent, left)

    def _enter(self, leaf: SimulatedLeaf, size: int, ends: dict[str, int]) -> None:
        """`size`: bytes that are to come; `ends`: of its levels, in these."""
        item = leaf.item
        self.leaves[item.component] = leaf
        self._obedience.entered(leaf, item.kind)
        order = self._obedience.place(leaf, item.kind)
        node = self._tree.leaf(
            *(leaf.document, item.component),
            kind=item.kind.value,
            order=order,
            application=leaf.page.application,
        )
        self._tree.hierarchy.set_size(node, size)
        if item.levelled:
            marks = [end for end in ends.values() if end <= size]
            self._tree.set_marks(leaf.document, item.component, marks, marks, ends=ends)
        self._tree.hierarchy.enqueue(node, size)
        self._tree.hierarchy.finish(node)

    def close(self, page: SimulatedPage) -> None:
        """The document's window is gone."""
        for item in page.items:
            self._forget(item.component)
        self._tree.close_document(page.document)

    def obey(self, command: Command, *, now: float) -> Missed | str:
        """Carry out a command; why it can't be, for people, or "", and of a fetch what could be.

        What speaks of a component that has left is ignored, as in a session.
        """
        message = message_for(command)
        if isinstance(command, Cancel):
            self._forget(command.component)
        elif isinstance(message, m.Fetch):
            self._go_on(message)
            running = message.component in self.leaves
            missed = self._obedience.fetch(message, running=running, now=now, rate=self._rate)
            return missed or ""
        elif isinstance(message, m.Hold):
            self._obedience.hold(message, running=message.component in self.leaves)
        elif isinstance(message, SETTINGS):
            return self._obedience.obey(message, now=now, rate=self._rate)
        return ""

    def expired(self, now: float) -> Iterator[Missed]:
        """Fetches that can't be in time any more; they are held."""
        self._obedience.late(now)
        if self._obedience.deadlines:
            yield from self._obedience.expire(now, rate=self._rate)

    def guaranteed(self, now: float) -> Iterator[RateGuaranteed]:
        """What has become of rates since the last call."""
        if self._obedience.guarantees:
            self._obedience.guarantees.look(now, link=self._rate)
        for path, rate, held in self._obedience.guarantees.news():
            yield RateGuaranteed(path, rate, held)

    def _forget(self, component: int) -> None:
        if self.leaves.pop(component, None) is not None:
            self._obedience.forget(component)
            self._tree.forget(component)
