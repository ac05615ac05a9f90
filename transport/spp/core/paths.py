"""Where the peer lives: addresses that it has proved, and one that it may have moved to.

A client behind a NAT may get another address at any moment. An authentic datagram from a new one is
no proof: somebody on the path can copy datagrams. So the new address is asked for the echo of a
challenge, sealed, and data goes there once it came from there (RFC 9000, 8.2 and 9.3). Until then
no more than three times the bytes that came from it go to it, and data stays on the proven one.
Pure; chance is an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from transport.spp.core.packets import TOKEN

Address = tuple[str, int]
"""Host and port."""
AMPLIFICATION: Final = 3
"""Bytes to an unproven address for each from it (RFC 9000, 8)."""
_MOST_ASKED: Final = 5
"""Challenges to one address."""


class Paths:
    """The paths of one connection."""

    def __init__(self, address: Address | None, *, chance: Callable[[int], bytes]) -> None:
        """`address` is proven by the handshake; None: there is one peer and no other place."""
        self.address = address
        self._chance = chance
        self._candidate: Address | None = None
        self._token = b""
        self._credit = 0
        """Bytes that may go to the candidate."""
        self._asked = 0
        self._due = False

    def arrived(self, address: Address | None, size: int, *, newest: bool) -> None:
        """An authentic datagram came from there; `newest`: it is later than all before."""
        if address is None or self.address is None or address == self.address:
            if newest:
                self._candidate = None  # back where it was
            return
        if address != self._candidate:
            if not newest:
                return  # a late one from where it used to be
            self._candidate, self._token = address, self._chance(TOKEN)
            self._credit = self._asked = 0
        self._credit += AMPLIFICATION * size
        self._due = self._asked < _MOST_ASKED

    def challenge(self, size: int) -> tuple[Address, bytes] | None:
        """Where to send which token in a datagram of that size, now; it counts as sent."""
        if self._candidate is None or not self._due or size > self._credit:
            return None
        self._credit -= size
        self._asked += 1
        self._due = False
        return self._candidate, self._token

    @property
    def asking(self) -> bool:
        """A challenge is due."""
        return self._candidate is not None and self._due

    def answered(self, token: bytes, address: Address | None) -> bool:
        """An echo came from there; has the peer moved?"""
        if self._candidate is None or address != self._candidate or token != self._token:
            return False
        self.address, self._candidate = self._candidate, None
        return True
