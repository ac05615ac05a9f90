"""One of several remote proxies: its process, as its parent sees it.

It says where it listens on its standard output, and gives signs of life as to a service manager
(sd_notify(3)). It ends when its standard input does (`with_parent`), so none is left behind a
parent that was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog

from service.notify import SOCKET, WATCHDOG

SILENT: Final = 120.0
"""Seconds without a sign of life, after which it is taken for hung."""
ENDING: Final = 10.0
"""Seconds that it is given to end."""
SAYS: Final = "listening on "
_log = structlog.get_logger("sluice.remote")


async def run_member(
    command: Sequence[str], signs: Path, listens: Callable[[str], None], *, silent: float = SILENT
) -> int:
    """Start it, and wait until it ends; its exit code. Ends it when cancelled. Raises OSError.

    `signs`: where its signs of life are to come, a path that is free. `listens` is told its address
    once it listens.
    """
    async with _life(signs) as life:
        environment = {**os.environ, SOCKET: str(signs), WATCHDOG: str(round(silent * 1e6))}
        environment.pop("WATCHDOG_PID", None)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, env=environment
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                beside = (
                    tasks.create_task(_hear(process, listens)),
                    tasks.create_task(_watch(process, life, silent)),
                )
                code = await process.wait()
                for task in beside:
                    task.cancel()
            return code
        finally:
            await _end(process)


async def with_parent() -> None:
    """In the process itself: until its parent is gone."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    while await reader.read(1024):
        pass


@asynccontextmanager
async def _life(path: Path) -> AsyncIterator[asyncio.Event]:
    """Set at each sign that comes there."""
    event = asyncio.Event()

    class Signs(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: object) -> None:
            event.set()

    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        Signs, local_addr=str(path), family=socket.AF_UNIX
    )
    try:
        yield event
    finally:
        transport.close()


async def _hear(process: Process, listens: Callable[[str], None]) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        said = line.decode(errors="replace").strip()
        if said.startswith(SAYS):
            listens(said.removeprefix(SAYS))


async def _watch(process: Process, life: asyncio.Event, silent: float) -> None:
    with contextlib.suppress(TimeoutError):
        while True:
            life.clear()
            async with asyncio.timeout(silent):
                await life.wait()
    _log.warning("a process gives no sign of life; it is ended", process=process.pid)
    with contextlib.suppress(ProcessLookupError):
        process.kill()


async def _end(process: Process) -> None:
    """Kindly at first."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    ended = asyncio.ensure_future(process.wait())
    # In a task that is being cancelled asyncio.timeout raises no TimeoutError before Python 3.11.4.
    await asyncio.wait([ended], timeout=ENDING)
    if not ended.done():
        process.kill()
    await ended
