"""A server on loopback that takes its connections with it when it goes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

Address = tuple[str, int]
Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(
    connected: Connected,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Address]:
    """A server, and its address; connections that are open at the end are cut."""
    tasks: set[asyncio.Task[Any]] = set()

    async def tracked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await connected(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            with suppress(ConnectionError, asyncio.CancelledError):
                if writer.transport.is_closing():
                    # A reset that nobody has asked about is told by whatever collects it first.
                    await writer.wait_closed()
            tasks.discard(task)

    server = await asyncio.start_server(tracked, host, port, limit=1 << 20, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[:2]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
