"""Which of this machine's interfaces can carry a path (Linux; elsewhere those that are named)."""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

AUTO: Final = "auto"
"""All interfaces with a default route."""
_ROUTES: Final = Path("/proc/net/route")
_ROUTES_6: Final = Path("/proc/net/ipv6_route")
_SIOCGIFFLAGS: Final = 0x8913
_IFREQ: Final = struct.Struct("=16sH22x")
_UP: Final = 0x1 | 0x40
"""IFF_UP and IFF_RUNNING."""
_LOOPBACK: Final = "lo"


def usable(wanted: Sequence[str]) -> list[str]:
    """Which of the wanted ones are up; with AUTO among them all that lead out are wanted."""
    names = list(dict.fromkeys(name for name in wanted if name != AUTO))
    if AUTO in wanted:
        names += [name for name in default_routes() if name not in names]
    there = {name for _, name in socket.if_nameindex()}
    return [name for name in names if name in there and _is_up(name)]


def default_routes() -> list[str]:
    """Interfaces with a default route, as the kernel orders them; none where it does not tell."""
    found: dict[str, None] = {}
    with contextlib.suppress(OSError):
        for line in _ROUTES.read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 7 and fields[1] == fields[7] == "00000000":
                found[fields[0]] = None
    with contextlib.suppress(OSError):
        for line in _ROUTES_6.read_text(encoding="ascii").splitlines():
            fields = line.split()
            if len(fields) > 9 and fields[0] == "0" * 32 and fields[1] == "00":
                found[fields[-1]] = None
    return [name for name in found if name != _LOOPBACK]


def _is_up(name: str) -> bool:
    """As the kernel says (netdevice(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        try:
            answer = fcntl.ioctl(own, _SIOCGIFFLAGS, _IFREQ.pack(name.encode(), 0))
        except OSError:
            return False
    flags: int = _IFREQ.unpack(answer)[1]
    return flags & _UP == _UP
