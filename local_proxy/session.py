"""The local side of one link: requests and commands out, components in.

Fills `Component` objects as their bytes come and tells one listener what happened. Knows nothing
of HTTP fronts, promises or policies (core.py joins them).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from hats.hierarchy import Hierarchy
from hats.multiplexer import Multiplexer
from hats.registry import create
from local_proxy.components import Component, ComponentFailed, Head
from transcoders.text import TextDecoder, TextError
from transport.link import Link, LinkError
from transport.outbox import TreeOutbox
from transport.outgoing import Budget, Outgoing
from wire import messages as m
from wire.credit import ReceiveCredit
from wire.errors import PeerError, WireError
from wire.frames import Control, Data
from wire.session import Headers, Session, Side, State
from wire.skeleton import Part

AGENT: Final = "sluice"
UPLOAD_QUANTUM: Final = 512
"""Bytes; uplinks of slow links are thin, and requests must not wait behind an upload."""
TALK_WEIGHT: Final = 8.0
"""Of a tunnel in which two ends talk, against 1 of an upload: its few bytes go next."""
UPLOAD_MEMORY: Final = 8 * 1024 * 1024
MAX_UNREAD: Final = 1 << 20
"""Bytes of a component without levels that may wait unread before its sender is stopped."""
MAX_SHARED: Final = 4 << 20
"""Bytes of a promise without levels up to which it is kept for a second request."""
MAX_DECODED: Final = 1 << 40
"""Bytes that one coded text may decode to: memory is bounded by MAX_UNREAD, not by this."""
SLICE: Final = 256
"""Bytes of coded text that are decoded at a time."""
MAX_ARRIVALS: Final = 16_384
"""Components on their way in that the remote may promise."""
MAX_CLOSED: Final = 1024
"""Closed documents remembered: late word of them must not be taken for new."""
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


@dataclass(eq=False, slots=True)
class _Arrival:
    """A component on its way in."""

    component: Component
    credit: ReceiveCredit = field(default_factory=ReceiveCredit)
    uncredited: int = 0
    """Link bytes that came and were not yet counted as consumed."""
    decoder: TextDecoder | None = None
    waiting: bytearray = field(default_factory=bytearray)
    """Bytes as they came, which the reader is too far behind to be given. Bounded by credit."""
    last: bool = False
    """All have come."""


class LocalSession:
    """One session over one link."""

    def __init__(self, link: Link, listener: Listener, *, device: str, first_id: int = 1) -> None:
        """`first_id`: odd; ids name documents, which outlive the session."""
        self._link = link
        self._listener = listener
        self.session = Session(Side.LOCAL, agent=AGENT, device=device, first_component=first_id)
        hierarchy = Hierarchy(root=create("wf2q_plus", {}))
        self._uploads = hierarchy
        self.outbox = TreeOutbox(
            self.session,
            hierarchy,
            Multiplexer(hierarchy, quantum=UPLOAD_QUANTUM),
            Budget(UPLOAD_MEMORY),
            wake=link.wake,
        )
        self._arrivals: dict[int, _Arrival] = {}
        self._closed_documents: dict[int, bool] = {}
        """Closed in this session, the latest last, and whether the remote has been told."""
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
    ) -> None:
        """Ask for a component; its bytes will fill it. `tls`: see wire.messages.Request."""
        self._arrivals[component.id] = self._arrival(component)
        self.say(
            m.Request(
                component.id,
                component.document,
                method,
                component.url,
                b"",
                body=body,
                levels=levels,
                tls=tls,
            ),
            headers,
        )

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
        self._closed_documents[document] = False
        while len(self._closed_documents) > MAX_CLOSED:
            del self._closed_documents[next(iter(self._closed_documents))]
        for component in self._arriving(document):
            if component.promised:
                self.cancel(component)
        self._close_node(document)

    def _arriving(self, document: int) -> list[Component]:
        arriving = (arrival.component for arrival in self._arrivals.values())
        return [component for component in arriving if component.document == document]

    def _close_node(self, document: int) -> None:
        """Tell the remote, once, that nothing of a closed document is under way any more."""
        told = self._closed_documents.get(document, True)
        if not told and not self._arriving(document):
            self._closed_documents[document] = True
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
            self._link.close(LinkError(str(error)))
        self._link.wake()

    def link_closed(self, error: LinkError | None) -> None:
        """The link is gone, and with it what was coming."""
        self.session.link_lost()
        for arrival in self._arrivals.values():
            if arrival.last:
                continue  # all of it is here, its reader will take it
            self._fail(arrival.component, 504, "the link to the remote proxy was lost")
        self._arrivals.clear()
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
        if message.document in self._closed_documents:
            for part in message.parts:  # it was under way when the document closed
                self.say(m.Cancel(part.component))
            return
        components = [self._component(message.document, part) for part in message.parts]
        if message.promised:
            for component in components:
                if len(self._arrivals) >= MAX_ARRIVALS:
                    raise PeerError(f"more than {MAX_ARRIVALS} components at a time")
                if component.id in self._arrivals:
                    raise PeerError(f"component {component.id} was promised twice")
                self._arrivals[component.id] = self._arrival(component)
        self._listener.skeleton_grew(message.document, components, headers, message.promised)

    def _on_levels(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Levels)
        arrival = self._arrivals.get(message.component)
        if arrival is None:
            return
        if arrival.component.received or arrival.component.trimmed:
            raise PeerError(f"levels of component {message.component} after its first byte")
        if any(not 0 <= level.start <= level.end <= message.length for level in message.levels):
            raise PeerError(f"levels of component {message.component} do not fit its length")
        arrival.component.levels = tuple(message.levels)
        self._changed(arrival.component)

    def _on_head(self, message: m.Message, headers: Headers) -> None:
        assert isinstance(message, m.Head)
        arrival = self._arrivals.get(message.component)
        if arrival is None:
            return
        if message.coding not in ("", "br"):
            raise PeerError(f"unknown coding {message.coding!r}")
        if message.coding:
            arrival.decoder = TextDecoder(max_bytes=MAX_DECODED)
        length = message.length if message.length >= 0 else None
        arrival.component.head = Head(message.status, headers, length, message.final_url)
        self._changed(arrival.component)

    def _on_failed(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Failed)
        self._end(message.component, message.status, message.reason)

    def _on_reset(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Reset)
        self._end(message.component, 502, message.reason)

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
        if component.head is None:
            raise PeerError(f"bytes of component {component.id} before its head")
        arrival.credit.arrive(len(frame.payload))
        arrival.waiting += frame.payload
        arrival.last = frame.last
        self._absorb(arrival)
        self._listener.progressed(component, len(frame.payload))

    # -- arrivals ------------------------------------------------------------------------------

    def _arrival(self, component: Component) -> _Arrival:
        arrival = _Arrival(component)
        component.on_consumed = lambda _amount: self._consumed(arrival)
        return arrival

    def _consumed(self, arrival: _Arrival) -> None:
        """A reader went on: make room. What others may still ask for is kept, within reason."""
        component = arrival.component
        if not component.promised or component.received > MAX_SHARED:
            component.trim()
        if arrival.waiting:
            self._absorb(arrival)
            if component.complete:
                self._listener.progressed(component, 0)
        else:
            self._give_credit(arrival)

    @staticmethod
    def _component(document: int, part: Part) -> Component:
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

    def _absorb(self, arrival: _Arrival) -> None:
        """Bytes that came become bytes of the component, but not far ahead of its reader.

        Coded text is taken in slices: a few bytes of it can stand for very many.
        """
        component = arrival.component
        if component.failure is not None:
            return
        at, waiting = 0, arrival.waiting
        try:
            while at < len(waiting) and (component.levels or component.unread < MAX_UNREAD):
                slice_ = bytes(waiting[at : at + SLICE]) if arrival.decoder else bytes(waiting)
                component.data += arrival.decoder.decode(slice_) if arrival.decoder else slice_
                at += len(slice_)
        except TextError as error:
            waiting.clear()
            if component.id in self._arrivals:
                self._end(component.id, 502, str(error))
            else:  # the link has closed since
                self._fail(component, 502, str(error))
            return
        del waiting[:at]
        arrival.uncredited += at
        if arrival.last and not waiting:
            self._complete(arrival)
        else:
            self._give_credit(arrival)
        if at or component.complete:
            component.notify()

    def _give_credit(self, arrival: _Arrival) -> None:
        """Pictures are kept whole; of all else only so much may wait unread."""
        component = arrival.component
        if component.id not in self._arrivals:
            return
        if component.levels or component.unread < MAX_UNREAD:
            more = arrival.credit.consume(arrival.uncredited)
            arrival.uncredited = 0
            if more:
                self.say(m.Credit(component.id, more))

    def _complete(self, arrival: _Arrival) -> None:
        component = arrival.component
        self._arrivals.pop(component.id, None)  # gone already where the link has closed since
        if arrival.decoder is not None and not arrival.decoder.finished:
            self._close_node(component.document)
            self._fail(component, 502, "the text ended inside its coding")
            return
        component.complete = True
        self._close_node(component.document)

    def _end(self, id_: int, status: int, reason: str) -> None:
        arrival = self._arrivals.pop(id_, None)
        if arrival is not None:
            self.outbox.drop(id_)
            self._close_node(arrival.component.document)
            self._fail(arrival.component, status, reason)

    def _fail(self, component: Component, status: int, reason: str) -> None:
        component.failure = ComponentFailed(status, reason)
        self._changed(component)

    def _changed(self, component: Component) -> None:
        component.notify()
        self._listener.progressed(component, 0)
