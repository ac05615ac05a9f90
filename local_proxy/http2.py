"""The HTTP/2 front: one connection of a browser, many streams, one writer (RFC 9113).

h2 knows the frames; this knows what becomes of them. It reads and dispatches; http2_writer.py
decides whose turn it is to be written; each request is served by a task of its own
(http2_exchange.py). Must not know: components, documents, the slow link, what carries the bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import structlog
from h2 import events as e
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import ExtensionFrame

from local_proxy.client_stream import ClientStream
from local_proxy.http import Core
from local_proxy.http1_connection import Limits
from local_proxy.http1_head import MAX_HEAD
from local_proxy.http2_exchange import Exchange, Tally
from local_proxy.http2_flood import Flood, FrameMeter
from local_proxy.http2_head import Fields, Malformed, check_trailers
from local_proxy.http2_priority import (
    DEFAULT,
    DEFAULT_WEIGHT,
    PRIORITY_UPDATE,
    Priority,
    parse_priority,
    parse_update,
    urgency_of_weight,
)
from local_proxy.http2_streams import Stream
from local_proxy.http2_writer import Writer
from local_proxy.https import Connects

log = structlog.get_logger(__name__)

MAX_STREAMS: Final = 256
"""Streams at a time: as many as Chromium ever opens on one connection."""
CONNECTION_WINDOW: Final = MAX_STREAMS * 65536
"""Bytes of request bodies unread at most. All streams can be stalled, and none stops another."""
_LINGER: Final = 1.0
"""Seconds in which a client may read why the connection ends."""
_NO_RFC7540_PRIORITIES: Final = 0x9
"""SETTINGS parameter (RFC 9218, 2.1)."""


class _Over(Exception):
    """The connection ends, for this reason."""

    def __init__(self, code: ErrorCodes, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(slots=True)
class Counts:
    """A tally for a connection that belongs to no front."""

    requests: int = 0
    tunnels: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Http2Statistics:
    """An immutable snapshot."""

    streams: int
    waiting: int
    """Bytes of responses that streams hold, and of frames not yet handed down."""


class Http2Connection:
    """Serves one connection. Made for a stream whose first bytes are the client's preface."""

    def __init__(
        self,
        core: Core,
        client: ClientStream,
        *,
        limits: Limits | None = None,
        origin: str | None = None,
        connects: Connects | None = None,
        tally: Tally | None = None,
    ) -> None:
        """`origin`: the connection was made for this one alone (https://host[:port]). None: it is
        a proxy's, for all hosts. `connects`: what becomes of a CONNECT; None: there is none."""
        self._client = client
        self._limits = limits or Limits()
        self._exchange = Exchange(
            core,
            tally or Counts(),
            body=self._limits.body,
            connects=connects,
            origin=origin,
        )
        self._http = _h2()
        self._meter = FrameMeter()
        self._writer = Writer(self._http, client, piece_sent=self._piece_sent)
        self._streams: dict[int, Stream] = {}
        """All that are not over on both sides."""
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._at_birth: e.PriorityUpdated | None = None
        """What the newest stream's HEADERS frame said in RFC 7540's way."""
        self._early: dict[int, Priority] = {}
        """Priorities of streams that are still to come."""
        self._greeted = False
        """The client's preface and settings have come."""
        self._idle_since = 0.0
        self._timer: asyncio.Timeout | None = None
        """Runs while the client is read."""

    def __repr__(self) -> str:
        return f"<Http2Connection {len(self._streams)} streams, {self._writer!r}>"

    @property
    def local_address(self) -> tuple[str, int] | None:
        """Address and port of ours that the client connected to; None: unknown."""
        return self._client.local_address

    def statistics(self) -> Http2Statistics:
        waiting = sum(stream.pending for stream in self._streams.values())
        return Http2Statistics(len(self._streams), waiting + self._writer.unsent())

    async def run(self) -> None:
        """Serve until the client leaves, errs, or has been idle for long. Never raises."""
        self._idle_since = asyncio.get_running_loop().time()
        writer = asyncio.create_task(self._writer.run(), name="http2 writer")
        try:
            await self._converse()
            await self._end_streams()
            await self._hang_up()
        except asyncio.CancelledError:  # the front closes
            self._client.abort()
        except Exception:
            log.exception("connection failed")
            self._client.abort()
        finally:
            writer.cancel()
            await self._end_streams()
            await asyncio.gather(writer, return_exceptions=True)

    async def _converse(self) -> None:
        """Read until the client leaves; or say why that ends here."""
        try:
            await self._read()
        except _Over as over:
            self._say_goodbye(over.code, str(over))
        except Flood as flood:
            log.warning("HTTP/2 client turned away", why=str(flood))
            self._exchange.tally.refused += 1
            self._say_goodbye(ErrorCodes.ENHANCE_YOUR_CALM, str(flood))
        except ProtocolError as error:  # h2 has said goodbye already
            log.info("HTTP/2 client broke the protocol", why=str(error))
            self._exchange.tally.refused += 1
        except TimeoutError:
            late = not self._greeted or self._meter.block_since is not None
            code = ErrorCodes.ENHANCE_YOUR_CALM if late else ErrorCodes.NO_ERROR
            self._say_goodbye(code, "too slow" if late else "idle")
        except ConnectionError:
            pass
        finally:
            self._timer = None

    def _say_goodbye(self, code: ErrorCodes, reason: str) -> None:
        with contextlib.suppress(ProtocolError):  # it may have been said
            self._http.close_connection(code, additional_data=reason.encode())
        self._writer.wake()

    async def _end_streams(self) -> None:
        for stream in list(self._streams.values()):
            self._forget(stream)
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _hang_up(self) -> None:
        """Let the client read our last frames: closing with bytes unread would reset them."""
        try:
            async with asyncio.timeout(_LINGER):
                await self._writer.room(at_most=0)
                if not self._client.ended:
                    self._client.end()
                while await self._client.read():
                    pass
        except (TimeoutError, ConnectionError):
            pass
        self._client.close()

    # -- reading -----------------------------------------------------------------------------

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        self._http.initiate_connection()
        self._http.increment_flow_control_window(CONNECTION_WINDOW - 65535)
        self._writer.wake()
        async with asyncio.timeout_at(self._deadline()) as self._timer:
            while data := await self._client.read():
                now = loop.time()
                self._meter.feed(data, now=now)
                for event in self._http.receive_data(data):
                    self._happened(event, now)
                self._writer.wake()
                self._set_timer()
                await self._writer.room()

    def _deadline(self) -> float | None:
        """When patience ends: for the preface, for a field block, for a request; seconds."""
        if not self._greeted:
            return self._idle_since + self._limits.head_time
        if self._meter.block_since is not None:
            return self._meter.block_since + self._limits.head_time
        return None if self._streams else self._idle_since + self._limits.idle_time

    def _set_timer(self) -> None:
        if self._timer is not None and (deadline := self._deadline()) != self._timer.when():
            self._timer.reschedule(deadline)

    def _happened(self, event: e.Event, now: float) -> None:
        handler = self._HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event, now)

    def _on_request(self, event: e.RequestReceived, now: float) -> None:
        fields: Fields = list(event.headers)
        number = event.stream_id
        early = self._early.pop(number, None)
        stream = Stream(self, number, _priority(fields) if early is None else early)
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

    def _on_settings(self, event: e.RemoteSettingsChanged, now: float) -> None:
        self._greeted = True

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
        raise _Over(ErrorCodes.NO_ERROR, "the client said goodbye")

    @staticmethod
    def _broken(reason: str) -> _Over:
        return _Over(ErrorCodes.PROTOCOL_ERROR, reason)

    _HANDLERS: Final[dict[type[e.Event], Callable[[Any, Any, float], None]]] = {
        e.RequestReceived: _on_request,
        e.DataReceived: _on_data,
        e.TrailersReceived: _on_trailers,
        e.StreamEnded: _on_end,
        e.StreamReset: _on_reset,
        e.RemoteSettingsChanged: _on_settings,
        e.UnknownFrameReceived: _on_unknown,
        e.PriorityUpdated: _on_priority,
        e.ConnectionTerminated: _on_goodbye,
    }

    def _reprioritise(self, stream: Stream, priority: Priority) -> None:
        stream.priority = priority
        if stream in self._writer:
            self._writer.add(stream)
        if stream.on_urgency is not None:
            stream.on_urgency(priority.urgency)

    # -- streams' lives ----------------------------------------------------------------------

    def _exchanged(self, stream: Stream) -> None:
        self._tasks.pop(stream.number, None)
        self._settle(stream)

    def _settle(self, stream: Stream) -> None:
        """Forget a stream that is over on both sides."""
        if stream.finished and stream.ended and stream.number not in self._tasks:
            self._forget(stream)

    def _forget(self, stream: Stream) -> None:
        if self._streams.pop(stream.number, None) is None:
            return
        self._writer.forget(stream)
        stream.lose()
        if not self._streams:
            self._idle_since = asyncio.get_running_loop().time()
            self._set_timer()

    def _piece_sent(self, stream: Stream) -> None:
        self._meter.sent(1)
        self._settle(stream)

    def _stop(self, stream: Stream) -> None:
        task = self._tasks.get(stream.number)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    # -- local_proxy.http2_streams.Carrier ---------------------------------------------------

    def send_head(self, stream: Stream, fields: Fields, *, end: bool) -> None:
        try:
            self._http.send_headers(stream.number, fields, end_stream=end)
        except ProtocolError as error:
            raise ConnectionResetError(str(error)) from error
        self._writer.wake()

    def has_output(self, stream: Stream) -> None:
        if stream.number in self._streams:
            self._writer.add(stream)

    def credit(self, stream: Stream, amount: int) -> None:
        try:
            self._http.acknowledge_received_data(amount, stream.number)
        except ProtocolError:
            return  # the connection is over
        self._writer.wake()

    def reset(self, stream: Stream, code: ErrorCodes) -> None:
        with contextlib.suppress(ProtocolError):  # it may be gone already
            self._http.reset_stream(stream.number, code)
        self._writer.wake()
        self._forget(stream)
        self._stop(stream)


def _h2() -> H2Connection:
    config = H2Configuration(
        client_side=False,
        header_encoding=None,
        validate_inbound_headers=False,  # http2_head.py does, a stream at a time
        normalize_inbound_headers=False,
        validate_outbound_headers=False,
        normalize_outbound_headers=False,
    )
    http = H2Connection(config)
    settings: dict[int, int] = {
        SettingCodes.MAX_CONCURRENT_STREAMS: MAX_STREAMS,
        SettingCodes.MAX_HEADER_LIST_SIZE: 2 * MAX_HEAD,
        _NO_RFC7540_PRIORITIES: 1,
    }
    http.local_settings = Settings(
        client=False, initial_values=cast(dict[SettingCodes, int], settings)
    )
    http.decoder.max_header_list_size = 2 * MAX_HEAD
    return http


def _priority(fields: Fields) -> Priority:
    said = b", ".join(value for name, value in fields if name == b"priority")
    return parse_priority(said.decode("latin-1")) if said else DEFAULT
