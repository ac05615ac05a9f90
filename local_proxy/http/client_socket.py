"""One client's socket: bytes with back-pressure both ways, and word of the client's leaving.

asyncio's streams can't tell that the other end has closed while nobody reads; a proxy must know,
to stop fetching for somebody who has gone. Must not know: HTTP.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final, cast

_HIGH: Final = 65536
"""Bytes buffered in either direction before the sender is made to wait. Small: what a browser has
not taken must stay with the component, where the session counts it."""
_KERNEL_BUFFER: Final = 262144
"""Bytes of send buffer in the kernel, which would else grow to several MB on loopback."""


class ClientSocket(asyncio.Protocol):
    """Reads and writes for one task; `on_leave` is called when the client closes its side."""

    def __init__(self, connected: Callable[[ClientSocket], None]) -> None:
        self._connected = connected
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._paused = False
        self.ended = False
        """No more bytes will come: the client has closed, or half-closed."""
        self.lost = False
        """The connection is gone in both directions."""
        self.on_leave: Callable[[], object] | None = None

    # -- asyncio.Protocol --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_HIGH, low=_HIGH // 4)
        raw = self._transport.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BUFFER)
        self._connected(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._readable.set()
        if len(self._buffer) >= _HIGH and not self._paused:
            assert self._transport is not None
            self._transport.pause_reading()
            self._paused = True

    def eof_received(self) -> bool:
        self._leave()
        return True  # we still have something to say

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._writable.set()
        self._leave()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _leave(self) -> None:
        self.ended = True
        self._readable.set()
        if self.on_leave is not None:
            on_leave, self.on_leave = self.on_leave, None
            on_leave()

    # -- for the connection's task -----------------------------------------------------------

    @property
    def local_address(self) -> tuple[str, int] | None:
        """Address and port of ours that the client connected to; None: unknown."""
        return self._address("sockname")

    @property
    def peer_address(self) -> tuple[str, int] | None:
        """Address and port of the client; None: unknown."""
        return self._address("peername")

    def _address(self, which: str) -> tuple[str, int] | None:
        assert self._transport is not None
        name = self._transport.get_extra_info(which)
        if not isinstance(name, tuple):
            return None
        return str(name[0]).partition("%")[0].removeprefix("::ffff:"), int(name[1])

    @property
    def peer(self) -> str:
        """The client's address; empty: unknown."""
        assert self._transport is not None
        name = self._transport.get_extra_info("peername")
        return str(name[0]) if isinstance(name, tuple) else ""

    async def read(self) -> bytes:
        """What has come, as soon as anything has; empty at the end."""
        while not self._buffer and not self.ended:
            self._readable.clear()
            await self._readable.wait()
        data = bytes(self._buffer)
        self._buffer.clear()
        if self._paused and not self.lost:
            assert self._transport is not None
            self._transport.resume_reading()
            self._paused = False
        return data

    async def first_bytes(self, enough: Callable[[bytearray], bool]) -> bytes:
        """What has come, once that is enough or the client has closed; it stays to be read."""
        while not self.ended and not enough(self._buffer):
            self._readable.clear()
            await self._readable.wait()
        return bytes(self._buffer)

    async def write(self, data: bytes) -> None:
        """Send; returns when there is room for more. Raises ConnectionResetError."""
        assert self._transport is not None
        if self._gone():
            raise ConnectionResetError("the client has gone")
        if data:
            self._transport.write(data)
        await self._writable.wait()
        if self._gone():
            raise ConnectionResetError("the client has gone")

    def _gone(self) -> bool:
        """A write that failed is told with the loop's next round, and a response that is here
        would be written on until then."""
        assert self._transport is not None
        return self.lost or self._transport.is_closing()

    def end(self, last: bytes = b"") -> None:
        """Close our side only, after these last bytes; the client may go on sending."""
        assert self._transport is not None
        if not self.lost and not self._transport.is_closing():
            self._transport.write(last)
            with suppress(OSError):  # a reset of which the loop has not heard yet
                self._transport.write_eof()

    def close(self, last: bytes = b"") -> None:
        """Close when what was written, and these last bytes, have gone out."""
        assert self._transport is not None
        if last and not self.lost and not self._transport.is_closing():
            self._transport.write(last)
        self._transport.close()

    def give_up(self) -> None:
        """Close at once, since somebody else needs the place; reset what the client won't read."""
        assert self._transport is not None
        if self._transport.get_write_buffer_size():
            self.abort()
        else:
            self._transport.close()

    def abort(self) -> None:
        """Reset the connection, so that nobody takes what came for the whole."""
        assert self._transport is not None
        raw = self._transport.get_extra_info("socket")
        if raw is not None and not self.lost:
            # No lingering: a reset instead of an orderly end, which HTTP/1.0 reads as complete.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self._transport.abort()
