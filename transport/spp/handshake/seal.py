"""Every datagram's encryption and authentication, and the refusal of what came before.

ChaCha20-Poly1305 (RFC 8439), a key for each direction; the nonce is the packet number, which is
never used twice, over a secret of the direction's (RFC 9001, 5.3); the header is authenticated.

Keys are replaced without a word on the wire: packet n is under generation n / 2^22, and each
generation's secret follows from the one before by HKDF and not the other way round (RFC 9001, 6).
Of forgeries a generation lasts 2^36 (RFC 9001, 6.6), after which the connection ends.

Pure. It knows not where the secrets come from (exchange.py).
"""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from transport.spp.core.packets import HEADER, SEALED, TAG

REKEY_BITS: Final = 22
"""4 million packets a generation: 6 GB of what one key protects."""
REPLAY_WINDOW: Final = 4096
"""Packets behind the newest that may still come late."""
MOST_FORGERIES: Final = 1 << 36
_HALF: Final = 1 << 32


class Forged(Exception):
    """Not from the peer, or not for this connection, or not for the first time. No news."""


class Seal:
    """Both directions of one connection."""

    def __init__(self, *, sending: bytes, receiving: bytes, own: bytes, peer: bytes) -> None:
        """Secrets of 32 bytes; connection ids, as this end's and the peer's datagrams bear them.

        `own` is in datagrams to this end, `peer` in those to the other.
        """
        self._peer = peer
        self._own = own
        self._sending = _Generation(sending, 0)
        self._receiving = _Generation(receiving, 0)
        self._before: _Generation | None = None
        self._next = _Generation(self._receiving.next_secret(), 1)
        self._seen = ReplayWindow()
        self.forgeries = 0
        """Datagrams that were nobody's."""

    @property
    def exhausted(self) -> bool:
        """So many were forged that one might be believed."""
        return self.forgeries >= MOST_FORGERIES

    def protect(self, number: int, frames: bytes) -> bytes:
        """The datagram of that number; numbers only rise."""
        generation = self._sending
        if number >> REKEY_BITS != generation.number:
            self._sending = generation = generation.next()
        header = HEADER.pack(SEALED, self._peer, number % _HALF)
        return header + generation.aead.encrypt(generation.nonce(number), frames, header)

    def open(self, datagram: bytes) -> tuple[int, bytes]:
        """Its number and frames. Raises Forged, and nothing has changed then but the count."""
        if len(datagram) < HEADER.size + TAG:
            raise Forged
        header = datagram[: HEADER.size]
        kind, name, low = HEADER.unpack(header)
        if kind != SEALED or name != self._own:
            raise Forged
        number = self._seen.expand(low)
        generation = self._generation(number >> REKEY_BITS)
        if generation is None or not self._seen.fresh(number):
            raise Forged
        try:
            nonce = generation.nonce(number)
            frames = generation.aead.decrypt(nonce, datagram[HEADER.size :], header)
        except InvalidTag:
            self.forgeries += 1
            raise Forged from None
        self._seen.note(number)
        if generation is self._next:
            self._before, self._receiving = self._receiving, generation
            self._next = generation.next()
        return number, frames

    def _generation(self, number: int) -> _Generation | None:
        for one in (self._receiving, self._next, self._before):
            if one is not None and one.number == number:
                return one
        return None


class _Generation:
    """The key of some millions of packets of one direction."""

    __slots__ = ("_iv", "_secret", "aead", "number")

    def __init__(self, secret: bytes, number: int) -> None:
        self._secret = secret
        self.number = number
        self.aead = ChaCha20Poly1305(expand(secret, b"key", 32))
        self._iv = int.from_bytes(expand(secret, b"iv", 12), "big")

    def nonce(self, number: int) -> bytes:
        return (self._iv ^ number).to_bytes(12, "big")

    def next_secret(self) -> bytes:
        return expand(self._secret, b"next", 32)

    def next(self) -> _Generation:
        return _Generation(self.next_secret(), self.number + 1)


class ReplayWindow:
    """Which of the newest numbers have come (RFC 4303, 3.4.3)."""

    def __init__(self) -> None:
        self._newest = -1
        self._seen = 0
        """Bit n: the number `_newest` - n."""

    def expand(self, low: int) -> int:
        """The number with this low half that is closest to the next one (RFC 9000, A.3)."""
        expected = self._newest + 1
        number = (expected & -_HALF) | low
        if number <= expected - _HALF // 2:
            return number + _HALF
        if number > expected + _HALF // 2 and number >= _HALF:
            return number - _HALF
        return number

    def fresh(self, number: int) -> bool:
        """Neither seen nor too old to tell."""
        age = self._newest - number
        return age < 0 or (age < REPLAY_WINDOW and not self._seen >> age & 1)

    def note(self, number: int) -> None:
        """It is authentic and here."""
        ahead = number - self._newest
        if ahead <= 0:
            self._seen |= 1 << -ahead
            return
        # A number far ahead leaves nothing of the window, so nothing needs to be shifted that far.
        kept = self._seen << ahead if ahead < REPLAY_WINDOW else 0
        self._seen = (kept | 1) & _MASK
        self._newest = number


_MASK: Final = (1 << REPLAY_WINDOW) - 1


def expand(secret: bytes, purpose: bytes, size: int) -> bytes:
    """HKDF-Expand (RFC 5869) under a label of this protocol's."""
    return HKDFExpand(algorithm=SHA256(), length=size, info=b"sluice spp " + purpose).derive(secret)
