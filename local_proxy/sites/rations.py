"""Lets in what a day's budget has room for: a picture comes whole, or not at all. Pure.

What a browser asks for at once it asks for before any of it has come, and what is promised comes
unasked; so each is judged when its size is known, together with all that was let in and is still
on its way. What has no size, and sound and film, of which browsers take as much as is played, comes
until the budget is gone.
"""

from __future__ import annotations

from collections.abc import Callable

from local_proxy.link.components import Component
from local_proxy.sites.day_budget import DayBudget
from local_proxy.sites.placeholder import UNLOADED, kind_of
from wire.fields import header
from wire.skeleton import Kind


class Rations:
    """Judges what a page promises, and what comes of it, by one budget."""

    def __init__(self, budget: DayBudget, *, refuse: Callable[[Component], None]) -> None:
        """`refuse` has what has no room come no further."""
        self._budget = budget
        self._refuse = refuse
        self._expected: dict[int, Component] = {}
        """Promised, and of a size that is not known yet."""
        self._coming: dict[int, Component] = {}
        """Let in."""

    def look(self, component: Component) -> None:
        """It was promised, or something of it came. One that must not come is refused."""
        if not component.rationed or component.spared:
            return
        if component.complete or component.failure is not None:
            self._expected.pop(component.id, None)
            self._coming.pop(component.id, None)
        elif _kind(component) in UNLOADED:
            self._judge(component)

    def _judge(self, component: Component) -> None:
        size = size_of(component)
        if component.id in self._coming:
            if size is None and self._budget.gone:
                self._spare(component)
        elif not _known(component):
            self._expected[component.id] = component
            if self._budget.gone:
                self._spare(component)
        elif self._budget.takes(size or 0, coming=self._outstanding()):
            self._expected.pop(component.id, None)
            self._coming[component.id] = component
        else:
            self._spare(component)
            if self._budget.gone:
                for expected in list(self._expected.values()):
                    self._spare(expected)

    def _outstanding(self) -> int:
        """Bytes that are still to come of what was let in."""
        sizes = ((size_of(one), one.carried) for one in self._coming.values())
        return sum(max(0, size - came) for size, came in sizes if size is not None)

    def _spare(self, component: Component) -> None:
        self._expected.pop(component.id, None)
        self._coming.pop(component.id, None)
        component.spared = True
        self._refuse(component)


def look_with(
    budget: DayBudget | None,
    look: Callable[[Component], None],
    *,
    refuse: Callable[[Component], None],
) -> Callable[[Component], None]:
    """What sees all that comes before browsers do: the budget, if there is one, and then `look`."""
    if budget is None:
        return look
    rations = Rations(budget, refuse=refuse)

    def both(component: Component) -> None:
        rations.look(component)
        look(component)

    return both


def size_of(component: Component) -> int | None:
    """Bytes in which it comes, as far as is known; None: it has no size, or comes as it is
    played."""
    if component.levels:
        return component.levels[0 if component.unsettled else -1].end
    if component.head is None or _kind(component) is Kind.MEDIA:
        return None
    return component.head.length


def _known(component: Component) -> bool:
    return component.head is not None or bool(component.levels)


def _kind(component: Component) -> Kind:
    """Its answer tells what it is; until that is here, the page that promised it does."""
    if component.head is None:
        return component.kind
    return kind_of(header(component.head.headers, "content-type"))
