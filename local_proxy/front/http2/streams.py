"""One stream of an HTTP/2 connection, as bytes both ways
(local_proxy.http.client_stream.ClientStream).

So whatever serves a client on a socket serves it on a stream, too: a response's body, a CONNECT
tunnel, TLS in it. What has come waits here, within the stream's window, until somebody reads it:
only then the client gets credit for more. Must not know: h2, other streams, HTTP's meaning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from h2.errors import ErrorCodes

from local_proxy.front.http2.head import EncodedFields
from local_proxy.front.http2.priority import ResponsePriority

Leave = Callable[[], object]


class StreamCarrier(Protocol):
    """The connection, as a stream sees it. None of these waits."""

    @property
    def local_address(self) -> tuple[str, int] | None:
        """Address and port of ours that the client connected to; None: unknown."""

    @property
    def peer_address(self) -> tuple[str, int] | None:
        """Address and port of the client; None: unknown."""

    def send_head(self, stream: Http2Stream, fields: EncodedFields, *, end: bool) -> None:
        """A field section, in front of all bytes. Raises ConnectionError."""

    def has_output(self, stream: Http2Stream) -> None:
        """The stream has bytes, or its end, to send."""

    def credit(self, stream: Http2Stream, amount: int) -> None:
        """So many bytes, padding included, were taken."""

    def reset(self, stream: Http2Stream, code: ErrorCodes) -> None:
        """The stream ends at once, in both directions."""


class Http2Stream:
    """One request's or tunnel's stream. Read and written by one task each."""

    def __init__(self, carrier: StreamCarrier, number: int, priority: ResponsePriority) -> None:
        self._carrier = carrier
        self.number = number
        self.priority = priority
        self.ended = False
        """No more bytes will come; some may still wait to be read."""
        self.lost = False
        """It is over in both directions."""
        self.finished = False
        """Our end has gone out."""
        self.on_leave: Leave | None = None
        self.on_urgency: Callable[[int], object] | None = None
        """Told when the client changes the stream's urgency."""
        self._begun = False
        """Our final field section has gone out."""
        self._in = bytearray()
        self._uncredited = 0
        self._readable = asyncio.Event()
        self._out = bytearray()
        self._end_due = False
        self._reset_due = False
        self._drained = asyncio.Event()
        self._drained.set()

    def __repr__(self) -> str:
        return f"<Http2Stream {self.number} {len(self._in)} in, {len(self._out)} out>"

    # -- local_proxy.http.client_stream.ClientStream ----------------------------------------------

    @property
    def local_address(self) -> tuple[str, int] | None:
        """The connection's own address."""
        return self._carrier.local_address

    @property
    def peer_address(self) -> tuple[str, int] | None:
        """The connection's peer."""
        return self._carrier.peer_address

    async def read(self) -> bytes:
        """What has come, as soon as anything has; empty at the end, also when it is lost."""
        while not self._in and not self.ended:
            self._readable.clear()
            await self._readable.wait()
        data = bytes(self._in)
        self._in.clear()
        self._give_credit()
        return data

    async def write(self, data: bytes) -> None:
        """Send; returns when all of it has gone to the connection. Raises ConnectionResetError."""
        self._check()
        self._out += data
        await self.drained()

    async def write_last(self, data: bytes) -> None:
        """Send, and end our side with it."""
        self._check()
        self.end(data)
        await self.drained()

    async def drained(self) -> None:
        """Until all has gone to the connection. Raises ConnectionResetError.

        It may have gone while the window is shut: a body that fits exactly must end all the same.
        """
        if self._out or self._end_due:
            self._drained.clear()
            self._carrier.has_output(self)
        await self._drained.wait()
        if self.lost and not self.finished:
            raise ConnectionResetError("the client has reset the stream")

    def end(self, last: bytes = b"") -> None:
        """Close our side only, after these last bytes; the client may go on sending."""
        if not self.lost and not self.finished:
            self._out += last
            self._end_due = True
            self._carrier.has_output(self)

    def close(self, last: bytes = b"") -> None:
        """Close when what was written has gone out; what the client still sends is not wanted."""
        if self.lost:
            return
        if self.finished:
            self._close_rest()
            return
        if not self._begun:
            self.abort()
            return
        self._reset_due = True
        self.end(last)

    def abort(self, code: ErrorCodes = ErrorCodes.INTERNAL_ERROR) -> None:
        """Reset the stream, so that nobody takes what came for the whole."""
        if not self.lost and not (self.finished and self.ended):
            self._carrier.reset(self, code)

    def send_head(self, fields: EncodedFields, *, end: bool = False) -> None:
        """A field section, with our end if the body is empty. Raises ConnectionResetError."""
        self._check()
        self._carrier.send_head(self, fields, end=end)
        self._begun, self.finished = True, end

    def go_on(self) -> None:
        """`100 Continue`: the body is wanted."""
        self._check()
        self._carrier.send_head(self, [(b":status", b"100")], end=False)

    def inform(self, fields: EncodedFields) -> None:
        """An interim response; nothing, once the final one has begun."""
        if not (self._begun or self.lost or self.finished):
            self._carrier.send_head(self, fields, end=False)

    async def write_trailers(self, fields: EncodedFields) -> None:
        """EncodedFields behind the body, and our end. Raises ConnectionResetError."""
        self._check()
        await self.drained()
        self._carrier.send_head(self, fields, end=True)
        self.finished = True

    def _check(self) -> None:
        if self.lost or self.finished or self._end_due:
            raise ConnectionResetError("the stream is closed")

    # -- for the connection ------------------------------------------------------------------

    @property
    def unread(self) -> int:
        """Bytes that have come and were not read."""
        return len(self._in)

    @property
    def pending(self) -> int:
        """Bytes that wait to be sent."""
        return len(self._out)

    @property
    def only_end_pending(self) -> bool:
        """Nothing but the end waits to be sent, which needs no window."""
        return self._end_due and not self._out

    def take(self, size: int) -> tuple[bytes, bool]:
        """At most so many bytes to send now, and whether our side ends with them."""
        piece = bytes(self._out[:size])
        del self._out[:size]
        return piece, self._end_due and not self._out

    def sent(self, *, end: bool) -> None:
        """What was taken has gone out."""
        if end:
            self.finished, self._end_due = True, False
            if self._reset_due:
                self._close_rest()
        if not self._out and not self._end_due:
            self._drained.set()

    def received(self, data: bytes, charged: int) -> None:
        """Bytes of the client; `charged`: what they count in its window."""
        self._in += data
        self._uncredited += charged
        if data:
            self._readable.set()
        elif not self._in:
            self._give_credit()  # padding alone: nobody will read it

    def end_received(self) -> None:
        """The client has closed its side."""
        self.ended = True
        self._readable.set()
        self._left()

    def lose(self) -> None:
        """It is over: reset by either side, or with the connection."""
        self.lost = self.ended = True
        self._in.clear()
        self._give_credit()
        self._out.clear()
        self._end_due = False
        self._readable.set()
        self._drained.set()
        self._left()

    def _close_rest(self) -> None:
        """RFC 9113, 8.1: a complete answer, before the request was."""
        if not self.ended:
            self._carrier.reset(self, ErrorCodes.NO_ERROR)

    def _give_credit(self) -> None:
        amount, self._uncredited = self._uncredited, 0
        if amount:
            self._carrier.credit(self, amount)

    def _left(self) -> None:
        if self.on_leave is not None:
            on_leave, self.on_leave = self.on_leave, None
            on_leave()
