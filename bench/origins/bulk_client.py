"""A client of large transfers through an HTTP proxy: reads or writes, rests, hashes, holds nothing.

Speaks just enough HTTP/1.1 on a bare socket, so that no library's buffer reads ahead of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from bench.origins.bulk_origin import content
from bench.origins.site import Address

_READ: Final = 1 << 18
_LAST: Final = b"0\r\n\r\n"


class BadStatus(OSError):
    """The answer was not 200."""


@dataclass
class Download:
    """How far one is. Set `rest_at` before it gets there, and `go_on` for it to go on."""

    size: int
    rest_at: int
    sha: hashlib._Hash = field(default_factory=hashlib.sha256)
    received: int = 0
    resting: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, proxy: Address, url: str) -> str:
        """The hash of what came, in hexadecimal. Raises OSError."""
        async with _connected(proxy) as connection:
            loop = asyncio.get_running_loop()
            host = url.split("/")[2]
            head = f"GET {url} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
            await loop.sock_sendall(connection, head.encode())
            await self._take(await _head(connection))
            while self.received < self.size:
                data = await loop.sock_recv(connection, _READ)
                if not data:
                    raise ConnectionResetError(f"it ended after {self.received} bytes")
                await self._take(data)
        return self.sha.hexdigest()

    async def _take(self, data: bytes) -> None:
        self.sha.update(data)
        self.received += len(data)
        if self.received >= self.rest_at and not self.resting.is_set():
            self.resting.set()
            await self.go_on.wait()


async def upload(proxy: Address, url: str, size: int, *, chunked: bool) -> str:
    """Send so many bytes; the hash of what the server says that it got. Raises OSError."""
    async with _connected(proxy) as connection:
        loop = asyncio.get_running_loop()
        how = "transfer-encoding: chunked" if chunked else f"content-length: {size}"
        host = url.split("/")[2]
        head = f"POST {url} HTTP/1.1\r\nhost: {host}\r\n{how}\r\nconnection: close\r\n\r\n"
        await loop.sock_sendall(connection, head.encode())
        for block in content(size):
            framed = b"%x\r\n%b\r\n" % (len(block), block) if chunked else block
            await loop.sock_sendall(connection, framed)
        if chunked:
            await loop.sock_sendall(connection, _LAST)
        body = await _head(connection)
        while data := await loop.sock_recv(connection, _READ):
            body += data
    answer = json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])
    if answer["size"] != size:
        raise ConnectionResetError(f"{answer['size']} of {size} bytes got there")
    return str(answer["sha256"])


@asynccontextmanager
async def _connected(address: Address) -> AsyncIterator[socket.socket]:
    connection = socket.socket()
    connection.setblocking(False)
    # Left early, it is reset: what the kernel holds of an upload would go on for minutes else.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    try:
        await asyncio.get_running_loop().sock_connect(connection, address)
        yield connection
    finally:
        connection.close()


async def _head(connection: socket.socket) -> bytes:
    """Read the answer's head; what came behind it. Raises Refused."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = await asyncio.get_running_loop().sock_recv(connection, 4096)
        if not more:
            raise ConnectionResetError("no answer")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1] != b"200":
        raise BadStatus(head.split(b"\r\n")[0].decode("latin-1"))
    return rest
