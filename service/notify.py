"""Tells the service manager that a proxy is ready, alive, or about to end (sd_notify(3)).

Without a manager that asks for it (NOTIFY_SOCKET) all of this does nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

SOCKET: Final = "NOTIFY_SOCKET"
WATCHDOG: Final = "WATCHDOG_USEC"
OFTEN: Final = 3
"""Signs of life in the time after which a silent proxy is taken for hung."""


def notify(words: str, *, environ: Mapping[str, str] = os.environ) -> bool:
    """Say it to the manager; whether there is one that hears. `words`: lines of NAME=VALUE."""
    where = environ.get(SOCKET, "")
    if not where.startswith(("/", "@")):
        return False
    address = "\0" + where[1:] if where.startswith("@") else where
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as speaker:
        try:
            speaker.connect(address)
            speaker.sendall(words.encode())
        except OSError:
            return False  # a manager that went away is no reason to end
    return True


def ready(status: str) -> None:
    """It serves from now on. `status`: a line for people who ask the manager."""
    notify(f"READY=1\nSTATUS={_line(status)}")


def patience(environ: Mapping[str, str] = os.environ) -> float | None:
    """Seconds after which the manager takes a silent proxy for hung; None: it does not watch."""
    try:
        seconds = int(environ.get(WATCHDOG, "")) / 1e6
    except ValueError:
        return None
    meant = environ.get("WATCHDOG_PID", "")
    return seconds if seconds > 0 and meant in ("", str(os.getpid())) else None


@asynccontextmanager
async def watched(environ: Mapping[str, str] = os.environ) -> AsyncIterator[None]:
    """While this runs the manager hears that the event loop turns; at its end, that it ends."""
    seconds = patience(environ)
    task = None if seconds is None else asyncio.ensure_future(_alive(seconds / OFTEN, environ))
    try:
        yield
    finally:
        notify("STOPPING=1", environ=environ)
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def _alive(pause: float, environ: Mapping[str, str]) -> None:
    while True:
        notify("WATCHDOG=1", environ=environ)
        await asyncio.sleep(pause)


def _line(text: str) -> str:
    return " ".join(text.split())
