"""Reads and writes the words of SOCKS 5: a greeting, a request, replies. Pure (RFC 1928).

Nobody has to prove anything: who may use the port is decided before (clients.py), as for HTTP.
"""

from __future__ import annotations

from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

VERSION: Final = 5
_NO_PROOF: Final = 0
GREETED: Final = bytes((VERSION, _NO_PROOF))
"""No authentication is needed."""
NO_METHOD: Final = bytes((VERSION, 0xFF))
"""None of the methods that were offered will do."""
LONGEST: Final = 4 + 1 + 255 + 2
"""Bytes of a request at most."""


class SocksReply(IntEnum):
    """What becomes of a request (section 6)."""

    DONE = 0
    FAILED = 1
    NOT_ALLOWED = 2
    UNREACHABLE = 4
    REFUSED = 5
    NO_COMMAND = 7
    NO_ADDRESS_TYPE = 8


class SocksError(Exception):
    """The client speaks something else, or asks for what there is not."""

    def __init__(self, why: str, reply: SocksReply | None = None) -> None:
        """`reply`: what it is told; None: nothing that it would understand."""
        super().__init__(why)
        self.reply = reply


class SocksTarget(NamedTuple):
    """What a client wants to be connected to."""

    host: str
    """A name, or an address; IPv6 in brackets."""
    port: int


def greeting(data: bytes) -> tuple[bool, int] | None:
    """Whether it can do without authentication, and the bytes of the greeting; None: more is to
    come. Raises SocksError."""
    if data[:1] and data[0] != VERSION:
        raise SocksError(f"version {data[0]}")
    if len(data) < 2 or len(data) < 2 + data[1]:
        return None
    return _NO_PROOF in data[2 : 2 + data[1]], 2 + data[1]


def request(data: bytes) -> tuple[SocksTarget, int] | None:
    """What it asks for, and the bytes of that; None: more is to come. Raises SocksError."""
    if data[:1] and data[0] != VERSION:
        raise SocksError(f"version {data[0]}")
    if len(data) < 5:
        return None
    command, kind = data[1], data[3]
    begins, length = 4, {1: 4, 4: 16}.get(kind, 0)
    if kind == 3:
        begins, length = 5, data[4]
    if not length:
        raise SocksError(f"address type {kind}", SocksReply.NO_ADDRESS_TYPE)
    ends = begins + length
    if len(data) < ends + 2:
        return None
    if command != 1:
        raise SocksError(f"command {command}", SocksReply.NO_COMMAND)
    address = bytes(data[begins:ends])
    port = int.from_bytes(data[ends : ends + 2], "big")
    return SocksTarget(_host(kind, address), port), ends + 2


def reply(what: SocksReply) -> bytes:
    """The reply; an address of ours is nothing that a client could use."""
    return bytes((VERSION, what, 0, 1)) + bytes(6)


def _host(kind: int, address: bytes) -> str:
    if kind == 1:
        return str(IPv4Address(address))
    if kind == 4:
        return f"[{IPv6Address(address)}]"
    try:
        return address.decode("ascii")
    except UnicodeDecodeError:
        raise SocksError("a name that is not ASCII", SocksReply.FAILED) from None
