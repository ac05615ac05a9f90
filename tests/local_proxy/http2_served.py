"""A front that speaks HTTP/2, served to a test's clients, which must leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Coroutine

from local_proxy.front.http1.front import FrontStatistics
from local_proxy.front.listener import Front
from local_proxy.http.front_limits import FrontLimits
from tests.local_proxy.http2_client import Client, Fields
from tests.local_proxy.small_core import SmallCore

BASE: Fields = [(":method", "GET"), (":scheme", "http"), (":authority", "host.test")]
CONNECT: Fields = [(":method", "CONNECT"), (":authority", "far.test:22")]
POST: Fields = [(":method", "POST"), *BASE[1:], (":path", "/")]


def raw_frame(kind: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind]) + bytes(5) + payload


async def upload(client: Client, number: int, data: bytes) -> None:
    """All of it, as fast as the windows allow."""
    while data:
        room = client.http.local_flow_control_window(number)
        piece = data[: min(room, client.http.max_outbound_frame_size)]
        if not piece:
            await client.hear()
            continue
        client.http.send_data(number, piece)
        data = data[len(piece) :]
        await client.flush()
    client.http.end_stream(number)


Dial = Callable[..., Awaitable[Client]]


def served(
    core: SmallCore,
    talk: Callable[[Dial], Coroutine[None, None, None]],
    *,
    limits: FrontLimits | None = None,
) -> FrontStatistics:
    """Run `talk` against a front; it must leave nothing behind."""

    async def main() -> FrontStatistics:
        front = Front(core, limits=limits)
        host, port = await front.listen("127.0.0.1", 0)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(front.close)

            async def dial(
                *, begin: bool = True, window: int = 65535, buffer: int | None = None
            ) -> Client:
                raw = socket.create_connection((host, port))
                if buffer is not None:
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
                client = Client(*await asyncio.open_connection(sock=raw), window=window)
                stack.callback(client.close)
                if begin:
                    await client.begin()
                return client

            async with asyncio.timeout(60):
                await talk(dial)
        assert front.statistics().connections == 0
        assert len(asyncio.all_tasks()) == 1
        return front.statistics()

    return asyncio.run(main())
