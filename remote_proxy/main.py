"""Composes the remote proxy from its settings."""

from __future__ import annotations

import asyncio
from typing import Protocol

from remote_proxy.delivery import Services
from remote_proxy.origin import Origin
from remote_proxy.server import NotLoopback, RemoteServer
from transcoders.registry import Transcoders
from transport.link import LinkError


class Settings(Protocol):
    """What it reads of the configuration's [remote] section."""

    @property
    def listen(self) -> str: ...
    @property
    def memory(self) -> int: ...
    @property
    def workers(self) -> int: ...
    @property
    def quantum(self) -> int: ...
    @property
    def congestion(self) -> str: ...
    @property
    def patience(self) -> float: ...


async def run(settings: Settings) -> None:
    """Listen and serve until cancelled. Prints one line when ready. Raises OSError."""
    host, _, port = settings.listen.rpartition(":")
    transcoders = Transcoders(workers=settings.workers)
    async with Origin() as origin:
        server = RemoteServer(
            Services(origin, transcoders),
            quantum=settings.quantum,
            memory=settings.memory,
            congestion=settings.congestion,
            patience=settings.patience,
        )
        try:
            listening = await server.listen(host.strip("[]"), int(port))
        except (NotLoopback, LinkError) as error:
            raise OSError(str(error)) from error
        print(f"listening on {listening.address[0]}:{listening.address[1]}", flush=True)
        try:
            async with listening:
                await asyncio.Event().wait()
        finally:
            await server.close()
            await transcoders.close()
