"""Which user of this machine is at the other end of a TCP connection that never leaves it.

Linux tells in /proc/net/tcp and tcp6, a line a socket (proc(5)); other systems tell nobody. A
socket that its program has closed already is listed as root's, with inode 0: nobody's, here.
Reading takes a millisecond and blocks, so it is for a few requests and never on the event loop.
Must not know: HTTP, who may do what.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

Endpoint = tuple[str, int]
"""Address and port."""

FOLDER: Final = Path("/proc/net")
_LISTENING: Final = b"0A"
"""TCP_LISTEN (Linux, include/net/tcp_states.h)."""
_ANY: Final = ("0.0.0.0", "::")


def user_at(client: Endpoint, server: Endpoint) -> int | None:
    """Whose the client's socket is; None: the system does not tell, or it is closed."""
    for name, here, there in _spelt(client, server):
        needle = b" %s %s " % (here, there)
        for line in _lines(name):
            if needle in line and (user := _user(line.split())) is not None:
                return user
    return None


def user_listening(server: Endpoint) -> int | None:
    """Who listens there; None: the system does not tell, or nobody does."""
    host, port = server
    for one in (host, *_ANY):
        for name, here, _ in _spelt((one, port), (one, 0)):
            for line in _lines(name):
                words = line.split()
                if words[1] == here and words[3] == _LISTENING:
                    return _user(words)
    return None


def _user(words: list[bytes]) -> int | None:
    """The user of a line: none for a socket that no program holds."""
    user, inode = words[7], words[9]
    return int(user) if inode != b"0" else None


def _lines(name: str) -> Iterator[bytes]:
    try:
        with (FOLDER / name).open("rb") as file:
            next(file, None)  # the heading
            yield from file
    except OSError:
        return


def _spelt(one: Endpoint, other: Endpoint) -> Iterator[tuple[str, bytes, bytes]]:
    """The tables that may have a socket between the two, and how they write them: an IPv4 one may
    be an IPv6 socket of a mapped address."""
    try:
        addresses = [ipaddress.ip_address(host) for host, _ in (one, other)]
    except ValueError:
        return
    for name, version in (("tcp", 4), ("tcp6", 6)):
        written = []
        for address, (_, port) in zip(addresses, (one, other), strict=True):
            found: ipaddress.IPv4Address | ipaddress.IPv6Address | None = address
            if isinstance(address, ipaddress.IPv4Address) and version == 6:
                found = ipaddress.IPv6Address(f"::ffff:{address}")
            elif isinstance(address, ipaddress.IPv6Address) and version == 4:
                found = address.ipv4_mapped
            if found is not None:
                written.append(_written(found, port))
        if len(written) == 2:
            yield name, written[0], written[1]


def _written(address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> bytes:
    """As the kernel writes it: words of 32 bits in the machine's own order."""
    packed = address.packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return ("".join(f"{word:08X}" for word in words) + f":{port:04X}").encode("ascii")
