"""How a device learns that its remote has forgotten their connection: a stateless reset.

    device                                    remote
    QUERY   names, tag                    ->                    only in doubt
                                          <-  RESET   name, token    only if there is none such

A remote that was restarted has no keys of its connections, so it can't answer their datagrams. It
makes the token of each from a key that it keeps and the connection's names, and tells it in the
handshake: who sends it back must be that remote (RFC 9000, 10.3). QUIC resets whoever sends it a
datagram that it does not know, strangers too; here one must ask with a tag under the remote's pin,
so it stays silent towards strangers. A RESET is shorter than the QUERY, so nothing is amplified;
and whoever replays one of them ends only what is over.

Pure.
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from typing import Final

from transport.spp.core.packets import CONNECTION_ID
from transport.spp.handshake.seal import Forged
from transport.spp.handshake.tags import tagged, untagged

QUERY: Final = 0x56
RESET: Final = 0x57
TOKEN: Final = 16
"""Bytes (RFC 9000, 10.3)."""
_QUERY: Final = struct.Struct(f">B{CONNECTION_ID}s{CONNECTION_ID}s")
"""Kind, the remote's name of the connection, the device's."""
_RESET: Final = struct.Struct(f">B{CONNECTION_ID}s{TOKEN}s")


@dataclass(frozen=True, slots=True)
class ResetWatch:
    """What a device has of one connection to find out whether there is one still."""

    query: bytes
    """The datagram to send in doubt."""
    answer: bytes
    """The one that says that there is none."""

    def says(self, datagram: bytes) -> bool:
        """Is that it?"""
        return hmac.compare_digest(datagram, self.answer)


def reset_of(pin: bytes, *, remote: bytes, device: bytes, token: bytes) -> ResetWatch:
    """The device's end of it; `remote` and `device` are the connection's names."""
    query = tagged(pin, _QUERY.pack(QUERY, remote, device))
    return ResetWatch(query, _RESET.pack(RESET, device, token))


def token_of(key: bytes, *, remote: bytes, device: bytes) -> bytes:
    """The token of a connection; `key` is the remote's alone."""
    return hmac.digest(key, remote + device, "sha256")[:TOKEN]


def parse_query(pin: bytes, datagram: bytes) -> tuple[bytes, bytes]:
    """The connection's names at the remote and at the device. Raises Forged."""
    body = untagged(pin, datagram)
    if len(body) != _QUERY.size:
        raise Forged
    kind, remote, device = _QUERY.unpack(body)
    if kind != QUERY:
        raise Forged
    return remote, device


def reset(key: bytes, *, remote: bytes, device: bytes) -> bytes:
    """The answer: there is no such connection."""
    return _RESET.pack(RESET, device, token_of(key, remote=remote, device=device))
