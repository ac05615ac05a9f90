"""Seals what remotes of one identity leave in places that others can read and write.

The keys follow from the identity's private key, one for each purpose, so no remote has to be told
them: who has the identity reads and writes, everybody else learns nothing and is believed nothing.
He can put back what was there before. Sources: RFC 5869 (HKDF), RFC 8439 (ChaCha20-Poly1305). Pure.
"""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from pairing.identity import Identity

NONCE: Final = 12
"""Bytes, of which no two are alike (RFC 8439, 2.8)."""


class IdentitySeal:
    """One key and what it is for."""

    def __init__(self, key: bytes, purpose: bytes) -> None:
        """`key`: 32 bytes, for nothing else. `purpose` is part of all that is sealed."""
        self.key = key
        self._purpose = purpose
        self._cipher = ChaCha20Poly1305(key)

    def part(self, name: bytes) -> IdentitySeal:
        """Derive the seal of one of several that must not be taken for each other."""
        purpose = self._purpose + b"\0" + name
        return IdentitySeal(_derived(self.key, purpose), purpose)

    def seal(self, data: bytes, nonce: bytes) -> bytes:
        """IdentitySeal bytes. `nonce`: NONCE random ones."""
        return nonce + self._cipher.encrypt(nonce, data, self._purpose)

    def open(self, data: bytes) -> bytes | None:
        """Return what was sealed; None: it was not, with this seal."""
        try:
            return self._cipher.decrypt(data[:NONCE], data[NONCE:], self._purpose)
        except (InvalidTag, ValueError):
            return None


def seal_of(identity: Identity, purpose: bytes) -> IdentitySeal:
    """Return the seal that remotes of that identity have for a purpose."""
    key = load_pem_private_key(identity.pem, password=None)
    secret = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return IdentitySeal(_derived(secret, purpose), purpose)


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret)
