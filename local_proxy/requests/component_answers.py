"""Makes a response of a component: coarse, the origin's bytes, or a page that says what is wrong.

Knows the export drivers, and that who leaves early needs no more of it. Must not know where a
component comes from (core.py): from a promise or from a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final

from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.export_drivers.browser.level_files import NoFile
from local_proxy.export_drivers.browser.pictures import coarse, whole_now
from local_proxy.export_drivers.preview.previews import Previews
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Request, Response, directives
from local_proxy.http.responses import bodyless
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from local_proxy.link.resumption import LOST
from local_proxy.link.uplink import Uplink
from local_proxy.promises import origin_bytes
from local_proxy.promises.keeper import wants_picture
from local_proxy.requests.asked_time import LEVEL, takes_type, time_of_answer, told
from local_proxy.requests.link_down import link_down
from local_proxy.requests.timely_pictures import finest_by
from wire.abilities import Takes
from wire.fields import Headers, without
from wire.messages import Fetch
from wire.skeleton import LEVELS, Use

FIRST_OF_ITS_TIER: Final = 1
"""Urgency of what a script waits for: before its like, and after all that is shown coarse."""


class ComponentAnswers:
    """Answers requests from components, as their bytes come."""

    def __init__(
        self,
        uplink: Uplink,
        export: BrowserExport,
        previews: Previews,
        *,
        again: Callable[[Request, Component], Awaitable[Component | None]],
        spared: Callable[[Request, Component], Response],
    ) -> None:
        """`again` asks the origin once more, for what can't be given as it was promised. `spared`
        stands in for what a budget has no room for."""
        self._uplink = uplink
        self._export = export
        self._previews = previews
        self._ask_again = again
        self._spared = spared

    async def answer(self, request: Request, component: Component) -> Response:
        """The response. Raises NoPreview where a document is to be asked for once more, whole."""
        try:
            head = await component.wait_head()
            due = time_of_answer(request)
            if due is not None:
                return await self._by_its_time(request, component, head, due)
            preview = await self._previews.response(request, component)
            if preview is not None:
                return preview
            if component.levels and wants_picture(request):
                picture = await self._export.picture(component, request)
                return self._watched(picture, component)
            if origin_bytes.has(component):
                self._hasten(component)
                return self._watched(origin_bytes.response(component, head), component)
            if component.levels or component.unsettled:
                return await self._restored(request, component, head)
        except ComponentFailed as failure:
            if component.spared:
                return self._spared(request, component)
            return self.failed(request, failure)
        except asyncio.CancelledError:
            self._left(component)
            raise
        response = self._plain(request, component, head)
        untouched = request.original or "no-transform" in directives(request.headers)
        if component.use is Use.DOCUMENT and not untouched:
            page = component.document if component.moved else component.id
            response = self._export.document_response(page, response)
        return response

    async def _by_its_time(
        self, request: Request, component: Component, head: OriginHead, due: float
    ) -> Response:
        """For a program that has said by when it wants it. Raises ComponentFailed.

        Of a picture the finest file by then, and the rest of it need not come; all else as it is.
        """
        if not component.levels:
            return _said_of(self._plain(request, component, head), request, component, due)
        takes = partial(takes_type, request)
        try:
            picture = await finest_by(due, component, self._export, takes=takes)
        except NoFile:
            again = await self._ask_again(replace(request, original=True), component)
            return self.link_down(request) if again is None else await self.answer(request, again)
        self._left(component)
        response = (
            whole_now(head, picture.file)
            if picture.level is None
            else coarse(head, picture.level, picture.file)
        )
        return _with_level(response, told(picture.name, late=_late(due)))

    async def _restored(self, request: Request, component: Component, head: OriginHead) -> Response:
        """The origin's bytes of a picture that crosses the link in others; anew where they can't
        be made of those."""
        self._hasten(component)
        try:
            await origin_bytes.whole(component)
            original = await self._export.original(component)
        except (ComponentFailed, NoFile):
            return await self._anew(request, component)
        return self._watched(whole_now(head, original), component)

    async def _anew(self, request: Request, component: Component) -> Response:
        """The origin's bytes, for who can't be given a picture as it was promised."""
        if not component.promised:
            return error_page(502, "The remote proxy coded what it was not asked to.")
        again = await self._ask_again(request, component)
        return self.link_down(request) if again is None else await self.answer(request, again)

    def _hasten(self, component: Component) -> None:
        """A program waits for all of a picture, which its policy may have held or left for last."""
        session = self._uplink.session
        if session is not None and not component.complete:
            session.say(Fetch(component.id, LEVELS[-1], urgency=FIRST_OF_ITS_TIER))

    def _plain(self, request: Request, component: Component, head: OriginHead) -> Response:
        """The origin's own response."""
        if request.method == "HEAD":
            return Response(head.status, head.headers)
        headers: Headers = [
            (name, value) for name, value in head.headers if name != "content-length"
        ]
        response = Response(head.status, headers, _body(component), head.length)
        if request.takes & Takes.TRAILERS:
            response.trailers = lambda: component.trailers
        return self._watched(response, component)

    def _watched(self, response: Response, component: Component) -> Response:
        """Hear of it when the client leaves before the end."""
        response.on_done.append(lambda finished: None if finished else self._left(component))
        return response

    def _left(self, component: Component) -> None:
        """A client left before the end: nobody else can use what was asked for it alone."""
        if component.has_client:
            self._uplink.abandon(component)

    def failed(self, request: Request, failure: ComponentFailed) -> Response:
        """What tells people why there is no answer."""
        if failure.reason == LOST:
            return self.link_down(request)
        return error_page(failure.status, failure.reason, retry=failure.retry)

    def link_down(self, request: Request) -> Response:
        """What tells people that there is no link, and what is being done about it."""
        state = self._uplink.state()
        seconds = asyncio.get_running_loop().time() - state.since if state.was_up else None
        return link_down(
            request,
            remote=state.remote,
            reason=state.reason,
            seconds=seconds,
            update=state.update,
        )


def _said_of(response: Response, request: Request, component: Component, due: float) -> Response:
    """The origin's answer, and how late it is: in front of it if that is known by now, else behind
    it for who reads that."""
    if component.complete or bodyless(response, request.method):
        return _with_level(response, told(LEVELS[-1], late=_late(due)))
    response.headers = without(response.headers, (LEVEL,))  # an origin knows nothing of it
    if request.takes & Takes.TRAILERS:
        response.trailers = lambda: [
            *without(component.trailers, (LEVEL,)),
            told(LEVELS[-1], late=_late(due)),
        ]
    return response


def _with_level(response: Response, said: tuple[str, str]) -> Response:
    response.headers = [*without(response.headers, (LEVEL,)), said]
    return response


def _late(due: float) -> float:
    return asyncio.get_running_loop().time() - due


async def _body(component: Component) -> AsyncIterator[bytes]:
    async for chunk in component.read():
        yield chunk
