"""Asks again where the remote proxy has forgotten us: for the rest, and only if it fits.

The remote fetches anew and sends what follows the bytes that are here, after it has checked their
digest; a download with a strong validator costs the origin no more than its rest (RFC 9110, 13.1.5
and 14.2). What could do harm twice is not asked twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from local_proxy.link.arrival import Arrival
from local_proxy.link.components import Component, OriginHead
from wire import messages as m
from wire.fields import header
from wire.names import name_of
from wire.origin_request import OriginRequest

CHANGED: Final = "the response has changed while the link was down"
LOST: Final = "the link to the remote proxy was lost"
NOT_REPEATED: Final = (
    "the link was lost while this request was under way. Whether the server has acted on it is not "
    "known, so it is not sent again by itself"
)
MAX_CLOSED: Final = 1024
"""Closed documents remembered: late word of them must not be taken for new."""


class Memory:
    """What a local proxy knows across sessions: what it asked, what it was promised."""

    def __init__(self) -> None:
        self.next_promise = 2
        """Ids of promises from here on are free."""
        self.orphans: list[Arrival] = []
        """What no session is bringing at present."""
        self.closed: dict[int, bool] = {}
        """Documents closed, the latest last, and whether the remote has been told."""
        self._accepts: dict[int, str] = {}
        self._treatments: dict[int, m.Treatment] = {}
        self._promised: dict[int, set[bytes]] = {}

    def document_asked(self, document: int, request: OriginRequest) -> None:
        """A navigation was asked for."""
        self._accepts[document] = header(request.headers, "accept")
        if request.treatment is not m.Treatment.ADAPTED:
            self._treatments[document] = request.treatment

    def treatment(self, document: int) -> m.Treatment:
        """What was said of it when it was asked for."""
        return self._treatments.get(document, m.Treatment.ADAPTED)

    def promised(self, document: int, components: list[Component]) -> None:
        """The remote sends these without being asked."""
        names = self._promised.setdefault(document, set())
        for component in components:
            names.add(name_of(component.url))
            self.next_promise = max(self.next_promise, component.id + 2)

    def close_document(self, document: int) -> None:
        """Its window is gone, and its promises with it."""
        self.closed[document] = False
        while len(self.closed) > MAX_CLOSED:
            del self.closed[next(iter(self.closed))]
        self._accepts.pop(document, None)
        self._treatments.pop(document, None)
        self._promised.pop(document, None)
        self.orphans = [
            orphan
            for orphan in self.orphans
            if orphan.component.document != document or not orphan.component.promised
        ]

    def forget(self, component: Component) -> None:
        """Nobody wants it any more."""
        self.orphans = [orphan for orphan in self.orphans if orphan.component is not component]

    def take(self) -> list[Arrival]:
        """The orphans, in the order they were asked for; another session brings them now."""
        taken, self.orphans = self.orphans, []
        for arrival in taken:
            if arrival.component.document in self.closed:
                self.closed[arrival.component.document] = False
        return sorted(taken, key=lambda arrival: arrival.component.id)

    def resume(self, arrival: Arrival) -> m.Resume:
        """What to say about a component that is here in part."""
        component = arrival.component
        promised = component.promised
        own = component.id == component.document
        known: Iterable[bytes] = self._promised.get(component.id, ()) if own else ()
        return m.Resume(
            received=component.received,
            digest=arrival.digest.digest() if component.received else b"",
            etag=_validator(component),
            known=b"".join(known),
            part=component.part if promised else None,
            accept=self._accepts.get(component.document, "") if promised else "",
            held=arrival.held,
        )


def fits(component: Component, head: OriginHead) -> bool:
    """Whether a new response's head can be that of the component that is here in part."""
    before = component.head
    if before is None or not component.received:
        return True
    if head.status == 206 and before.status == 200:
        return True  # the remote asked the origin for the rest alone, by its validator
    known = before.length is not None and head.length is not None
    return head.status == before.status and not (known and head.length != before.length)


def _validator(component: Component) -> str:
    """The strong entity tag by which an origin can continue the body as it is; "": none."""
    head = component.head
    if head is None or head.status != 200 or component.levels or not component.received:
        return ""
    if head.length is None:  # the remote has decoded it: the tag may be of the coded form
        return ""
    tag = header(head.headers, "etag")
    coded = header(head.headers, "content-encoding")
    ranges = header(head.headers, "accept-ranges").lower() == "bytes"
    return tag if ranges and tag.startswith('"') and not coded else ""
