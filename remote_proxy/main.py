"""Composes the remote proxy from its settings."""

from __future__ import annotations

import asyncio
from typing import Protocol

import structlog

from remote_proxy.certificates import NoRoots, client_context, has_roots
from remote_proxy.delivery import Services
from remote_proxy.origin import Origin
from remote_proxy.server import NotLoopback, RemoteServer
from transcoders.registry import Transcoders
from transport.link import LinkError

_log = structlog.get_logger("sluice.remote")


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
    def ca_file(self) -> str: ...
    @property
    def patience(self) -> float: ...


async def run(settings: Settings) -> None:
    """Listen and serve until cancelled. Prints one line when ready. Raises OSError."""
    host, _, port = settings.listen.rpartition(":")
    transcoders = Transcoders(workers=settings.workers)
    try:
        tls = client_context(settings.ca_file)
    except NoRoots as error:
        raise OSError(str(error)) from error
    if not has_roots():
        _log.warning("no root certificates here: https sites will fail; install ca-certificates")
    async with Origin(tls=tls) as origin:
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
