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
    """Judges what pages promise, and what comes of it, by a budget if there is one."""

    def __init__(
        self,
        budget: DayBudget | None,
        look: Callable[[Component], None],
        *,
        refuse: Callable[[Component], None],
    ) -> None:
        """`look` sees all that comes, once it has been judged; `refuse` has what has no room come
        no further."""
        self._budget = budget
        self._look = look
        self._refuse = refuse
        self._expected: dict[int, Component] = {}
        """Promised, and of a size that is not known yet."""
        self._coming: dict[int, tuple[Component, int]] = {}
        """Let in, and the bytes that are still to come of each."""
        self._outstanding = 0
        """Of all of these."""

    def look(self, component: Component) -> None:
        """It was promised, or something of it came. One that must not come is refused."""
        if self._budget is not None and component.rationed and not component.spared:
            if component.complete or component.failure is not None:
                self._forget(component.id)
            elif _kind(component) in UNLOADED:
                self._judge(component, self._budget)
        self._look(component)

    def close_document(self, document: int) -> None:
        """Nothing more of it is waited for."""
        coming = (one for one, _ in self._coming.values())
        for one in [*self._expected.values(), *coming]:
            if one.document == document:
                self._forget(one.id)

    def _judge(self, component: Component, budget: DayBudget) -> None:
        size = size_of(component)
        if component.id in self._coming:
            if size is not None:
                self._let_in(component, size)
            elif budget.gone:
                self._spare(component)
        elif not _known(component):
            self._expected[component.id] = component
            if budget.gone:
                self._spare(component)
        elif budget.takes(size or 0, coming=self._outstanding):
            self._expected.pop(component.id, None)
            self._let_in(component, size or 0)
        else:
            self._spare(component)
            if budget.gone:
                for expected in list(self._expected.values()):
                    self._spare(expected)

    def _let_in(self, component: Component, size: int) -> None:
        left = max(0, size - component.carried)
        _, before = self._coming.get(component.id, (component, 0))
        self._outstanding += left - before
        self._coming[component.id] = component, left

    def _forget(self, number: int) -> None:
        self._expected.pop(number, None)
        _, left = self._coming.pop(number, (None, 0))
        self._outstanding -= left

    def _spare(self, component: Component) -> None:
        self._forget(component.id)
        component.spared = True
        self._refuse(component)


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
