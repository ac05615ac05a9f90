"""An origin that says any bytes, and one question to it."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from remote_proxy.origin.client import ForwardedRequest, Origin, OriginConfig, OriginResponse
from remote_proxy.reach.guard import Guard
from wire.origin_request import OriginRequest

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HERE = Guard(["127.0.0.0/8"])
QUICK = OriginConfig(
    connect_timeout=10.0,
    head_silence=1.0,
    head_timeout=2.0,
    idle_timeout=1.0,
    upload_idle_timeout=1.0,
    max_field=4096,
    max_line=4096,
    max_fields=32,
)
HURRIED = replace(QUICK, head_silence=0.2, head_timeout=0.4, idle_timeout=0.2)
"""For what must time out: on a busy machine others may, too."""


@asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[str]:
    """A server on loopback; its base URL."""

    async def contained(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(contained, "127.0.0.1", 0)
    try:
        port = listening.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        listening.close()


def saying(*pieces: bytes, pause: float = 0.0, reset: bool = False, stay: bool = False) -> Serve:
    """A server that reads a head, says these pieces and closes (or resets, or stays)."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            if pause:
                await asyncio.sleep(pause)
        if stay:
            await reader.read()
        if reset:
            lingering = struct.pack("ii", 1, 0)  # On, for no time: closing sends RST.
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, lingering
            )
            writer.transport.abort()

    return serve


async def get(
    url: str, *, config: OriginConfig = QUICK, method: str = "GET"
) -> tuple[OriginResponse, bytes]:
    async with Origin(config, guard=HERE) as origin:
        response = await origin.fetch(ForwardedRequest(OriginRequest(method, url, [])))
        return response, b"".join([chunk async for chunk in response.body])
