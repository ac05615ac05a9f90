"""`sluice pair`: makes a device and prints its string, lists devices, revokes one.

Works on the files beside a remote proxy that may be running, which notices by itself.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pairing.errors import PairingError
from pairing.invitation import format_address, parse_address, parse_addresses
from pairing.store import PairingStore

Say = Callable[[str], None]


class PairCommandSettings(Protocol):
    """What it reads of the configuration's [remote] section."""

    @property
    def listen(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def state(self) -> str: ...


def pair(settings: PairCommandSettings, name: str, *, out: Say, notice: Say) -> None:
    """Make a device and say its string, the only time that it is seen. Raises PairingError."""
    store = _store(settings)
    (host, port), *more = _addresses(settings, store, notice)
    if not store.used:
        notice(
            f"a remote's identity is made in {store.folder}: let `sluice remote` run as this user, "
            f"or with --state {store.folder}"
        )
    invitation = store.pair(name, host=host, port=port, more=more)
    out(str(invitation))
    notice("whoever has this line is that device: hand it over as you would a password")


def list_devices(settings: PairCommandSettings, *, out: Say, notice: Say) -> None:
    """Say each paired device's name and when it was paired. Raises PairingError."""
    devices, wrong = _store(settings).devices()
    for line in wrong:
        notice(line)
    if not devices:
        notice("no device is paired")
    width = max((len(device.name) for device in devices), default=0)
    for device in devices:
        out(f"{device.name:{width}}  {device.paired}")


def revoke(settings: PairCommandSettings, name: str, *, notice: Say) -> None:
    """Let a device in no more. Raises PairingError."""
    _store(settings).revoke(name)
    notice(f"{name} is revoked; a session of it ends within a second")


def _store(settings: PairCommandSettings) -> PairingStore:
    return PairingStore(Path(settings.state))


def _addresses(
    settings: PairCommandSettings, store: PairingStore, notice: Say
) -> list[tuple[str, int]]:
    """Where devices reach the remote: as configured, else where it listens or listened last.

    Raises PairingError where no other machine reaches that: a string with it would be of no use.
    """
    if settings.address:
        return parse_addresses(settings.address)
    host, port = store.listened() or parse_address(settings.listen)
    ip = _as_ip(host)
    if ip is None:
        return [(host, port)]
    own = _own_address(ip.version) if ip.is_unspecified else host
    if own is None or ip.is_loopback:
        raise PairingError(
            f"which address do devices reach this remote at? It listens on "
            f"{format_address(host, port)}, which other machines can't use. Say it with --address "
            f"HOST:PORT, such as --address proxy.example:{port or 8119}"
        )
    if own != host:
        notice(
            f"the address {own} is a guess: where devices reach this machine by another, revoke "
            "this one and pair with --address HOST:PORT"
        )
    return [(own, port)]


def _as_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address; None: it is a name, which may be known elsewhere."""
    try:
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        return None


def _own_address(version: int) -> str | None:
    """The address that this machine would use towards the Internet; nothing is sent. None: it has
    none but its own loopback."""
    family, there = (
        (socket.AF_INET, "192.0.2.1") if version == 4 else (socket.AF_INET6, "2001:db8::1")
    )
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((there, 9))
            own = str(probe.getsockname()[0])
    except OSError:
        return None
    return None if ipaddress.ip_address(own).is_loopback else own
