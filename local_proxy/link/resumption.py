"""Asks again where the remote proxy has forgotten us: for the rest, and only if it fits.

The remote fetches anew and sends what follows the bytes that are here, after it has checked their
digest; a download with a strong validator costs the origin no more than its rest (RFC 9110, 13.1.5
and 14.2). What could do harm twice is not asked twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from local_proxy.link.arrival import Arrival
from local_proxy.link.components import Component, OriginHead
from wire import messages as m
from wire.applications import Application
from wire.continuation import Continuation
from wire.fields import header
from wire.names import name_of
from wire.origin_request import OriginRequest
from wire.skeleton import LEVELS, Use

CHANGED: Final = "the response has changed while the link was down"
LOST: Final = "the link to the remote proxy was lost"
NOT_REPEATED: Final = (
    "the link was lost while this request was under way. Whether the server has acted on it is not "
    "known, so it is not sent again by itself"
)
MAX_STOPPED: Final = 4096
"""Pictures remembered that ended at a coarse level."""
MAX_CLOSED: Final = 1024
"""Closed documents remembered: late word of them must not be taken for new."""


@dataclass(frozen=True, slots=True)
class AskedDocument:
    """What was said of a document when it was asked for; its parts are asked for likewise."""

    treatment: m.Treatment = m.Treatment.ADAPTED
    application: Application = Application.BROWSER

    @classmethod
    def of(cls, request: OriginRequest) -> Self:
        """Reads it from the document's own request."""
        return cls(request.treatment, request.application)


_USUAL: Final = AskedDocument()


class Memory:
    """What a local proxy knows across sessions: what it asked, what it was promised."""

    def __init__(self) -> None:
        self.next_promise = 2
        """Ids of promises from here on are free."""
        self.orphans: list[Arrival] = []
        """What no session is bringing at present."""
        self._stopped: dict[int, Arrival] = {}
        self.closed: dict[int, bool] = {}
        """Documents closed, the latest last, and whether the remote has been told."""
        self._accepts: dict[int, str] = {}
        self._asked: dict[int, AskedDocument] = {}
        """Those that were not asked for as usual."""
        self._promised: dict[int, set[bytes]] = {}

    def document_asked(self, document: int, request: OriginRequest) -> None:
        """A navigation was asked for."""
        self._accepts[document] = header(request.headers, "accept")
        asked = AskedDocument.of(request)
        if asked != _USUAL:
            self._asked[document] = asked

    def asked(self, document: int) -> AskedDocument:
        """What was said of it when it was asked for."""
        return self._asked.get(document, _USUAL)

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
        self._asked.pop(document, None)
        self._promised.pop(document, None)
        for id_, arrival in list(self._stopped.items()):
            if arrival.component.document == document:
                del self._stopped[id_]
        self.orphans = [
            orphan
            for orphan in self.orphans
            if orphan.component.document != document or orphan.component.has_client
        ]

    def stopped(self, arrival: Arrival) -> None:
        """All has come of it that was wanted, which is less than there is."""
        document = arrival.component.document
        if document in (m.UNATTRIBUTED, m.BACKGROUND):
            return  # they never close, so nothing would ever let go of it
        if document not in self.closed:
            self._stopped[arrival.component.id] = arrival
        while len(self._stopped) > MAX_STOPPED:
            del self._stopped[next(iter(self._stopped))]

    def stopped_short_of(self, component: int, level: str) -> bool:
        """Whether that ended at a coarser level, and can go on from there."""
        arrival = self._stopped.get(component)
        return arrival is not None and coarser(arrival.component.levels[-1].name, level)

    def take_stopped(self, component: int) -> Arrival:
        """Another session brings it now. It must be there."""
        return self._stopped.pop(component)

    def forget(self, component: Component) -> None:
        """Nobody wants it any more."""
        self._stopped.pop(component.id, None)
        self.orphans = [orphan for orphan in self.orphans if orphan.component is not component]

    def take(self) -> list[Arrival]:
        """The orphans, in the order they were asked for; another session brings them now."""
        taken, self.orphans = self.orphans, []
        for arrival in taken:
            if arrival.component.document in self.closed:
                self.closed[arrival.component.document] = False
        return sorted(taken, key=lambda arrival: arrival.component.id)

    def resume(self, arrival: Arrival, *, placed: bool = False) -> Continuation:
        """What to say about a component that is here in part. `placed`: also where it stands in
        its document, of what was asked for (wire.abilities.PLACED)."""
        component = arrival.component
        promised = component.promised
        told = promised or (placed and component.use is Use.ELEMENT)
        own = component.id == component.document
        known: Iterable[bytes] = self._promised.get(component.id, ()) if own else ()
        return Continuation(
            received=component.received,
            digest=arrival.digest.digest() if component.received else b"",
            etag=_validator(component),
            known=b"".join(known),
            part=component.part if told else None,
            accept=self._accepts.get(component.document, "") if promised else "",
            held=arrival.held,
            level=arrival.level or _told_level(component),
            anew=arrival.stale,
        )


def _told_level(component: Component) -> str:
    """Up to which level a picture was to come that is here in part: its answer may have begun, with
    that level's length. "": that was not told yet."""
    told = component.received and component.levels and not component.unsettled
    return component.levels[-1].name if told else ""


def coarser(level: str, other: str) -> bool:
    """Whether a level shows less than another."""
    return LEVELS.index(level) < LEVELS.index(other)


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
