"""Messages over byte streams, for the implementations of NAI that have nothing but TCP (ATP,
section 5.2): baselines/nai_tcp.py and baselines/nai_mtcp.py.

    message   id, size, priority, then chunks: a length, so many bytes
    length 0  the sender gives the message up: its timer is over (NAI-MTCP)

The receiver answers each message that is whole with one byte, "so as to eliminate the effect of
TCP sends returning early". Fields: struct's "!IIi" and "!H".

It must not know which message is next.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from typing import Final, Protocol

from transport.nai.errors import CarrierError, SegmentFault
from transport.nai.receiving.receiver import MEMORY, Received

CHUNK: Final = 4096
"""Bytes: what goes on of a message once its timer is over."""
ACKNOWLEDGED: Final = b"\x06"
HEAD: Final = struct.Struct("!IIi")
LENGTH: Final = struct.Struct("!H")
GIVEN_UP: Final = LENGTH.pack(0)
_WAIT: Final = 10.0
"""Seconds for a connection."""


class CarrierStream(Protocol):
    """One end of a TCP connection."""

    async def write(self, data: bytes) -> None:
        """Returns once the kernel has taken it all. Raises CarrierError."""

    async def read(self, most: int) -> bytes:
        """At least a byte; none: the peer has closed. Raises CarrierError."""

    def close(self) -> None: ...


class SocketStream:
    """A real one. Implements Stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        writer.transport.set_write_buffer_limits(0)  # drain() waits for the kernel, as send() does

    async def write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise CarrierError(f"the connection broke: {error}") from error

    async def read(self, most: int) -> bytes:
        try:
            return await self._reader.read(most)
        except OSError as error:
            raise CarrierError(f"the connection broke: {error}") from error

    def close(self) -> None:
        self._writer.close()


async def dial(host: str, port: int) -> SocketStream:
    """A stream to the address. Raises CarrierError."""
    try:
        async with asyncio.timeout(_WAIT):
            return SocketStream(*await asyncio.open_connection(host, port))
    except (OSError, TimeoutError) as error:
        reason = str(error) or f"no answer in {_WAIT:g} s"
        raise CarrierError(f"no connection to {host}:{port}: {reason}") from error


async def listen(host: str, port: int, on_stream: Callable[[SocketStream], None]) -> asyncio.Server:
    """Hand each connection to `on_stream`. Raises OSError."""
    return await asyncio.start_server(
        lambda reader, writer: on_stream(SocketStream(reader, writer)), host, port
    )


async def received(stream: CarrierStream, *, memory: int = MEMORY) -> AsyncIterator[Received]:
    """The messages of one stream as they are whole, each acknowledged, until the peer closes.

    Raises PeerFault, also for a message of more than `memory` bytes; CarrierError.
    """
    while head := await _exactly(stream, HEAD.size, may_end=True):
        id, size, priority = HEAD.unpack(head)
        if size > memory:
            raise SegmentFault(f"a message of {size} bytes, of {memory} at most: raise `memory`")
        data = await _body(stream, size)
        if data is not None:
            await stream.write(ACKNOWLEDGED)
            yield Received(data, "", priority, id)


async def _body(stream: CarrierStream, size: int) -> bytes | None:
    """None: it was given up."""
    data = bytearray()
    while len(data) < size:
        (length,) = LENGTH.unpack(await _exactly(stream, LENGTH.size))
        if not length:
            return None
        if len(data) + length > size:
            raise SegmentFault(f"a message of {size} bytes with more than those")
        data += await _exactly(stream, length)
    return bytes(data)


async def _exactly(stream: CarrierStream, size: int, *, may_end: bool = False) -> bytes:
    data = b""
    while len(data) < size:
        more = await stream.read(size - len(data))
        if not more:
            if may_end and not data:
                return b""
            raise CarrierError("the connection ended within a message")
        data += more
    return data
