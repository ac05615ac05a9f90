"""Keeps promises: joins the promise table with the components that fulfil it.

A request waits for the promised response's head where the rules need it; then it is answered from
the promise, told that nothing has changed, or left to be asked for anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import structlog

from local_proxy.http.model import Request, Response, directives
from local_proxy.link.components import Component, ComponentFailed
from local_proxy.promises.initiators import Initiators
from local_proxy.promises.rules import (
    Promised,
    PromiseStatistics,
    PromiseTable,
    PromiseVerdict,
    ResponseHead,
    Whose,
    may_use,
)
from wire.fields import Headers, header
from wire.skeleton import Use

_log = structlog.get_logger("sluice.local")
WITHHELD: Final = 30.0
"""Seconds in which a browser asks about what it has, if at all."""
_RENEWED = frozenset(
    ("cache-control", "content-location", "date", "etag", "expires", "last-modified", "vary")
)
"""Fields of a 304 (RFC 9110, 15.4.5)."""


def wants_picture(request: Request) -> bool:
    """Whether a browser asks this to render a picture: only such may be coarse first.

    A script's fetch or a download may send the same Accept; it wants the origin's bytes.
    """
    headers = request.headers
    return (
        request.method == "GET"
        and not request.original
        and header(headers, "accept").lower().startswith("image/")
        and header(headers, "sec-fetch-dest", "image") == "image"
        and not header(headers, "range")
        and "no-transform" not in directives(headers)
    )


@dataclass(frozen=True, slots=True)
class KeptPromise:
    """A promise answers the request."""

    component: Component
    whose: Whose
    not_modified: Response | None = None
    """What to answer instead of the component."""


class PromiseKeeper:
    """Promises and their components; they outlive the session that brought them."""

    def __init__(
        self,
        urge: Callable[[Component], None],
        *,
        awaited: Callable[[Component], None],
        release: Callable[[Component], None],
        unwanted: Callable[[Component], None],
        later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        """`urge`: a browser asks whether what it holds is still good, so the head is wanted now.

        `awaited`: a browser waits for it, and nothing of it is here.

        `release`: the body of a promise that was withheld is wanted; `unwanted`: it never will be.
        `later` calls something after so many seconds.
        """
        self._urge = urge
        self._awaited = awaited
        self._release = release
        self._unwanted = unwanted
        self._later = later
        self._withheld: dict[int, Component] = {}
        """By id."""
        self._table = PromiseTable()
        self._components: dict[int, Component] = {}

    def promised(self, components: list[Component], headers: Headers, *, now: float) -> None:
        """The remote sends these without being asked; its requests carried these headers."""
        withheld = {component.id: component for component in components if component.withheld}
        if withheld:
            self._withheld |= withheld
            self._later(WITHHELD, lambda: self._give_up(withheld))
        for component in components:
            self._components[component.id] = component
            promised = Promised(component.id, component.document, component.url, headers, now)
            self._forget(self._table.add(promised))
        self._forget(self._table.expire(now))

    def pages_at(self, url: str, *, now: float) -> set[int]:
        """The documents that a page of this address was promised to."""
        found = [(one, self._components.get(one.component)) for one in self._table.find(url, now)]
        pages = [one for one, page in found if page is not None and page.use is Use.DOCUMENT]
        return {one.document for one in pages}

    def of_document(self, document: int) -> list[Component]:
        """All that was promised to it."""
        return [one for one in self._components.values() if one.document == document]

    async def find(
        self, request: Request, initiators: Callable[[], Initiators], *, now: float
    ) -> KeptPromise | None:
        """What answers the request; None: it must be asked for. `initiators`: who may have made
        it."""
        found = self._table.find(request.url, now)
        if not found:
            return None
        who = initiators()
        for whose, promised in _answerable(found, who):
            if who.mixed and promised.uses:  # what has answered one page would tell others of it
                continue
            kept = await self._answer(request, promised, whose, now)
            if kept is not None:
                return kept
        return None

    async def _answer(
        self, request: Request, promised: Promised, whose: Whose, now: float
    ) -> KeptPromise | None:
        component = self._components.get(promised.component)
        if component is None:
            return None  # it went while another was waited for
        if whose is not Whose.OWN and component.use is Use.DOCUMENT:
            return None  # a page of a frame is known by the page around it
        if component.spared and request.original:
            return None  # somebody wants just this one, whatever the budget says
        verdict = self._judge(promised, request, whose, now)
        if verdict.use and not _conditional(request):
            self._let_go(component)
        if verdict.use and component.head is None:
            self._awaited(component)
        if verdict.use and not verdict.final:
            if component.head is None and _conditional(request):
                self._urge(component)
            try:
                head = await component.wait_head()
            except ComponentFailed as failure:
                if failure.status == 403:  # forbidden here or there: asking anew changes nothing
                    return KeptPromise(component, whose)
                self._forget(self._table.fail(promised))
                return None
            promised.head = ResponseHead(head.status, head.headers, now)
            verdict = self._judge(promised, request, whose, now)
        if not verdict.use:
            _log.info("a promise was not used", url=request.url, reason=verdict.reason)
            return None
        if component.failure is not None or component.trimmed:
            return None
        if component.levels and not wants_picture(request):
            # Only pictures to be rendered may be other bytes than the origin's, which can be made
            # again of most.
            try:
                await component.wait_settled()
            except ComponentFailed:
                return None
            verdict = self._judge(promised, request, whose, now)  # it may have answered meanwhile
            if not verdict.use:
                return None
        self._table.take(promised)
        not_modified = _not_modified(component) if verdict.not_modified else None
        if not_modified is None:
            self._let_go(component)
        return KeptPromise(component, whose, not_modified)

    def _let_go(self, component: Component) -> None:
        if self._withheld.pop(component.id, None) is not None:
            component.withheld = False
            self._release(component)

    def _give_up(self, withheld: dict[int, Component]) -> None:
        """What nobody has asked about the remote need not hold any longer."""
        for component in withheld.values():
            if self._withheld.pop(component.id, None) is not None:
                self._unwanted(component)

    def close_document(self, document: int) -> None:
        """Its promises go with it."""
        gone = self._table.close_document(document)
        self._forget(gone)
        for one in gone:
            self._withheld.pop(one.component, None)

    def _forget(self, gone: Iterable[Promised]) -> None:
        for one in gone:
            self._components.pop(one.component, None)

    def statistics(self) -> PromiseStatistics:
        """Counts since the session began."""
        return self._table.statistics()

    def _judge(
        self, promised: Promised, request: Request, whose: Whose, now: float
    ) -> PromiseVerdict:
        component = self._components.get(promised.component)
        return may_use(
            *(promised, request.headers, request.method, request.url, now),
            whose=whose,
            coming=component is not None and not component.complete and wants_picture(request),
        )


def _answerable(found: list[Promised], initiators: Initiators) -> list[tuple[Whose, Promised]]:
    """The promises that may answer, in the order in which they are tried."""
    own = [one for one in found if one.document == initiators.own]
    peers = [one for one in found if one.document in initiators.peers]
    others = [one for one in found if one.document in initiators.others]
    return [
        *((Whose.OWN, one) for one in own),
        *((Whose.PEER, one) for one in sorted(peers, key=lambda one: one.uses > 0)),
        *((Whose.OTHER, one) for one in others),
    ]


def _conditional(request: Request) -> bool:
    return any(name in ("if-none-match", "if-modified-since") for name, _ in request.headers)


def _not_modified(component: Component) -> Response:
    assert component.head is not None
    return Response(304, [field for field in component.head.headers if field[0] in _RENEWED])
