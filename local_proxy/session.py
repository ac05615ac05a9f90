"""The local side of one link: requests and commands out, components in.

Fills `Component` objects as their bytes come and tells one listener what happened. Knows nothing
of HTTP fronts, promises or policies (core.py joins them).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import structlog

from hats.hierarchy import Hierarchy
from hats.multiplexer import Multiplexer
from hats.registry import create
from local_proxy.arrivals import Arrival, Asked, shared_too_long
from local_proxy.components import Component, ComponentFailed, Head
from local_proxy.resumption import CHANGED, LOST, NOT_REPEATED, Memory, fits
from transcoders.text import TextError
from transport.link import Link, LinkError, LinkExpired, PeerFault
from transport.outbox import TreeOutbox
from transport.outgoing import Budget, Outgoing
from wire import messages as m
from wire.errors import PeerError, WireError
from wire.frames import Control, Data
from wire.session import Headers, Session, Side, State
from wire.skeleton import Kind, Part

AGENT: Final = "sluice"
UPLOAD_QUANTUM: Final = 512
"""Bytes; uplinks of slow links are thin, and requests must not wait behind an upload."""
TALK_WEIGHT: Final = 8.0
"""Of a tunnel in which two ends talk, against 1 of an upload: its few bytes go next."""
UPLOAD_MEMORY: Final = 8 * 1024 * 1024
MAX_ARRIVALS: Final = 16_384
"""Components on their way in that the remote may promise."""
_log = structlog.get_logger("sluice.local")


class Listener(Protocol):
    """Who is told what happens on the link. Called from the event loop; must not raise."""

    def session_opened(self, session: LocalSession) -> None: ...

    def skeleton_grew(
        self, document: int, components: list[Component], headers: Headers, promised: bool
    ) -> None: ...

    def progressed(self, component: Component, amount: int) -> None:
        """`amount` bytes of it came over the link; 0: its head, levels, end or failure."""

    def session_closed(self, session: LocalSession, error: LinkError | None) -> None: ...


class LocalSession:
    """One session over one link."""

    def __init__(
        self,
        link: Link,
        listener: Listener,
        memory: Memory,
        *,
        device: str,
        first_id: int = 1,
        accepts: Sequence[str] = (),
        patience: float = 0.0,
    ) -> None:
        """`first_id`: odd; ids name documents, which outlive the session, as `memory` does.

        `accepts`: codings of pictures that whoever shows them undoes. `patience`: seconds for
        which the link may be without a connection; the remote is told.
        """
        self._link = link
        self._listener = listener
        self._memory = memory
        self._accepts = tuple(accepts)
        self.session = Session(
            Side.LOCAL,
            agent=AGENT,
            device=device,
            first_component=first_id,
            first_promise=memory.next_promise,
            accepts=accepts,
            patience=math.ceil(patience),
        )
        hierarchy = Hierarchy(root=create("wf2q_plus", {}))
        self._uploads = hierarchy
        self.outbox = TreeOutbox(
            self.session,
            hierarchy,
            Multiplexer(hierarchy, quantum=UPLOAD_QUANTUM),
            Budget(UPLOAD_MEMORY),
            wake=link.wake,
        )
        self._arrivals: dict[int, Arrival] = {}
        self.closed: asyncio.Future[LinkError | None] = asyncio.get_running_loop().create_future()
        self._handlers: dict[type[m.Message], Callable[[m.Message, Headers], None]] = {
            m.Hello: self._on_hello,
            m.Skeleton: self._on_skeleton,
            m.Levels: self._on_levels,
            m.Head: self._on_head,
            m.Failed: self._on_failed,
            m.Reset: self._on_reset,
            m.Credit: self._on_credit,
            m.Ping: self._on_ping,
            m.Pong: lambda message, headers: None,
            m.Goodbye: self._on_goodbye,
        }

    @property
    def open(self) -> bool:
        """Whether requests can be sent and answered."""
        return self.session.state is State.OPEN

    @property
    def link(self) -> Link:
        """The link below, for its statistics."""
        return self._link

    @property
    def expecting(self) -> bool:
        """Whether anything is on its way in."""
        return bool(self._arrivals)

    def ping(self) -> None:
        """Have the remote answer."""
        self.say(m.Ping(0))

    def start(self) -> None:
        """Begin: say hello and listen."""
        self._link.start(self.outbox, self)

    def close(self) -> None:
        """End the session on purpose."""
        self._link.close()

    # -- out -----------------------------------------------------------------------------------

    def new_id(self) -> int:
        """An id for a request, and for the document that it opens."""
        return self.session.new_component()

    def request(
        self,
        component: Component,
        *,
        method: str,
        headers: Headers,
        body: bool,
        levels: bool,
        tls: bool = False,
        treatment: m.Treatment = m.Treatment.ADAPTED,
    ) -> None:
        """Ask for a component; its bytes will fill it. More: see wire.messages.Request."""
        asked = Asked(method, headers, body, levels, tls, treatment)
        if component.id == component.document:
            self._memory.document_asked(component.id, headers, treatment)
        self._expect(Arrival(component, asked))
        self._ask(component, asked, None)

    def _ask(self, component: Component, asked: Asked, resume: m.Resume | None) -> None:
        self.say(
            m.Request(
                component.id,
                component.document,
                asked.method,
                component.url,
                b"",
                body=asked.body,
                levels=asked.levels,
                resume=resume,
                tls=asked.tls,
                treatment=asked.treatment,
            ),
            asked.headers,
        )

    def take_over(self) -> None:
        """Ask for the rest of what an earlier session was bringing. Before any other request."""
        for arrival in self._memory.take():
            self._expect(arrival)
            self._ask(arrival.component, arrival.asked, self._memory.resume(arrival))

    def upload(self, component: int, *, tunnel: bool = False) -> Outgoing:
        """The way up for a request's body, or the input of a tunnel in which two ends talk."""
        weight = TALK_WEIGHT if tunnel else 1.0
        leaf = self._uploads.attach(self._uploads.root, str(component), weight=weight)
        return self.outbox.open(component, leaf)

    def set_talk(self, up: Outgoing, talks: bool) -> None:
        """Whether a tunnel's input is talk, which goes before uploads, or a transfer."""
        if up.leaf.attached:
            self._uploads.set_weight(up.leaf, TALK_WEIGHT if talks else 1.0)

    @property
    def rate_up(self) -> float | None:
        """Bytes/second towards the remote; None: not measured yet."""
        estimate = self._link.statistics().outgoing
        return None if estimate is None else estimate.rate

    def cut_upload(self, component: int, reason: str) -> None:
        """The rest of a body that was going up will not come."""
        if self.outbox.drop(component):
            self.say(m.Reset(component, reason))

    def cancel(
        self, component: Component, *, status: int = 499, reason: str = "nobody wanted this"
    ) -> None:
        """Nobody wants it any more; who reads it all the same is told that it ends here."""
        self.outbox.drop(component.id)
        if self._arrivals.pop(component.id, None) is not None:
            self.say(m.Cancel(component.id))
            self._close_node(component.document)
            self._fail(component, status, reason)

    def call_off(self, component: int) -> None:
        """A policy wants it stopped for good; one that is not under way is ignored."""
        arrival = self._arrivals.get(component)
        if arrival is not None:
            self.cancel(arrival.component, status=403, reason="A policy called this off.")

    def close_document(self, document: int) -> None:
        """The document's window is gone, and its promises with it.

        What was asked for goes on: a download outlives its page, and who asked for a part of the
        page says himself that he has left. The node closes with the last of these.
        """
        self._memory.close_document(document)
        for component in self._arriving(document):
            if component.promised:
                self.cancel(component)
        self._close_node(document)

    def _arriving(self, document: int) -> list[Component]:
        arriving = (arrival.component for arrival in self._arrivals.values())
        return [component for component in arriving if component.document == document]

    def _close_node(self, document: int) -> None:
        """Tell the remote, once, that nothing of a closed document is under way any more."""
        told = self._memory.closed.get(document, True)
        if not told and not self._arriving(document):
            self._memory.closed[document] = True
            self.say(m.CloseDocument(document))

    def say(self, message: m.Message, headers: Headers | None = None) -> None:
        """Queue a control message."""
        self.session.enqueue(message, headers)
        self._link.wake()

    # -- transport.link.Inbox ------------------------------------------------------------------

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        """Frames of the remote proxy. A peer that breaks the protocol loses the link."""
        try:
            for frame in frames:
                if isinstance(frame, Data):
                    self._on_data(frame)
                else:
                    message, headers = self.session.receive(frame.payload)
                    self._handlers[type(message)](message, headers)
        except WireError as error:
            _log.warning("the remote proxy broke the protocol", error=str(error))
            self._link.close(PeerFault(str(error)))
        self._link.wake()

    def link_closed(self, error: LinkError | None) -> None:
        """The link is gone; what was coming waits for another session, if it may be asked again."""
        self.session.link_lost()
        arrivals, self._arrivals = self._arrivals, {}
        for arrival in arrivals.values():
            if arrival.last:
                continue  # all of it is here, its reader will take it
            if not arrival.asked.repeatable:
                self._fail(arrival.component, 504, NOT_REPEATED)
            elif isinstance(error, LinkExpired):
                self._fail(arrival.component, 504, LOST)
            elif isinstance(error, PeerFault):
                self._fail(arrival.component, 502, f"the remote proxy broke the protocol: {error}")
            else:
                arrival.begin_again()
                self._memory.orphans.append(arrival)
        for outgoing in self.outbox.components():
            self.outbox.drop(outgoing.component)
        if not self.closed.done():
            self.closed.set_result(error)
        self._listener.session_closed(self, error)

    # -- messages ------------------------------------------------------------------------------

    def _on_hello(self, message: m.Message, _: Headers) -> None:
        self._listener.session_opened(self)

    def _on_skeleton(self, message: m.Message, headers: Headers) -> None:
        assert isinstance(message, m.Skeleton)
        if message.document in self._memory.closed:
            for part in message.parts:  # it was under way when the document closed
                self.say(m.Cancel(part.component))
            return
        components = [_promised(message.document, part) for part in message.parts]
        treatment = self._memory.treatment(message.document)
        original = treatment is m.Treatment.ORIGINAL
        if message.promised:
            for component in components:
                if len(self._arrivals) >= MAX_ARRIVALS:
                    raise PeerError(f"more than {MAX_ARRIVALS} components at a time")
                if component.id in self._arrivals:
                    raise PeerError(f"component {component.id} was promised twice")
                levels = component.kind is Kind.IMAGE and not original
                asked = Asked("GET", headers, body=False, levels=levels, treatment=treatment)
                self._expect(Arrival(component, asked))
            self._memory.promised(message.document, components)
        self._listener.skeleton_grew(message.document, components, headers, message.promised)

    def _on_levels(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Levels)
        arrival = self._arrivals.get(message.component)
        if arrival is None:
            return
        if arrival.headed:
            raise PeerError(f"levels of component {message.component} after its head")
        if any(not 0 <= level.start <= level.end <= message.length for level in message.levels):
            raise PeerError(f"levels of component {message.component} do not fit its length")
        component, levels = arrival.component, tuple(message.levels)
        if component.received and component.levels != levels:
            self.cancel(component, status=502, reason=CHANGED)
            return
        component.levels = levels
        self._changed(component)

    def _on_head(self, message: m.Message, headers: Headers) -> None:
        assert isinstance(message, m.Head)
        arrival = self._arrivals.get(message.component)
        if arrival is None:
            return
        component = arrival.component
        coding = message.coding if message.coding != "br" else ""
        if coding and (coding not in self._accepts or not component.levels):
            raise PeerError(f"unknown coding {message.coding!r}")
        length = message.length if message.length >= 0 else None
        head = Head(message.status, headers, length, message.final_url)
        if not fits(component, head) or (component.head and coding != component.coding):
            self.cancel(component, status=502, reason=CHANGED)
            return
        arrival.headed = True
        if message.coding == "br":
            arrival.decode()
        component.coding = coding
        if not component.received:
            component.head = head
            self._changed(component)

    def _on_failed(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Failed)
        self._ended(message.component, message.status, message.reason)

    def _on_reset(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Reset)
        self._ended(message.component, 502, message.reason)

    def _ended(self, id_: int, status: int, reason: str) -> None:
        arrival = self._arrivals.get(id_)
        if arrival is not None:
            self._end(arrival, status, reason)

    def _on_credit(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Credit)
        outgoing = self.outbox.get(message.component)
        if outgoing is not None:
            outgoing.grant(message.bytes)

    def _on_ping(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Ping)
        self.say(m.Pong(message.token))

    def _on_goodbye(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Goodbye)
        _log.info("the remote proxy said goodbye", reason=message.reason)
        self._link.close()

    def _on_data(self, frame: Data) -> None:
        arrival = self._arrivals.get(frame.component)
        if arrival is None:
            return  # cancelled while it was under way
        component = arrival.component
        if not arrival.headed:
            raise PeerError(f"bytes of component {component.id} before its head")
        arrival.arrive(frame.payload, last=frame.last)
        self._absorb(arrival)
        self._listener.progressed(component, len(frame.payload))

    # -- arrivals ------------------------------------------------------------------------------

    def _expect(self, arrival: Arrival) -> None:
        self._arrivals[arrival.component.id] = arrival
        arrival.component.on_consumed = lambda _: self._consumed(arrival)

    def _consumed(self, arrival: Arrival) -> None:
        """A reader went on: make room. What others may still ask for is kept, within reason."""
        component = arrival.component
        if shared_too_long(component):
            component.trim()
        if arrival.waiting:
            self._absorb(arrival)
            if component.complete:
                self._listener.progressed(component, 0)
        else:
            self._give_credit(arrival)

    def _absorb(self, arrival: Arrival) -> None:
        component = arrival.component
        if component.failure is not None:
            return
        try:
            more = arrival.absorb()
        except TextError as error:
            self._end(arrival, 502, str(error))
            return
        if arrival.last and not arrival.waiting:
            self._complete(arrival)
        else:
            self._give_credit(arrival)
        if more or component.complete:
            component.notify()

    def _give_credit(self, arrival: Arrival) -> None:
        id_ = arrival.component.id
        if id_ in self._arrivals and (more := arrival.credit()):
            self.say(m.Credit(id_, more))

    def _complete(self, arrival: Arrival) -> None:
        if arrival.cut_short:
            self._end(arrival, 502, "the text ended inside its coding")
            return
        component = arrival.component
        self._arrivals.pop(component.id, None)  # gone already where the link has closed since
        component.complete = True
        self._close_node(component.document)

    def _end(self, arrival: Arrival, status: int, reason: str) -> None:
        """It will not be complete."""
        component = arrival.component
        self._arrivals.pop(component.id, None)
        self.outbox.drop(component.id)
        self._close_node(component.document)
        self._fail(component, status, reason)

    def _fail(self, component: Component, status: int, reason: str) -> None:
        component.failure = ComponentFailed(status, reason)
        self._changed(component)

    def _changed(self, component: Component) -> None:
        component.notify()
        self._listener.progressed(component, 0)


def _promised(document: int, part: Part) -> Component:
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
