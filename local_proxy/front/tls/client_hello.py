"""Reads a TLS client's first words, as far as they decide whether to adapt its connection. Pure.

Reads the ClientHello however its bytes are cut into records, and nothing after it. Whatever it
can't read is not TLS: the tunnel stays opaque. Sources: RFC 8446, 4.1.2 and 5.1; RFC 6066, 3 (the
server's name); RFC 7301 (ALPN); RFC 8701 (GREASE: unknown values are ignored).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

MAX_HELLO: Final = 16384
"""Bytes; browsers send up to 2 KB, with post-quantum key shares and a resumption ticket."""
_MAX_RECORDS: Final = 64
"""A hello cut finer than this is somebody's test, or somebody's attack."""
_HANDSHAKE: Final = 22
_CLIENT_HELLO: Final = 1
_MAX_RECORD: Final = 16384
_SERVER_NAME, _ALPN, _VERSIONS = 0, 16, 43
_TLS12: Final = 0x0303


@dataclass(frozen=True, slots=True)
class ClientHello:
    """What it offers."""

    server_name: str | None
    """ASCII, lower case, without a trailing dot; None: it names no server."""
    alpn: tuple[str, ...]
    """Empty: it does not say what it will speak."""
    modern: bool
    """It can do TLS 1.2 or newer."""


def parse_client_hello(data: bytes | bytearray) -> ClientHello | None:
    """The client's hello; None: more bytes are needed. Raises ValueError: this is not one."""
    message = bytearray()
    at, wanted, records = 0, 4, 0
    while len(message) < wanted:
        records += 1
        if records > _MAX_RECORDS:
            raise ValueError("cut into too many records")
        head = bytes(data[at : at + 5])
        _check_record(head)
        if len(head) < 5:
            return None
        length = int.from_bytes(head[3:5])
        fragment = data[at + 5 : at + 5 + length]
        message += fragment
        at += 5 + length
        if len(message) >= 1 and message[0] != _CLIENT_HELLO:
            raise ValueError("not a ClientHello")
        if len(message) >= 4:
            wanted = 4 + int.from_bytes(message[1:4])
            if wanted > MAX_HELLO:
                raise ValueError("longer than any ClientHello")
        if len(fragment) < length:
            return None
    return _parse(_Reader(bytes(message[4:wanted])))


def _check_record(head: bytes) -> None:
    """Raises ValueError unless these bytes may begin a handshake record."""
    if head[:1] not in (b"", b"\x16") or head[1:2] not in (b"", b"\x03"):
        raise ValueError("not a TLS handshake")
    if len(head) == 5 and not 0 < int.from_bytes(head[3:5]) <= _MAX_RECORD:
        raise ValueError("not a TLS record")


class _Reader:
    """Vectors of the TLS presentation language (RFC 8446, 3.4)."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise ValueError("cut short")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, size: int) -> _Reader:
        """A vector whose length takes `size` bytes."""
        return _Reader(self.take(self.number(size)))

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)


def _parse(hello: _Reader) -> ClientHello:
    version = hello.number(2)
    hello.take(32)  # random
    hello.vector(1)  # session id
    hello.vector(2)  # cipher suites
    hello.vector(1)  # compression methods
    name: str | None = None
    alpn: tuple[str, ...] = ()
    modern = version >= _TLS12
    extensions = hello.vector(2) if hello else _Reader(b"")
    while extensions:
        kind, body = extensions.number(2), extensions.vector(2)
        if kind == _SERVER_NAME:
            name = _server_name(body)
        elif kind == _ALPN:
            alpn = _protocols(body)
        elif kind == _VERSIONS:
            versions = body.vector(1).rest()
            offered = struct.unpack(f">{len(versions) // 2}H", versions[: len(versions) // 2 * 2])
            modern = any(one in (_TLS12, _TLS12 + 1) for one in offered)
    return ClientHello(name, alpn, modern)


def _server_name(body: _Reader) -> str | None:
    names = body.vector(2)
    while names:
        kind, name = names.number(1), names.vector(2).rest()
        if kind == 0:
            return name.decode("ascii").lower().rstrip(".")
    return None


def _protocols(body: _Reader) -> tuple[str, ...]:
    found = []
    names = body.vector(2)
    while names:
        found.append(names.vector(1).rest().decode("latin-1"))
    return tuple(found)
