"""The demultiplexer of one link: follows components from their first word to their last byte.

Source: HATS, 3.2.3.

Messages about components become what arrival.py makes of one; here is the table of all, what is
said back about them (credit, cancellation, closed documents), and what becomes of them when the
link breaks. Must not know: requests, uploads, fronts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Final

from local_proxy.link.announced_levels import Told
from local_proxy.link.arrival import Arrival, shared_too_long
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from local_proxy.link.dictionaries import Dictionaries
from local_proxy.link.resumption import (
    CHANGED,
    LOST,
    NOT_REPEATED,
    AskedDocument,
    Memory,
    fits,
)
from transcoders.text import TextError
from transport.link.interface import LinkError, LinkExpired, PeerFault
from wire import messages as m
from wire.abilities import Takes
from wire.credit import CreditWindows
from wire.errors import PeerError
from wire.fields import Headers
from wire.frames import Data
from wire.origin_request import OriginRequest
from wire.skeleton import LEVELS, Kind, Part, Use

MAX_ARRIVALS: Final = 16_384
"""Components on their way in that the remote may promise."""


class Demultiplexer:
    """The components that one session brings."""

    def __init__(
        self,
        memory: Memory,
        *,
        accepts: Collection[str],
        say: Callable[[m.Message], None],
        progressed: Callable[[Component, int], None],
        ended: Callable[[int], object],
        ask: Callable[[Arrival], None],
        dictionaries: Dictionaries,
        windows: CreditWindows | None = None,
    ) -> None:
        """`accepts`: codings that whoever shows pictures undoes. `progressed`: see
        local_proxy.link.session.Listener. `ended` is told that nothing more goes up for a
        component; `ask` asks for the rest of one. `dictionaries`: texts that are here. `windows`:
        of the session's credit."""
        self._windows = windows
        self._dictionaries = dictionaries
        self._memory = memory
        self._accepts = accepts
        self._say = say
        self._progressed = progressed
        self._ended = ended
        self._ask = ask
        self._arrivals: dict[int, Arrival] = {}

    def __len__(self) -> int:
        return len(self._arrivals)

    def __contains__(self, component: int) -> bool:
        return component in self._arrivals

    def get(self, component: int) -> Arrival | None:
        return self._arrivals.get(component)

    def values(self) -> Iterable[Arrival]:
        return self._arrivals.values()

    def of(self, document: int) -> list[Component]:
        """What is on its way of a document."""
        arriving = (arrival.component for arrival in self._arrivals.values())
        return [component for component in arriving if component.document == document]

    def expect(self, arrival: Arrival) -> None:
        """It was asked for, or promised."""
        self._arrivals[arrival.component.id] = arrival
        arrival.component.on_consumed = lambda _: self._consumed(arrival)

    def promise(
        self, components: Iterable[Component], headers: Headers, asked: AskedDocument
    ) -> None:
        """The remote sends these unasked. Raises PeerError for too many, or one twice."""
        treatment = asked.treatment
        for component in components:
            if len(self._arrivals) >= MAX_ARRIVALS:
                raise PeerError(f"more than {MAX_ARRIVALS} components at a time")
            if component.id in self._arrivals:
                raise PeerError(f"component {component.id} was promised twice")
            levels = component.kind is Kind.IMAGE and treatment is not m.Treatment.ORIGINAL
            request = OriginRequest(
                *("GET", component.url, headers),
                levels=levels,
                treatment=treatment,
                application=asked.application,
            )
            self.expect(Arrival(component, request))

    def place(self, parts: Iterable[Part]) -> list[Component]:
        """What these are in their documents, of what was asked for: those that are on their way."""
        placed = []
        for part in parts:
            arrival = self._arrivals.get(part.component)
            if arrival is None or arrival.component.promised or part.use is not Use.ELEMENT:
                continue
            component = arrival.component
            component.kind, component.use = part.kind, part.use
            component.order, component.width, component.height = part.order, part.width, part.height
            placed.append(component)
        return placed

    def cancel(
        self, component: Component, *, status: int = 499, reason: str = "nobody wanted this"
    ) -> None:
        """Nobody wants it any more; who reads it all the same is told that it ends here. Where all
        of it is here the remote still waits for what was going up."""
        cut = self._ended(component.id)
        if self._arrivals.pop(component.id, None) is None:
            if cut:
                self._say(m.Reset(component.id, reason))
        else:
            self._say(m.Cancel(component.id))
            self._close_node(component.document)
            self._fail(component, ComponentFailed(status, reason))

    def close_document(self, document: int) -> None:
        """The document's window is gone, and its promises with it.

        What was asked for goes on: a download outlives its page, and who asked for a part of the
        page says himself that he has left. The node closes with the last of these.
        """
        self._memory.close_document(document)
        for component in self.of(document):
            if not component.has_client:
                self.cancel(component)
        self._close_node(document)

    def _close_node(self, document: int) -> None:
        """Tell the remote, once, that nothing of a closed document is under way any more."""
        told = self._memory.closed.get(document, True)
        if not told and not self.of(document):
            self._memory.closed[document] = True
            self._say(m.CloseDocument(document))

    def lost(self, error: LinkError | None) -> None:
        """The link is gone; what was coming waits for another session, if it may be asked again."""
        arrivals, self._arrivals = self._arrivals, {}
        for arrival in arrivals.values():
            if arrival.last or arrival.failure is not None:
                continue  # all of it is here, its reader will take it
            if not arrival.request.repeatable:
                self._lose(arrival, ComponentFailed(504, NOT_REPEATED))
            elif isinstance(error, LinkExpired) or arrival.in_parts:
                self._lose(arrival, ComponentFailed(504, LOST))
            elif isinstance(error, PeerFault):
                reason = f"the remote proxy broke the protocol: {error}"
                self._lose(arrival, ComponentFailed(502, reason))
            else:
                arrival.begin_again()
                self._memory.orphans.append(arrival)

    def _lose(self, arrival: Arrival, failure: ComponentFailed) -> None:
        if arrival.waiting:
            arrival.failure = failure
        else:
            self._fail(arrival.component, failure)

    # -- what the remote says of one ------------------------------------------------------------

    def levels(self, message: m.Levels) -> None:
        """Raises PeerError where they can't be."""
        arrival = self._arrivals.get(message.component)
        if arrival is None:
            return
        component = arrival.component
        if arrival.headed and not arrival.unsettled:
            raise PeerError(f"levels of component {message.component} after its head")
        told = Told.of(message, accepts=self._accepts)
        if not told.fit(component):
            self.cancel(component, status=502, reason=CHANGED)
            return
        arrival.unsettled = told.unsettled
        told.settle(component)
        self._changed(component)

    def package(self, message: m.Package) -> list[Component]:
        """A document comes in parts; the components of the parts, which need no head.

        Raises PeerError if nobody wants that.
        """
        arrival = self._arrivals.get(message.document)
        if arrival is None:
            return []
        own, request = arrival.component, arrival.request
        if not request.takes & Takes.PACKAGE or own.on_package is None or arrival.headed:
            raise PeerError(f"component {own.id} can't come in parts")
        arrival.in_parts = True
        kinds = [slice_.kind for slice_ in message.slices]
        components = []
        for order, kind in enumerate(kinds if message.more else [*kinds, Kind.OTHER], 1):
            id_ = message.first + 2 * (order - 1)
            use = Use.ELEMENT if kind is Kind.IMAGE else Use.OTHER
            part = Component(id_, own.id, f"{own.url}#{id_}", kind, use, order, promised=True)
            components.append(part)
        self.promise(components, request.headers, AskedDocument.of(request))
        for part in components:
            self._arrivals[part.id].in_parts = True
        own.on_package(message, components)
        return components

    def head(self, message: m.Head, headers: Headers) -> None:
        """Raises PeerError for an unknown coding."""
        arrival = self._arrivals.get(message.component)
        if arrival is None:
            return
        component = arrival.component
        if message.coding not in ("", "br", "zstd"):
            raise PeerError(f"unknown coding {message.coding!r}")
        dictionary = None
        if message.coding == "zstd":
            dictionary = self._dictionary(message, arrival)
            if dictionary is None:
                self._ask_anew(arrival)
                return
        length = message.length if message.length >= 0 else None
        head = OriginHead(message.status, headers, length, message.final_url)
        if not fits(component, head):
            self.cancel(component, status=502, reason=CHANGED)
            return
        arrival.headed, arrival.stale = True, False
        if message.coding:
            arrival.decode(dictionary)
        if not component.received:
            component.head = head
            component.dictionary = (message.dictionary or b"") if dictionary else b""
            arrival.gathering = self._dictionaries.begin(
                *(component, arrival.request, head), text=bool(message.coding)
            )
            self._changed(component)

    def _dictionary(self, message: m.Head, arrival: Arrival) -> bytes | None:
        """The text that an answer was coded against; None: it is not here. Raises PeerError where
        none can have been named."""
        component = arrival.component
        if component.received or arrival.without_dictionary:
            raise PeerError(f"component {component.id} is coded against what was not named")
        named = message.dictionary or b""
        return self._dictionaries.find(named, component, arrival.request)

    def _ask_anew(self, arrival: Arrival) -> None:
        """It was coded against a text that is gone: once more, by itself. A round trip, no wrong
        byte."""
        self._say(m.Cancel(arrival.component.id))
        arrival.begin_again()
        arrival.stale = arrival.without_dictionary = True
        arrival.request = replace(arrival.request, dictionaries=b"")
        self._ask(arrival)

    def hint(self, message: m.Hint, headers: Headers) -> None:
        """An interim response, for who wants it; nothing, once the head is here."""
        arrival = self._arrivals.get(message.component)
        if arrival is None or arrival.component.head is not None:
            return
        if arrival.component.on_hint is not None:
            arrival.component.on_hint(message.status, headers)

    def trailers(self, message: m.Trailers, headers: Headers) -> None:
        """Fields behind its body, for who wants them."""
        arrival = self._arrivals.get(message.component)
        if arrival is not None and arrival.request.takes & Takes.TRAILERS:
            arrival.component.trailers = headers

    def script(self, message: m.Script) -> None:
        """What a script can do that is still to come."""
        arrival = self._arrivals.get(message.component)
        if arrival is not None:
            arrival.component.reads_pixels = message.reads_pixels
            self._progressed(arrival.component, 0)

    def end(self, id_: int, status: int, reason: str, *, retry: int = 0) -> None:
        """It will not be complete: the remote gives it up."""
        arrival = self._arrivals.get(id_)
        if arrival is not None:
            self._end(arrival, ComponentFailed(status, reason, retry=retry))

    def data(self, frame: Data) -> None:
        """Raises PeerError before the head, and beyond the credit."""
        arrival = self._arrivals.get(frame.component)
        if arrival is None:
            return  # cancelled while it was under way
        component = arrival.component
        if arrival.stale:
            return
        if not arrival.headed and not (arrival.in_parts and component.promised):
            raise PeerError(f"bytes of component {component.id} before its head")
        if frame.last and arrival.unsettled:
            raise PeerError(f"component {component.id} ends before all its levels are known")
        arrival.arrive(frame.payload, last=frame.last)
        self._absorb(arrival)
        self._progressed(component, len(frame.payload))

    # -- bytes, as their readers take them -------------------------------------------------------

    def _consumed(self, arrival: Arrival) -> None:
        """A reader went on: make room. What others may still ask for is kept, within reason."""
        component = arrival.component
        if shared_too_long(component):
            component.trim()
        if arrival.waiting:
            self._absorb(arrival)
            self._progressed(component, 0)
        else:
            self._give_credit(arrival)

    def _absorb(self, arrival: Arrival) -> None:
        component = arrival.component
        if component.failure is not None:
            return
        try:
            more = arrival.absorb()
        except TextError as error:
            self._give_up(arrival, ComponentFailed(502, str(error)))
            return
        if arrival.failure is not None and not arrival.waiting:
            self._give_up(arrival, arrival.failure)
            return
        if arrival.last and not arrival.waiting:
            self._complete(arrival)
        else:
            self._give_credit(arrival)
        if more or component.complete:
            component.notify()

    def _give_credit(self, arrival: Arrival) -> None:
        id_ = arrival.component.id
        if (
            arrival.failure is None
            and id_ in self._arrivals
            and (more := arrival.credit(self._windows))
        ):
            self._say(m.Credit(id_, more))

    def _complete(self, arrival: Arrival) -> None:
        if arrival.cut_short:
            self._give_up(arrival, ComponentFailed(502, "the text ended inside its coding"))
            return
        component = arrival.component
        self._arrivals.pop(component.id, None)  # gone already where the link has closed since
        component.complete = True
        if arrival.gathering is not None:
            gathered, came = arrival.gathering, arrival.came
            self._dictionaries.keep(component, arrival.request, gathered, came=came)
        if component.stopped:
            self._memory.stopped(arrival)
            if arrival.level and self._goes_on(arrival):
                return
        self._close_node(component.document)

    def _goes_on(self, arrival: Arrival) -> bool:
        """Whether more comes of a picture that ended short of the level that is wanted. One that
        went on and brought nothing is not asked for again: there may be no such level, and whoever
        waits for the last one is told."""
        id_, level = arrival.component.id, arrival.level
        if arrival.went_on != arrival.component.received:
            return self.refine(id_, level)
        arrival.level = ""
        if level == LEVELS[-1] and self._memory.stopped_short_of(id_, level):
            self._memory.take_stopped(id_).go_on(level)
            self._fail(arrival.component, ComponentFailed(502, "no finer level of it came"))
        return False

    def refine(self, id_: int, level: str) -> bool:
        """Bring a picture up to that level, which ended at a coarser one, or will; whether it can
        be."""
        arrival = self._arrivals.get(id_)
        if arrival is not None:
            arrival.level = level
        elif self._memory.stopped_short_of(id_, level):
            arrival = self._memory.take_stopped(id_)
            arrival.go_on(level)
            self.expect(arrival)
            self._ask(arrival)
            arrival.component.notify()
        return arrival is not None

    def _end(self, arrival: Arrival, failure: ComponentFailed) -> None:
        """No more will come of it. A reader that is behind gets what is here first."""
        if arrival.waiting:
            arrival.failure = failure
        else:
            self._give_up(arrival, failure)

    def _give_up(self, arrival: Arrival, failure: ComponentFailed) -> None:
        """It will not be complete."""
        component = arrival.component
        self._arrivals.pop(component.id, None)
        self._ended(component.id)
        self._close_node(component.document)
        self._fail(component, failure)

    def _fail(self, component: Component, failure: ComponentFailed) -> None:
        component.failure = failure
        self._changed(component)

    def _changed(self, component: Component) -> None:
        component.notify()
        self._progressed(component, 0)


def promised(document: int, part: Part) -> Component:
    """What a line of a skeleton promises, nothing of it here yet."""
    return Component(
        id=part.component,
        document=document,
        url=part.url,
        kind=part.kind,
        use=part.use,
        order=part.order,
        width=part.width,
        height=part.height,
        promised=True,
    )
