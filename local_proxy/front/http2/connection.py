"""The HTTP/2 front: one connection of a browser, many streams, one writer (RFC 9113).

A connection's life: it reads, sees to it that nobody floods it or lingers, and says goodbye. What
h2 makes of the bytes becomes of streams in table.py; writer.py decides whose turn it is
to be written; each request is served by a task of its own (exchange.py). Must not know:
components, documents, the slow link, what carries the bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Final

import structlog
from h2 import events as e
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

from local_proxy.front.http2.exchange import FrontTally, Http2Exchange
from local_proxy.front.http2.flood import Flood, FrameMeter
from local_proxy.front.http2.settings import CONNECTION_WINDOW, server_side
from local_proxy.front.http2.table import Over, StreamTable
from local_proxy.front.places import Room
from local_proxy.front.tls.connects import Connects
from local_proxy.http.client_stream import ClientStream
from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Core

log = structlog.get_logger(__name__)

_LINGER: Final = 1.0
"""Seconds in which a client may read why the connection ends."""


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
        limits: FrontLimits | None = None,
        origin: str | None = None,
        connects: Connects | None = None,
        tally: FrontTally | None = None,
        room: Room | None = None,
        websockets: bool = True,
    ) -> None:
        """`origin`: the connection was made for this one alone (https://host[:port]). None: it is
        a proxy's, for all hosts. `connects`: what becomes of a CONNECT; None: there is none.
        `websockets`: whether a client is told that it may ask for them here."""
        self._client = client
        self._limits = limits or FrontLimits()
        self._exchange = Http2Exchange(
            core,
            tally or Counts(),
            body=self._limits.body,
            connects=connects,
            idle_time=self._limits.idle_time,
            origin=origin,
        )
        self._http = server_side(websockets=websockets)
        self._meter = FrameMeter()
        self._streams = StreamTable(
            self._http, client, self._exchange, self._meter, idle=self._idle
        )
        self._writer = self._streams.writer
        self._greeted = False
        """The client's preface and settings have come."""
        self._asked = False
        """It has made a request."""
        self._place = room.mine() if room is not None else None
        self._idle_since = 0.0
        self._timer: asyncio.Timeout | None = None
        """Runs while the client is read."""

    def __repr__(self) -> str:
        return f"<Http2Connection {len(self._streams)} streams, {self._writer!r}>"

    def statistics(self) -> Http2Statistics:
        waiting = self._streams.pending + self._writer.unsent()
        return Http2Statistics(len(self._streams), waiting)

    async def run(self) -> None:
        """Serve until the client leaves, errs, or has been idle for long. Never raises."""
        self._idle_since = asyncio.get_running_loop().time()
        writer = asyncio.create_task(self._writer.run(), name="http2 writer")
        try:
            await self._converse()
            await self._streams.end()
            await self._hang_up()
        except asyncio.CancelledError:  # the front closes
            self._client.abort()
        except Exception:
            log.exception("connection failed")
            self._client.abort()
        finally:
            writer.cancel()
            await self._streams.end()
            await asyncio.gather(writer, return_exceptions=True)

    async def _converse(self) -> None:
        """Read until the client leaves; or say why that ends here."""
        try:
            await self._read()
        except Over as over:
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
                    self._greeted |= isinstance(event, e.RemoteSettingsChanged)
                    self._streams.happened(event, now)
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
        self._tell_room()
        if self._timer is not None and (deadline := self._deadline()) != self._timer.when():
            self._timer.reschedule(deadline)

    def _tell_room(self) -> None:
        self._asked |= bool(self._streams)
        if self._place is None:
            return
        if self._streams:
            self._place.is_served()
        elif not self._asked or self._meter.block_since is not None:
            self._place.owes()
        else:
            self._place.idles()

    def _idle(self) -> None:
        """No stream is open any more."""
        self._idle_since = asyncio.get_running_loop().time()
        self._set_timer()
