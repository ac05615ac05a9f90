"""Follows pages that have moved: a document goes on with the page that its own has led to.

The remote proxy may have promised that page (Takes.MOVED), and what it needs. Where its browser
asks for another one, or for none, the document is closed, with all that comes for it.
"""

from __future__ import annotations

import asyncio
from typing import Final

from local_proxy.http.model import Request, Response
from local_proxy.promises.initiators import Initiators
from local_proxy.promises.keeper import KeptPromise, PromiseKeeper
from local_proxy.requests.document_events import DocumentEvents
from local_proxy.requests.intent import in_frame, is_navigation
from wire.fields import REDIRECTS, header

WAIT: Final = 10.0
"""Seconds until its browser asks, if at all."""


class MovedPages:
    """Waits for who asks where pages of one local proxy have moved to."""

    def __init__(self, promises: PromiseKeeper, events: DocumentEvents) -> None:
        self._promises = promises
        self._events = events
        self._waiting: dict[int, str] = {}
        """By document its browser's User-Agent; the latest last."""

    def leads_on(self, document: int, request: Request, response: Response) -> None:
        """This answers a document's page: where it leads elsewhere its browser asks soon."""
        if response.status in REDIRECTS:
            self._waiting[document] = header(request.headers, "user-agent")
            asyncio.get_running_loop().call_later(WAIT, self._overdue, document)

    async def find(self, request: Request, *, may: bool) -> KeptPromise | None:
        """The page of a document that has moved there; None: there is none. `may`: it is to be
        given what was promised, if that is what its origin would give it. A frame is of another."""
        if not is_navigation(request) or in_frame(request):
            return None
        client, now = header(request.headers, "user-agent"), asyncio.get_running_loop().time()
        promised_to = self._promises.pages_at(request.url, now=now)
        document = next(
            (
                one
                for one, whose in reversed(self._waiting.items())
                if one in promised_to and whose == client
            ),
            None,
        )
        if document is None:
            return None
        del self._waiting[document]
        kept = None
        if may:
            kept = await self._promises.find(request, lambda: Initiators(own=document), now=now)
        if kept is None:
            self._events.close(document)
            return None
        kept.component.moved = True
        return kept

    def _overdue(self, document: int) -> None:
        if self._waiting.pop(document, None) is not None:
            self._events.close(document)
