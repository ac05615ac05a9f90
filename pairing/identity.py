"""Keys and certificates of both ends. Certificates only carry keys: their names
say nothing but the key's own hash.

A device's key and certificate follow from its seed alone, to the byte: Ed25519 signatures are
deterministic (RFC 8032, 5.1.6) and everything else is fixed. So the remote proxy, which makes the
seed, keeps the certificate only, and the device rebuilds both from its pairing string.

Dates are as wide as X.509 has them: a device whose clock is wrong must still be let in, and what
ends a pairing is its revocation.

Pure, but for `new_identity`, which draws a key.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from pairing.errors import PairingError

_PURPOSE: Final = b"sluice device key 1"
"""Never crosses the link: it keeps this key apart from others that the seed may be used for."""
_SERIAL: Final = 1
_SINCE: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNTIL: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""RFC 5280, 4.1.2.5: the date of certificates without a well-defined end."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A private key and its certificate."""

    pem: bytes = field(repr=False)
    """Certificate and PKCS#8 key, as TLS libraries load them."""
    certificate: bytes
    """DER."""
    pin: bytes
    """SHA-256 of the certificate's SubjectPublicKeyInfo."""


def device_identity(seed: bytes) -> Identity:
    """The identity that a pairing string's seed stands for; the same bytes on both ends."""
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(seed)
    return _certified(Ed25519PrivateKey.from_private_bytes(key))


def new_identity() -> Identity:
    """A fresh one, for a remote proxy."""
    return _certified(Ed25519PrivateKey.generate())


def load_identity(pem: bytes) -> Identity:
    """From its PEM form. Raises PairingError."""
    try:
        certificate = x509.load_pem_x509_certificate(pem)
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        raise PairingError(f"not a certificate with its key: {error}") from error
    if certificate.public_key() != key.public_key():
        raise PairingError("the certificate is not the key's")
    return _identity(certificate, pem)


def certificate_of(pem: bytes) -> bytes:
    """The DER form of a certificate's PEM form, text around it ignored. Raises PairingError."""
    try:
        return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
    except ValueError as error:
        raise PairingError(f"not a certificate: {error}") from error


def certificate_pem(certificate: bytes) -> bytes:
    """The PEM form of a DER certificate."""
    return x509.load_der_x509_certificate(certificate).public_bytes(Encoding.PEM)


def _certified(key: Ed25519PrivateKey) -> Identity:
    # A name of its own: among issuers of one name OpenSSL takes the first it finds for the signer.
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _pin(key.public_key()).hex()[:16])])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(_SERIAL)
        .not_valid_before(_SINCE)
        .not_valid_after(_UNTIL)
        .sign(key, None)
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return _identity(certificate, certificate.public_bytes(Encoding.PEM) + secret)


def _identity(certificate: x509.Certificate, pem: bytes) -> Identity:
    return Identity(
        pem=pem,
        certificate=certificate.public_bytes(Encoding.DER),
        pin=_pin(certificate.public_key()),
    )


def _pin(key: CertificatePublicKeyTypes) -> bytes:
    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(spki).digest()
