"""Which rates are guaranteed on the link as it is now, and which can't be held any more.

A policy's command asks for one and is refused at once where the link does not carry it beside those
that were given before, with the reason (HATS, 3.2.2: what the link carries decides). A rule of the
plan asks for what is played: such a one waits until its rate is known and there is room, and all
of them together have half of the link, so that a page goes on. Where the estimate falls below what
is promised, the newest are given up first, and come back as soon as they can be held; the device is
told of each change.

Pure. It knows the tree's nodes and what the link carries; not policies, nor what is inside a film.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Final, NamedTuple

from hats.reservations import problem
from hats.tree.node import Node
from scheduling.standing_rules import ANY, MAX_NAME, MAX_NAMES, Pattern
from scheduling.tree import Tree

USED: Final = 0.9
"""Of the link, that is promised at most."""
PLAYED: Final = 0.5
"""Of the link, for all that the plan asks for: who reads a page is not stopped by its films."""
WAVERS: Final = 1.1
"""Times what is given, that the link may seem to carry less before anything is given up."""
RESTS: Final = 10.0
"""Seconds for which a component takes nothing, until its rate is free for others."""
MOST: Final = 64
"""Guarantees of one device; the multiplexer looks at each before every quantum."""


class GuaranteeNews(NamedTuple):
    """What has become of a node's rate."""

    path: Pattern
    rate: float
    """Bytes/second; 0: none is wanted any more."""
    held: bool
    """It is guaranteed from now on; else it is not, or not any more."""


@dataclass(slots=True)
class _Guarantee:
    rate: float
    delay: float
    planned: bool = False
    """A rule of the plan asks for it."""
    held: bool = False
    node: Node | None = None
    """Which has it; None: it is not in the tree yet."""

    def wants(self, now: float) -> bool:
        """Whether it takes what it has: of a film that nobody plays only the beginning comes."""
        node = self.node
        if node is None or node.scheduler is not None:
            return True
        return node.attached and (node.pending or now < (node.served_at or -RESTS) + RESTS)


