"""The preamble of a lasting link on each of its connections, before its stream goes on.

The dialling end says which link this is and how many bytes of the other's stream it has; the
accepting end answers with the same. 25 bytes each way, one round trip:

    what u8, token 16 bytes, received u64        big-endian

A token is made by the accepting end when the link begins, from random bytes: who knows it has the
link, so it travels only where the connection is private. Pure.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from wire.errors import PeerError

TOKEN: Final = 16
"""Bytes of a token."""
NO_TOKEN: Final = bytes(TOKEN)
_LAYOUT: Final = struct.Struct(f">B{TOKEN}sQ")
SIZE: Final = _LAYOUT.size


class What(IntEnum):
    """The first byte."""

    OPEN = 0xA0
    """A new link; answered by OPEN with its token."""
    RESUME = 0xA1
    """The link of this token goes on; answered by RESUME, or by UNKNOWN."""
    SEGMENTS = 0xA3
    """Over TCP, before any of those: from here on, both ways, in segments of one size
    (transport/tcp/segmented.py). It has no answer."""
    JOIN = 0xA4
    """Over UDP, before any of those: this is a path of the connection that its device has named
    so, whose other paths may be there already (transport/multipath/). It has no answer."""
    UNKNOWN = 0xA2
    """There is no such link: the accepting end was restarted, or waited long enough."""


@dataclass(frozen=True, slots=True)
class Preamble:
    """One end's part of it."""

    what: What
    token: bytes = NO_TOKEN
    received: int = 0
    """Bytes of the other end's stream that are here."""

    def encode(self) -> bytes:
        """The preamble as SIZE bytes."""
        return _LAYOUT.pack(self.what, self.token, self.received)


def unknown(first: int) -> PeerError:
    """A connection that begins with this byte is none of ours, or of another version."""
    return PeerError(
        f"a connection began with 0x{first:02x}: that is no Sluice, or one of another version"
    )


def decode(data: bytes) -> Preamble:
    """The preamble in SIZE bytes. Raises PeerError if it is none."""
    what, token, received = _LAYOUT.unpack(data)
    try:
        return Preamble(What(what), token, received)
    except ValueError as error:
        raise unknown(what) from error
