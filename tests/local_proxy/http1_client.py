"""Clients of the HTTP/1.1 front over real sockets: raw bytes there and back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

from local_proxy.front.http1.front import Http1Front
from local_proxy.http.front_limits import FrontLimits
from tests.local_proxy.small_core import SmallCore

GET = b"GET http://host.test/%b HTTP/1.1\r\nHost: host.test\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[], Awaitable[Streams]]


def served(
    core: SmallCore,
    talk: Callable[[Dial], Coroutine[None, None, None]],
    *,
    limits: FrontLimits | None = None,
) -> Http1Front:
    """Run `talk` against a front; it must leave nothing behind."""

    async def main() -> Http1Front:
        front = Http1Front(core, limits=limits)
        host, port = await front.listen("127.0.0.1", 0)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(front.close)

            async def dial() -> Streams:
                reader, writer = await asyncio.open_connection(host, port)
                stack.callback(writer.close)
                return reader, writer

            async with asyncio.timeout(60):
                await talk(dial)
        assert front.statistics().connections == 0
        assert len(asyncio.all_tasks()) == 1
        return front

    return asyncio.run(main())


async def ask(dial: Dial, data: bytes) -> bytes:
    """Everything that comes back, the connection being closed by the front."""
    reader, writer = await dial()
    writer.write(data)
    return await reader.read()


async def response(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body (by Content-Length) of the next response."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return head, await reader.readexactly(int(length or 0))


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
