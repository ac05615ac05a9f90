"""Which remote proxy this device uses, and how it proves who it is: the [local] settings resolved.

A pairing string that is given is kept, so that later starts need none.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import structlog

from pairing.errors import PairingError
from pairing.identity import device_identity
from pairing.invitation import parse, parse_addresses
from pairing.kept import keep, kept
from transport.spp.handshake.keys import ClientKeys
from transport.tcp.security import ClientSecurity, is_loopback

UNPROTECTED: Final = "127.0.0.1:8119"
"""Where a remote proxy without security listens unless configured otherwise."""
_log = structlog.get_logger("sluice.local")


class PairingSettings(Protocol):
    """What it reads of the configuration's [local] section: who the remote is, who we are."""

    @property
    def remote(self) -> str: ...
    @property
    def security(self) -> str: ...
    @property
    def pair(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def transport(self) -> str: ...
    @property
    def paths(self) -> list[str]: ...
    @property
    def roles(self) -> Mapping[str, str]: ...
    @property
    def budgets(self) -> Mapping[str, str]: ...
    @property
    def path_congestion(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Remote:
    """The remote proxy."""

    address: str
    """host:port, [v6]:port; several are separated by commas."""
    security: ClientSecurity | None = None
    keys: ClientKeys | None = None
    """The same over UDP; None: over TCP only."""


def remote(settings: PairingSettings) -> Remote:
    """The remote to use. Raises PairingError, saying what to do."""
    if settings.paths and not hasattr(socket, "SO_BINDTODEVICE"):
        raise PairingError("paths needs Linux, where a socket can be bound to an interface")
    if settings.security == "none":
        if settings.paths or settings.transport == "atp-udp":
            setting = "paths" if settings.paths else f"transport = {settings.transport}"
            instead = "leave it out" if settings.paths else "leave it at tcp"
            raise PairingError(
                f"{setting} is for paired devices: its datagrams are sealed with the keys of the "
                f"pairing. Without security, {instead}"
            )
        address = settings.remote or UNPROTECTED
        for host, _ in parse_addresses(address):
            if not is_loopback(host):
                raise PairingError(
                    f"with security = none the link goes to loopback only, not to {host}: "
                    "everybody on the way could read and change it. Use security = tls, or a tunnel"
                )
        return Remote(address)
    folder = Path(settings.state).expanduser()
    if settings.pair:
        invitation = parse(settings.pair)
        try:
            keep(folder, invitation)
        except PairingError as error:
            _log.warning("the pairing is not kept: the next start needs it again", error=str(error))
    else:
        found = kept(folder)
        if found is None:
            raise PairingError(
                "this device is not paired: run `sluice pair` on the remote's machine and start "
                "here with --pair STRING (or --security none, for a remote on this machine)"
            )
        invitation = found
    identity = device_identity(invitation.seed).pem
    security = ClientSecurity(identity, pin=invitation.pin, folder=folder)
    over_udp = settings.transport == "atp-udp" or settings.paths
    keys = ClientKeys(identity, pin=invitation.pin) if over_udp else None
    return Remote(settings.remote or invitation.address, security, keys)
