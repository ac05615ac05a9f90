"""A server of somebody else as a process: started on a free port, awaited, gone afterwards.

Knows processes and ports; not what is served, nor for whom.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from bench.origins.site import Address
from bench.pairs.bound import bound
from bench.pairs.ports import HOST
from emulation.worlds.hosts import HERE, EmulatedHost

START_TIMEOUT: Final = 20.0
"""Seconds until it accepts a connection; Python's own take three on a busy machine."""
_END_AFTER: Final = 5.0
"""Seconds it is given to end."""
_LOOK_EVERY: Final = 0.05
"""Seconds between two looks at a port that is not open yet."""
_LAST_WORDS: Final = 600
"""Characters of its output that an error message repeats."""
_SYSTEM: Final = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where Debian keeps servers: not in everybody's PATH."""


def find(name: str, *, first: Path | None = None) -> str | None:
    """Path of an executable, or None. `first`: a folder to look in before PATH."""
    path = [str(first)] if first else []
    return shutil.which(name, path=":".join([*path, os.environ.get("PATH", ""), _SYSTEM]))


@asynccontextmanager
async def program(
    *command: str, port: int, folder: Path, host: EmulatedHost = HERE
) -> AsyncIterator[Address]:
    """Run a server that stays in the foreground; gives its address once it accepts connections.

    Its output goes to a file in `folder`. Raises OSError with its last words if it does not start.
    """
    said = folder / "said"
    process = await _spawn(host.command(*command), said)
    try:
        await _accepting(port, said, ended=lambda: process.returncode is not None, host=host)
        yield host.address, port
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        ended = asyncio.ensure_future(process.wait())
        await asyncio.wait([ended], timeout=_END_AFTER)
        if not ended.done():
            process.kill()
        await ended


@asynccontextmanager
async def daemon(*command: str, port: int, folder: Path) -> AsyncIterator[Address]:
    """The same for one that leaves the foreground, a session of its own, and prints its id."""
    said = folder / "said"
    process = await _spawn(command, said)
    await process.wait()
    try:
        number = int(said.read_text(errors="replace"))
        watch = os.pidfd_open(number)
    except (ValueError, ProcessLookupError) as error:
        raise OSError(_complaint(said)) from error
    try:
        await _accepting(port, said, ended=lambda: _over(watch))
        yield HOST, port
    finally:
        await _end_session(number, watch, port)
        os.close(watch)


async def _spawn(command: tuple[str, ...], said: Path) -> asyncio.subprocess.Process:
    # One written in Python must not meet our own modules.
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    with said.open("wb") as output:
        return await asyncio.create_subprocess_exec(
            *bound(*command),
            cwd=said.parent,
            env=own,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
        )


async def _accepting(
    port: int, said: Path, *, ended: Callable[[], bool], host: EmulatedHost = HERE
) -> None:
    """Return when something listens there. Raises OSError when nothing will."""
    loop = asyncio.get_running_loop()
    end = loop.time() + START_TIMEOUT
    while not ended() and loop.time() < end:
        with host.new_socket() as caller:
            caller.setblocking(False)
            try:
                await loop.sock_connect(caller, (host.address, port))
            except ConnectionError:
                await asyncio.sleep(_LOOK_EVERY)
            else:
                return
    raise OSError(_complaint(said))


async def _end_session(number: int, watch: int, port: int) -> None:
    """End a daemon and what it has forked; `watch` is its pidfd."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(number, how)
        ended = asyncio.ensure_future(_gone(watch, port))
        if (await asyncio.wait([ended], timeout=_END_AFTER))[0]:
            return
        ended.cancel()


async def _gone(watch: int, port: int) -> None:
    await _readable(watch)
    await _refusing(port)


async def _refusing(port: int) -> None:
    """Return when nothing listens there: what was forked ends a moment after the daemon."""
    while True:
        try:
            _, writer = await asyncio.open_connection(HOST, port)
        except ConnectionError:
            return
        writer.close()
        await asyncio.sleep(_LOOK_EVERY)


async def _readable(watch: int) -> None:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(watch, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(watch)


def _over(watch: int) -> bool:
    """A pidfd can be read when its process has ended."""
    return bool(select.select([watch], [], [], 0)[0])


def _complaint(said: Path) -> str:
    words = said.read_text(errors="replace").strip()[-_LAST_WORDS:]
    return f"it did not start: {words or 'it said nothing'}"
