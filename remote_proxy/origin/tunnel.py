"""A CONNECT tunnel's far end: bytes to a host and back, opaque, a component of its own."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final

from aiohappyeyeballs import AddrInfoType, start_connection

from remote_proxy.reach.connector import Reach
from remote_proxy.reach.failures import Failure, OriginError, translated
from remote_proxy.reach.limits import Count
from transport.sending.incoming import Incoming, StreamCut
from transport.sending.outgoing import Outgoing

READ: Final = 65536
"""Bytes read from the host at a time."""
CONNECT: Final = 15.0
"""Seconds for a host to answer."""
STAGGER: Final = 0.25
"""Seconds before the next address is tried as well (RFC 8305, 8)."""


async def dial(
    authority: str, reach: Reach, *, device: str, tls: ssl.SSLContext | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to host:port, where the guard lets it, and make TLS there. Raises OriginError."""
    name, _, number = authority.rpartition(":")
    if not (number.isascii() and number.isdecimal() and 0 < int(number[:8]) < 65536):
        raise OriginError(Failure.PROTOCOL, f"{authority} is not host:port")
    port = int(number)
    host = reach.host(name, port, tunnel=True)
    try:
        found = await reach.addresses(host, port, device=device, tunnel=True)
        async with asyncio.timeout(CONNECT):
            addresses: list[AddrInfoType] = [
                (one["family"], socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (one["host"], port))
                for one in found
            ]
            connected = await start_connection(addresses, happy_eyeballs_delay=STAGGER)
            reader, writer = await asyncio.open_connection(sock=connected)
    except TimeoutError as error:
        raise OriginError(Failure.TIMEOUT, f"{authority} did not answer") from error
    except socket.gaierror as error:
        raise OriginError(Failure.DNS, f"there is no server by the name of {name}") from error
    except (OSError, ValueError) as error:
        raise OriginError(Failure.REFUSED, f"{authority} could not be reached") from error
    try:
        reach.peer(host, writer.transport, tunnel=True)
        if tls is not None:
            with translated(host.name):
                async with asyncio.timeout(CONNECT):
                    await writer.start_tls(tls, server_hostname=host.name)
    except BaseException:
        writer.transport.abort()
        raise
    return reader, writer


async def pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    up: Incoming,
    down: Outgoing,
    *,
    coming: Callable[[int], None],
    count: Count,
) -> None:
    """Both ways until both have ended. Raises OSError when the host resets; what `count` raises.

    `coming` hears of so many bytes before they go down.
    """

    async def upwards() -> None:
        try:
            async for chunk in up.read():
                count(len(chunk))
                writer.write(chunk)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
        except StreamCut:
            writer.transport.abort()

    async def downwards() -> None:
        while chunk := await reader.read(READ):
            count(len(chunk))
            coming(len(chunk))
            down.write(chunk)
            await down.room()
        down.finish()

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(upwards())
            tasks.create_task(downwards())
    except ExceptionGroup as failures:  # not except*, which would raise a group again
        failure = failures.exceptions[0]
        if isinstance(failure, OSError):
            # What had come before the host reset; a StreamReader tells of that at once instead.
            left = bytes(getattr(reader, "_buffer", b""))
            count(len(left))
            down.write(left)
        raise failure from failures
    finally:
        writer.close()
