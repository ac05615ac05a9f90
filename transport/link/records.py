"""The seam between a link and what protects its bytes: chunks in, socket bytes out, and back.

A chunk becomes socket bytes at the moment it is sent, so nothing waits behind the choice of what
goes next. Sans-IO.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ProvenPeer:
    """Who is at the other end, as it has proved."""

    name: str
    """As the device was paired; empty for a remote proxy."""
    id: str
    """SHA-256 of its certificate, hexadecimal: a name may be given anew, this can't."""


class Records(Protocol):
    """One connection's protection. Every method but `farewell` may raise LinkError."""

    @property
    def peer(self) -> ProvenPeer | None:
        """Who is at the other end; None: nobody has proved anything."""

    @property
    def overhead(self) -> int:
        """Bytes that protecting a chunk adds, whatever its length."""

    @property
    def arriving(self) -> int:
        """Bytes of plaintext that have come of a record that has not ended, so can't be read."""

    def protect(self, chunk: bytes) -> bytes:
        """The socket bytes of one chunk, all of them."""

    def unprotect(self, data: bytes) -> tuple[bytes, bytes]:
        """What `data` from the socket says, and socket bytes that must be sent in return.

        Given nothing it returns what came behind the handshake.
        """

    def ended(self) -> None:
        """The socket's bytes have ended. Raises LinkError unless the peer has said farewell."""

    def farewell(self) -> bytes:
        """The socket bytes that say that this end closes on purpose. The last ones."""


class Plain:
    """No protection: for loopback, tunnels and measurements."""

    peer: ProvenPeer | None = None
    overhead = 0
    arriving = 0

    def protect(self, chunk: bytes) -> bytes:
        return chunk

    def unprotect(self, data: bytes) -> tuple[bytes, bytes]:
        return data, b""

    def ended(self) -> None:
        """Any end is a good one: TCP can't tell."""

    def farewell(self) -> bytes:
        return b""
