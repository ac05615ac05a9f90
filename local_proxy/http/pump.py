"""CONNECT: bytes both ways between a client's stream and the far end of a tunnel (RFC 9110, 9.3.6).

Either side may half-close; the other direction goes on. Must not know: HTTP, what the bytes are.
"""

from __future__ import annotations

import asyncio

import structlog

from local_proxy.http.client_stream import ClientStream
from local_proxy.http.model import Duplex

log = structlog.get_logger(__name__)


async def pump(client: ClientStream, far: Duplex, early: bytes, *, idle_time: float) -> None:
    """Carry bytes until both directions have ended, or either has failed.

    `early`: what the client sent behind its CONNECT. `idle_time`: seconds for which a client that
    has half-closed waits for more bytes; there is no limit while both directions are open.
    """
    loop = asyncio.get_running_loop()

    async def upwards() -> None:
        if early:
            await far.write(early)
        while data := await client.read():
            await far.write(data)
        if client.lost:
            raise ConnectionResetError("the client has gone")
        await far.end()
        deadline.reschedule(loop.time() + idle_time)

    async def downwards() -> None:
        while data := await far.read():
            await client.write(data)
            if deadline.when() is not None:
                deadline.reschedule(loop.time() + idle_time)
        client.end()

    try:
        async with asyncio.timeout(None) as deadline, asyncio.TaskGroup() as pumps:
            pumps.create_task(upwards())
            pumps.create_task(downwards())
    except TimeoutError:
        pass
    except ExceptionGroup as failed:
        _, others = failed.split(ConnectionError)
        if others is not None:
            log.warning("tunnel broke off", why=repr(others.exceptions[0]))
        client.abort()