class Guarantees:
    """The guaranteed rates of one device."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._reservations = tree.promised.reservations
        self._given: dict[Pattern, _Guarantee] = {}
        """The oldest first."""
        self._read: dict[int, tuple[float, float]] = {}
        """Rates and delays of components, as their files say."""
        self._wanted: set[int] = set()
        """Components of which the plan wants that they have them."""
        self._news: list[GuaranteeNews] = []

    def __len__(self) -> int:
        return len(self._given)

    def promised(self, now: float, *, planned: bool = False) -> float:
        """Bytes/second, of all together that want any now; `planned`: of those by rules alone."""
        return sum(
            one.rate
            for one in self._given.values()
            if one.held and one.wants(now) and one.planned >= planned
        )

    def ask(
        self, path: Pattern, rate: float, delay: float, *, now: float, link: float | None
    ) -> str:
        """A policy wants this for a node, in the place of what it had; 0: no more. `link`:
        bytes/second that it carries, None: not known, and all can be.

        Why it can't be, for people, or "".
        """
        if rate == 0:
            self._end(path)
            return ""
        wrong = _problem(path, rate, delay)
        if wrong:
            return wrong
        before = self._given.get(path)
        counted = before is not None and before.held and before.wants(now)
        had = before.rate if before is not None and counted else 0.0
        if before is None and len(self._given) >= MOST:
            return f"{MOST} nodes have a guaranteed rate, which is the most"
        promised = self.promised(now) - had
        if link is not None and promised + rate > USED * link:
            return (
                f"{rate:.0f} bytes/second can't be guaranteed: the link carries {link:.0f}, of "
                f"which {promised:.0f} are promised and {(1 - USED) * link:.0f} are for the rest"
            )
        self._given[path] = _Guarantee(rate, delay)
        self._hold(path, self._given[path], now)
        return ""

    def read(self, component: int, rate: float, delay: float) -> None:
        """It is played at that rate, as its file says."""
        if not problem(rate, delay):
            self._read[component] = rate, delay

    def want(self, component: int, *, on: bool) -> None:
        """The plan wants the component to have the rate at which it is played, or no more."""
        (self._wanted.add if on else self._wanted.discard)(component)

    def look(self, now: float, *, link: float | None) -> None:
        """Time has passed, or the estimate has changed."""
        for path, one in list(self._given.items()):
            self._find(path, one, now)
        fresh = self._begin()
        if link is not None:
            self._give_up_some(now, link)
        for path, one in list(self._given.items()):
            if not one.held and one.wants(now) and self._fits(one, now, link):
                self._hold(path, one, now)
        for path in fresh:
            one = self._given[path]
            if not one.held and one.wants(now):
                self._news.append(GuaranteeNews(path, one.rate, held=False))

    def forget(self, component: int) -> None:
        """It has left, or will not come."""
        self._read.pop(component, None)
        self._wanted.discard(component)
        for path in [one for one in self._given if one[-1] == str(component)]:
            if len(path) == MAX_NAMES:
                self._end(path)

    def sweep(self, live: Container[int]) -> None:
        """Forget what was read of all but these components."""
        self._read = {id_: read for id_, read in self._read.items() if id_ in live}
        self._wanted.intersection_update(id_ for id_ in tuple(self._wanted) if id_ in live)

    def _begin(self) -> list[Pattern]:
        """What is wanted, known and in the tree; ends what the plan wants no more."""
        for path, one in list(self._given.items()):
            if one.planned and int(path[-1]) not in self._wanted:
                self._end(path)
        fresh = []
        for component in self._wanted & self._read.keys():
            leaf = self._tree.find_leaf(component)
            path = () if leaf is None else self._tree.hierarchy.path(leaf)
            if leaf is not None and path not in self._given and len(self._given) < MOST:
                rate, delay = self._read[component]
                self._given[path] = _Guarantee(rate, delay, planned=True, node=leaf)
                fresh.append(path)
        return fresh

    def _fits(self, one: _Guarantee, now: float, link: float | None) -> bool:
        if link is None:
            return True
        planned = self.promised(now, planned=True) + one.rate
        fits = self.promised(now) + one.rate <= USED * link
        return fits and (not one.planned or planned <= PLAYED * link)

    def _give_up_some(self, now: float, link: float) -> None:
        """The newest first, as long as more is promised than can be held."""
        for path, one in reversed(list(self._given.items())):
            too_much = self.promised(now) > WAVERS * USED * link
            planned = self.promised(now, planned=True) > WAVERS * PLAYED * link
            if one.held and one.wants(now) and (too_much or (planned and one.planned)):
                self._give_up(path, one)

    def news(self) -> list[GuaranteeNews]:
        """What has changed since the last call."""
        news, self._news = self._news, []
        return news

    def _find(self, path: Pattern, one: _Guarantee, now: float) -> None:
        if one.node is not None and not one.node.attached:
            self._end(path)  # it is over
        elif one.node is None:
            one.node = self._tree.hierarchy.find(path)
            if one.node is not None and one.held:
                self._reservations.set(one.node, rate=one.rate, delay=one.delay, now=now)

    def _hold(self, path: Pattern, one: _Guarantee, now: float) -> None:
        one.held = True
        one.node = one.node or self._tree.hierarchy.find(path)
        if one.node is not None:
            self._reservations.set(one.node, rate=one.rate, delay=one.delay, now=now)
        self._news.append(GuaranteeNews(path, one.rate, held=True))

    def _give_up(self, path: Pattern, one: _Guarantee) -> None:
        one.held = False
        if one.node is not None:
            self._reservations.clear(one.node)
        self._news.append(GuaranteeNews(path, one.rate, held=False))

    def _end(self, path: Pattern) -> None:
        one = self._given.pop(path, None)
        if one is not None and one.node is not None:
            self._reservations.clear(one.node)
            if one.node.attached:
                self._news.append(GuaranteeNews(path, 0.0, held=False))


def _problem(path: Pattern, rate: float, delay: float) -> str:
    if not path or ANY in path or len(path) > MAX_NAMES:
        return "a rate is guaranteed to one application, document or component"
    if any(len(name) > MAX_NAME for name in path):
        return "no node has such a path"
    return problem(rate, delay)
