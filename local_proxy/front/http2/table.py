"""The streams of one HTTP/2 connection: what h2 says becomes of them what it must (RFC 9113, 5).

h2 knows the frames, streams.py one stream; this has the table of them, begins an exchange for
each and ends it when its client resets it. Must not know: sockets, how long a client may take.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from h2 import events as e
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from hyperframe.frame import ExtensionFrame

from local_proxy.front.http2.exchange import Http2Exchange
from local_proxy.front.http2.flood import FrameMeter
from local_proxy.front.http2.head import EncodedFields, Malformed, check_trailers
from local_proxy.front.http2.priority import (
    DEFAULT,
    DEFAULT_WEIGHT,
    PRIORITY_UPDATE,
    ResponsePriority,
    parse_priority,
    parse_update,
    urgency_of_weight,
)
from local_proxy.front.http2.settings import MAX_STREAMS
from local_proxy.front.http2.streams import Http2Stream
from local_proxy.front.http2.writer import Http2Writer
from local_proxy.http.client_stream import ClientStream


class Over(Exception):
    """The connection ends, for this reason."""

    def __init__(self, code: ErrorCodes, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class StreamTable:
    """All streams that are not over on both sides (local_proxy.front.http2.streams.Carrier)."""

    def __init__(
        self,
        http: H2Connection,
        client: ClientStream,
        exchange: Http2Exchange,
        meter: FrameMeter,
        *,
        idle: Callable[[], None],
    ) -> None:
        """`idle` is told when the last stream has gone."""
        self._http = http
        self._client = client
        self._exchange = exchange
        self._meter = meter
        self._idle = idle
        self.writer = Http2Writer(http, client, piece_sent=self._piece_sent)
        self._streams: dict[int, Http2Stream] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._at_birth: e.PriorityUpdated | None = None
        """What the newest stream's HEADERS frame said in RFC 7540's way."""
        self._early: dict[int, ResponsePriority] = {}
        """Priorities of streams that are still to come."""

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def local_address(self) -> tuple[str, int] | None:
        """Address and port of ours that the client connected to; None: unknown."""
        return self._client.local_address

    @property
    def peer_address(self) -> tuple[str, int] | None:
        """Address and port of the client; None: unknown."""
        return self._client.peer_address

    @property
    def pending(self) -> int:
        """Bytes of responses that streams hold."""
        return sum(stream.pending for stream in self._streams.values())

    async def end(self) -> None:
        """End all of them, and their exchanges."""
        for stream in list(self._streams.values()):
            self._forget(stream)
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- what h2 says ------------------------------------------------------------------------

    def happened(self, event: e.Event, now: float) -> None:
        """One of h2's events. Raises Over where the connection can't go on."""
        handler = self._HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event, now)

    def _on_request(self, event: e.RequestReceived, now: float) -> None:
        fields: EncodedFields = list(event.headers)
        number = event.stream_id
        early = self._early.pop(number, None)
        stream = Http2Stream(self, number, _priority(fields) if early is None else early)
        if event.stream_ended is not None:
            stream.end_received()
        self._streams[number] = stream
        self._at_birth = event.priority_updated
        task = asyncio.create_task(self._exchange.run(stream, fields), name="http2 exchange")
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._exchanged(stream))

    def _on_data(self, event: e.DataReceived, now: float) -> None:
        stream = self._streams.get(event.stream_id)
        if stream is None:
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        else:
            stream.received(event.data, event.flow_controlled_length)

    def _on_trailers(self, event: e.TrailersReceived, now: float) -> None:
        try:
            check_trailers(list(event.headers))
        except Malformed:
            stream = self._streams.get(event.stream_id)
            if stream is not None:
                stream.abort(ErrorCodes.PROTOCOL_ERROR)

    def _on_end(self, event: e.StreamEnded, now: float) -> None:
        stream = self._streams.get(event.stream_id)
        if stream is not None and not stream.ended:
            stream.end_received()
            self._settle(stream)

    def _on_reset(self, event: e.StreamReset, now: float) -> None:
        if not event.remote_reset:
            self._meter.resets.take(now)  # a client can make us reset streams just as well
        stream = self._streams.get(event.stream_id)
        if stream is not None:
            self._forget(stream)
            self._stop(stream)

    def _on_unknown(self, event: e.UnknownFrameReceived, now: float) -> None:
        frame = event.frame
        if not isinstance(frame, ExtensionFrame) or frame.type != PRIORITY_UPDATE:
            return
        if frame.stream_id:
            raise self._broken("PRIORITY_UPDATE on a stream")
        update = parse_update(frame.body)
        if update is None:
            raise self._broken("malformed PRIORITY_UPDATE")
        number, priority = update
        stream = self._streams.get(number)
        if stream is not None:
            self._reprioritise(stream, priority)
        elif number > self._http.highest_inbound_stream_id and len(self._early) < MAX_STREAMS:
            self._early[number] = priority

    def _on_priority(self, event: e.PriorityUpdated, now: float) -> None:
        """A PRIORITY frame, by which Chromium says what changed (it sends no PRIORITY_UPDATE).

        Not what a HEADERS frame carries: `priority` fields say that better.
        """
        stream = self._streams.get(event.stream_id or 0)
        if stream is not None and event is not self._at_birth:
            urgency = urgency_of_weight(event.weight or DEFAULT_WEIGHT)
            self._reprioritise(stream, replace(stream.priority, urgency=urgency))

    def _on_goodbye(self, event: e.ConnectionTerminated, now: float) -> None:
        raise Over(ErrorCodes.NO_ERROR, "the client said goodbye")

    @staticmethod
    def _broken(reason: str) -> Over:
        return Over(ErrorCodes.PROTOCOL_ERROR, reason)

    _HANDLERS: Final[dict[type[e.Event], Callable[[Any, Any, float], None]]] = {
        e.RequestReceived: _on_request,
        e.DataReceived: _on_data,
        e.TrailersReceived: _on_trailers,
        e.StreamEnded: _on_end,
        e.StreamReset: _on_reset,
        e.UnknownFrameReceived: _on_unknown,
        e.PriorityUpdated: _on_priority,
        e.ConnectionTerminated: _on_goodbye,
    }

    def _reprioritise(self, stream: Http2Stream, priority: ResponsePriority) -> None:
        stream.priority = priority
        if stream in self.writer:
            self.writer.add(stream)
        if stream.on_urgency is not None:
            stream.on_urgency(priority.urgency)

    # -- streams' lives ----------------------------------------------------------------------

    def _exchanged(self, stream: Http2Stream) -> None:
        self._tasks.pop(stream.number, None)
        self._settle(stream)

    def _settle(self, stream: Http2Stream) -> None:
        """Forget a stream that is over on both sides."""
        if stream.finished and stream.ended and stream.number not in self._tasks:
            self._forget(stream)

    def _forget(self, stream: Http2Stream) -> None:
        if self._streams.pop(stream.number, None) is None:
            return
        self.writer.forget(stream)
        stream.lose()
        if not self._streams:
            self._idle()

    def _piece_sent(self, stream: Http2Stream) -> None:
        self._meter.sent(1)
        self._settle(stream)

    def _stop(self, stream: Http2Stream) -> None:
        task = self._tasks.get(stream.number)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    # -- local_proxy.front.http2.streams.Carrier ---------------------------------------------------

    def send_head(self, stream: Http2Stream, fields: EncodedFields, *, end: bool) -> None:
        try:
            self._http.send_headers(stream.number, fields, end_stream=end)
        except ProtocolError as error:
            raise ConnectionResetError(str(error)) from error
        self.writer.wake()

    def has_output(self, stream: Http2Stream) -> None:
        if stream.number in self._streams:
            self.writer.add(stream)

    def credit(self, stream: Http2Stream, amount: int) -> None:
        try:
            self._http.acknowledge_received_data(amount, stream.number)
        except ProtocolError:
            return  # the connection is over
        self.writer.wake()

    def reset(self, stream: Http2Stream, code: ErrorCodes) -> None:
        with contextlib.suppress(ProtocolError):  # it may be gone already
            self._http.reset_stream(stream.number, code)
        self.writer.wake()
        self._forget(stream)
        self._stop(stream)


def _priority(fields: EncodedFields) -> ResponsePriority:
    said = b", ".join(value for name, value in fields if name == b"priority")
    return parse_priority(said.decode("latin-1")) if said else DEFAULT
