"""Reads IP packets for a link, which keeps none of them. Pure. Sources: RFC 791, RFC 9293."""

from __future__ import annotations

from typing import Final

_TCP: Final = 6
_SYN: Final = 0x02
_ACK: Final = 0x10
_MOST: Final = 100_000
"""Openings remembered, so that one sent again counts once."""


class Openings:
    """Counts TCP connections by their first packets."""

    def __init__(self) -> None:
        self.count = 0
        self._seen: set[bytes] = set()

    def note(self, packet: bytes) -> None:
        """Look at one packet, IPv4 or not, whole or not."""
        if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != _TCP:
            return
        start = (packet[0] & 0x0F) * 4
        if len(packet) < start + 20 or packet[start + 13] & (_SYN | _ACK) != _SYN:
            return
        # Addresses, ports and the initial sequence number.
        name = packet[12:20] + packet[start : start + 8]
        if name not in self._seen and len(self._seen) < _MOST:
            self._seen.add(name)
            self.count += 1
