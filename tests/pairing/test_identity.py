"""Identities: a device's follows from its seed to the byte, everywhere and for good."""

from __future__ import annotations

import hashlib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from pairing.errors import PairingError
from pairing.identity import (
    certificate_of,
    certificate_pem,
    device_identity,
    load_identity,
    new_identity,
)
from transport.tcp.security import spki_pin

SEED = bytes(range(32))
CERTIFICATE = "80feb17df8f157ae36b77ed8e0f600a80abdc3e31166a6a78d96a193975e3818"
"""SHA-256 of the certificate that SEED stands for: if it changes, every paired device is lost."""


def test_the_same_seed_gives_the_same_bytes_and_always_has() -> None:
    one, other = device_identity(SEED), device_identity(SEED)
    assert one == other
    assert hashlib.sha256(one.certificate).hexdigest() == CERTIFICATE


def test_another_seed_gives_another_key() -> None:
    one, other = device_identity(SEED), device_identity(bytes(32))
    assert one.pin != other.pin
    assert one.certificate != other.certificate


def test_a_certificate_carries_a_key_and_names_nobody() -> None:
    for identity in (device_identity(SEED), new_identity()):
        certificate = x509.load_der_x509_certificate(identity.certificate)
        certificate.verify_directly_issued_by(certificate)
        assert not list(certificate.extensions)
        (name,) = certificate.subject
        assert name.value == identity.pin.hex()[:16]
        assert b"sluice" not in identity.certificate.lower()
        assert certificate.not_valid_before_utc.year == 1970
        assert certificate.not_valid_after_utc.year == 9999


def test_the_pin_is_the_hash_of_the_public_key() -> None:
    identity = new_identity()
    key = x509.load_der_x509_certificate(identity.certificate).public_key()
    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert identity.pin == hashlib.sha256(spki).digest() == spki_pin(identity.certificate)


def test_pem_forms_are_read_again() -> None:
    identity = new_identity()
    assert load_identity(identity.pem) == identity
    assert certificate_of(b"paired today\n" + certificate_pem(identity.certificate)) == (
        identity.certificate
    )


def test_secrets_stay_out_of_logs() -> None:
    assert "PRIVATE" not in repr(new_identity())


@pytest.mark.parametrize("pem", [b"", b"noise", new_identity().pem[:200], new_identity().pem[:-60]])
def test_what_is_no_identity_is_an_error(pem: bytes) -> None:
    with pytest.raises(PairingError):
        load_identity(pem)


def test_a_key_of_another_certificate_is_an_error() -> None:
    one, other = new_identity().pem, new_identity().pem
    key = other[other.index(b"-----BEGIN PRIVATE") :]
    with pytest.raises(PairingError, match="not the key's"):
        load_identity(one[: one.index(b"-----BEGIN PRIVATE")] + key)
