"""`sluice pair`: makes a device and prints its string, lists devices, revokes one.

Works on the files beside a remote proxy that may be running, which notices by itself.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from pairing.errors import PairingError
from pairing.invitation import MOST_ADDRESSES, format_address, parse_address, parse_addresses
from pairing.qr import drawn
from pairing.store import PairingStore
from setting_values import Processes, how_many

Say = Callable[[str], None]
_LAST: Final = 65535


class PairCommandSettings(Protocol):
    """What it reads of the configuration's [remote] section."""

    @property
    def listen(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def processes(self) -> Processes: ...


def pair(
    settings: PairCommandSettings, name: str, *, out: Say, notice: Say, draw: Say | None = None
) -> None:
    """Make a device and say its string, the only time that it is seen. Raises PairingError.

    `draw` is told it as lines that a camera can read (qr.py).
    """
    store = _store(settings)
    (host, port), *more = _spread(_addresses(settings, store, notice))
    if not store.used:
        notice(
            f"a remote's identity is made in {store.folder}: let `sluice remote` run as this user, "
            f"or with --state {store.folder}"
        )
    invitation = store.pair(name, host=host, port=port, more=more)
    out(str(invitation))
    if draw is not None:
        draw(drawn(str(invitation)))
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


def _spread(machines: list[list[tuple[str, int]]]) -> list[tuple[str, int]]:
    """As many as a string may have. Of the processes of a machine any may be the first, so that
    devices are spread over them."""
    found = []
    for processes in machines:
        first = secrets.randbelow(len(processes))
        turned = processes[first:] + processes[:first]
        found += turned[: MOST_ADDRESSES // len(machines)]
    return found


def _addresses(
    settings: PairCommandSettings, store: PairingStore, notice: Say
) -> list[list[tuple[str, int]]]:
    """Where devices reach each machine's processes: as configured, else where they listen or
    listened last.

    Raises PairingError where no other machine reaches that: a string with it would be of no use.
    """
    listened = store.listened() or _processes(settings)
    host, port = listened[0]
    if settings.address:
        further = [one - port for _, one in listened]
        return [_behind(*one, further) for one in parse_addresses(settings.address)]
    parse_address(format_address(host, port))  # port 0 leads nowhere
    ip = _as_ip(host)
    if ip is None:
        return [listened]
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
    return [[(own, one) for _, one in listened]]


def _processes(settings: PairCommandSettings) -> list[tuple[str, int]]:
    """Where they will listen. Raises PairingError."""
    host, _, port = settings.listen.rpartition(":")
    return _behind(host.strip("[]"), int(port), range(how_many(settings.processes)))


def _behind(host: str, port: int, further: Sequence[int]) -> list[tuple[str, int]]:
    """Where processes are whose first is there. Raises PairingError."""
    found = [(host, port + number) for number in further]
    if not all(0 < one <= _LAST or one == port for _, one in found):
        raise PairingError(f"{len(found)} processes have no ports from {port} on")
    return found


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
