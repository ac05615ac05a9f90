"""A CONNECT tunnel's far end: bytes to a host and back, opaque, a component of its own."""

from __future__ import annotations

import asyncio
from typing import Final

from remote_proxy.failures import Failure, OriginError
from transport.incoming import Incoming, StreamCut
from transport.outgoing import Outgoing

READ: Final = 65536
"""Bytes read from the host at a time."""
CONNECT: Final = 15.0
"""Seconds for a host to answer."""


async def dial(authority: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to host:port. Raises OriginError."""
    host, _, port = authority.rpartition(":")
    try:
        async with asyncio.timeout(CONNECT):
            return await asyncio.open_connection(host.strip("[]"), int(port))
    except TimeoutError as error:
        raise OriginError(Failure.TIMEOUT, f"{authority} did not answer") from error
    except (OSError, ValueError) as error:
        raise OriginError(Failure.REFUSED, f"{authority} could not be reached") from error


async def pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, up: Incoming, down: Outgoing
) -> None:
    """Both ways until both have ended. Raises OSError when the host resets."""

    async def upwards() -> None:
        try:
            async for chunk in up.read():
                writer.write(chunk)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
        except StreamCut:
            writer.transport.abort()

    async def downwards() -> None:
        while chunk := await reader.read(READ):
            down.write(chunk)
            await down.room()
        down.finish()

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(upwards())
            tasks.create_task(downwards())
    except* OSError as failures:
        raise OSError(str(failures.exceptions[0])) from failures
    finally:
        writer.close()
