"""Holds what an owner may set of an RCP connection, with the values it has otherwise. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LARGEST: Final = 8 << 20
"""Bytes of a receive buffer of ours at most: 50 Mbit/s by a satellite beside other paths."""
HEADERS: Final = 28 + 29
"""Bytes of a packet beside its segment: IPv4 and UDP, and SPP's header and tag."""


@dataclass(frozen=True, slots=True)
class RcpSettings:
    """What one end has set."""

    size: int = 1_160
    """Bytes of data in a segment at most: what SPP's smallest datagrams take of 1,200."""
    buffer: int = 1 << 20
    """Bytes that may be expected, or arrived and unread;"""
    largest: int = 0
    """so many at most, where several paths share them and these limit what comes
    (transport/r2cp/buffer_growth.py); 0: they are not widened."""
    headers: int = HEADERS
    delay: float = 0.04
    """Seconds that the request for a single segment waits for a second one, as kernels delay
    acknowledgements."""

    @property
    def packet(self) -> int:
        """Bytes of a full packet, DATA's own header included at its usual length."""
        return self.size + self.headers + 11
