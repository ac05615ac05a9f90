"""Composes the remote proxy from its settings."""

from __future__ import annotations

import asyncio
import sys
from typing import Protocol

from pairing.files import state_folder
from pairing.invitation import format_address
from pairing.store import Store
from remote_proxy.delivery import Services
from remote_proxy.devices import Devices
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
    @property
    def security(self) -> str: ...
    @property
    def state(self) -> str: ...


async def run(settings: Settings) -> None:
    """Listen and serve until cancelled. Prints one line when ready.

    Raises OSError, PairingError.
    """
    host, _, port = settings.listen.rpartition(":")
    store = Store(state_folder(settings.state, "remote"))
    devices = Devices(store) if settings.security == "tls" else None
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
            listening = await server.listen(
                host.strip("[]"), int(port), security=devices.security if devices else None
            )
        except (NotLoopback, LinkError) as error:
            raise OSError(str(error)) from error
        address = format_address(*listening.address)
        print(f"listening on {address}", flush=True)
        try:
            async with listening:
                if devices is None:
                    await asyncio.Event().wait()
                else:
                    store.note_listening(address)
                    if not devices.security.devices:
                        print("no device is paired yet: run sluice pair", file=sys.stderr)
                    await devices.watch(lambda: server.end_unknown(devices.security))
        finally:
            await server.close()
            await transcoders.close()
