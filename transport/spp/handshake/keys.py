"""Who an end is and whom it talks to: what paired ends have, as SPP's handshake uses it.

Both ends have Ed25519 keys in certificates (pairing/identity.py makes them; this module knows no
pairing). The device knows its one remote by a pin, SHA-256 of the key's SubjectPublicKeyInfo; the
remote knows its devices by their certificates, as over TLS (transport/tcp/security.py).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from transport.link.interface import NotTrusted
from transport.link.records import ProvenPeer
from transport.spp.handshake.seal import expand

PUBLIC: Final = 32
"""Bytes of an Ed25519 public key (RFC 8032)."""


class ClientKeys:
    """The keys of a device: its own, and the pin of the one remote that it talks to."""

    def __init__(self, identity: bytes, *, pin: bytes) -> None:
        """`identity`: certificate and key, PEM. Raises ValueError unless the key is Ed25519."""
        self.signing, certificate = _load(identity)
        self.fingerprint = hashlib.sha256(certificate).digest()
        """What the remote knows it by."""
        self.pin = pin

    def recognises(self, public: bytes) -> bool:
        """Is that the remote's key?"""
        return hmac.compare_digest(pin_of(public), self.pin)


class ServerKeys:
    """The keys of a remote: its own, and its devices', which may change while it serves."""

    def __init__(
        self,
        identity: bytes,
        devices: Mapping[bytes, str],
        *,
        look: Callable[[], object] = lambda: None,
    ) -> None:
        """`identity`: certificate and key, PEM. `devices`: names by certificate, DER.

        `look` is called before a device is recognised, and may let others in. Raises ValueError
        unless the keys are Ed25519.
        """
        self.signing, _ = _load(identity)
        self.public = raw(self.signing.public_key())
        self.pin = pin_of(self.public)
        self.reset = expand(self.signing.private_bytes_raw(), b"reset", 32)
        """What reset tokens are made with; the same after a restart."""
        self._look = look
        self.let_in(devices)

    def let_in(self, devices: Mapping[bytes, str]) -> None:
        """From now on these and no others."""
        self._devices = {
            hashlib.sha256(one).digest(): (
                _public(one),
                ProvenPeer(name, hashlib.sha256(one).hexdigest()),
            )
            for one, name in devices.items()
        }

    def knows(self, peer: ProvenPeer) -> bool:
        """Is it (still) one of them, under that name?"""
        found = self._devices.get(bytes.fromhex(peer.id))
        return found is not None and found[1] == peer

    def device(self, fingerprint: bytes) -> tuple[Ed25519PublicKey, ProvenPeer]:
        """The device whose certificate this is. Raises NotTrusted."""
        self._look()
        found = self._devices.get(fingerprint)
        if found is None:
            raise NotTrusted("its certificate is no paired device's")
        return found


def pin_of(public: bytes) -> bytes:
    """SHA-256 of the key's SubjectPublicKeyInfo (RFC 7469, 2.4)."""
    key = Ed25519PublicKey.from_public_bytes(public)
    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(spki).digest()


def raw(key: Ed25519PublicKey) -> bytes:
    """Its 32 bytes."""
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _load(identity: bytes) -> tuple[Ed25519PrivateKey, bytes]:
    """Key, and certificate in DER. Raises ValueError."""
    key = load_pem_private_key(identity, password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError("SPP's handshake signs with Ed25519 keys alone: pair this end anew")
    return key, x509.load_pem_x509_certificate(identity).public_bytes(Encoding.DER)


def _public(certificate: bytes) -> Ed25519PublicKey:
    key = x509.load_der_x509_certificate(certificate).public_key()
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError("a device's certificate has no Ed25519 key: pair it anew")
    return key
