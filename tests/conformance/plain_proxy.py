"""An HTTP proxy that changes nothing: what a browser does directly, with the suite's names.

All names mean this machine. It exists so that both runs of a page have a proxy's setting and the
same names and ports. Each request has a connection of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from tests.end_to_end.listening import Address, listening

HOST = "127.0.0.1"
GOODBYE = 30.0
"""Seconds in which a browser takes the rest of an answer, however busy its machine."""


@asynccontextmanager
async def plain_proxy() -> AsyncIterator[Address]:
    async with listening(_connected, HOST) as address:
        yield address


async def _connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    far: asyncio.StreamWriter | None = None
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, fields = head.partition(b"\r\n")
        method, target, _ = line.decode("latin-1").split(" ")
        if method == "CONNECT":
            port = int(target.rpartition(":")[2])
            back, far = await asyncio.open_connection(HOST, port)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            parts = urlsplit(target)
            back, far = await asyncio.open_connection(HOST, parts.port or 80)
            path = target.partition("//")[2]
            path = path[path.index("/") :] if "/" in path else "/"
            far.write(f"{method} {path} HTTP/1.1\r\n".encode("latin-1") + fields)
            sending = asyncio.create_task(_pass(reader, far))
            try:
                line = await back.readuntil(b"\r\n")
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
            writer.write(line + b"connection: close\r\n")
        await _both(reader, writer, back, far, one=method != "CONNECT")
        await _said(writer)
    finally:
        for end in filter(None, (writer, far)):
            end.transport.abort()


async def _said(writer: asyncio.StreamWriter) -> None:
    """End a connection to the browser with its last bytes, which an abort would throw away."""
    with suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(GOODBYE):
            writer.close()
            await writer.wait_closed()


async def _both(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, back: asyncio.StreamReader,
    far: asyncio.StreamWriter, *, one: bool,
) -> None:  # fmt: skip
    """Pass bytes on both ways until the far end has said all, or the browser has left."""
    up = asyncio.create_task(_pass(reader, far))
    down = asyncio.create_task(_pass(back, writer))
    try:
        await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
        if down.done():
            return
        if not one:
            await down
    finally:
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
