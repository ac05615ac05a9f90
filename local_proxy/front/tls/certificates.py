"""The certificates that the local authority makes, and how its file is read. Pure.

All keys are ECDSA P-256: every client knows it, and it costs a fraction of RSA. Must not know:
files, TLS, when a certificate is needed. Sources: RFC 5280, 4.2; RFC 6125 (names in the SAN only).
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BACKDATED: Final = timedelta(days=1)
"""Clocks that lag must not find a certificate of the future."""
ROOT_LIFE: Final = timedelta(days=5 * 365)
LEAF_LIFE: Final = timedelta(days=90)
"""Far below the 397 days that browsers take."""
_MAX_NAME: Final = 64
"""Characters of a common name (RFC 5280, appendix A: ub-common-name)."""


def root_certificate(
    key: ec.EllipticCurvePrivateKey,
    *,
    host: str,
    now: datetime,
    renews: x509.Certificate | None = None,
) -> x509.Certificate:
    """The authority's own certificate; `host` names the device. A renewal keeps the old name."""
    name = renews.subject if renews is not None else _root_name(host, now)
    builder = _builder(name, name, key.public_key(), now, ROOT_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
    # Good for servers alone: neither mail nor programs can be signed with it.
    builder = builder.add_extension(_SERVER, critical=False)
    builder = builder.add_extension(
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
    )
    return builder.sign(key, SHA256())


def leaf_certificate(
    host: str,
    *,
    key: ec.EllipticCurvePublicKey,
    issuer: x509.Certificate,
    issuer_key: ec.EllipticCurvePrivateKey,
    now: datetime,
) -> x509.Certificate:
    """A server's certificate for one host: an ASCII name or an IP address. Raises ValueError."""
    common = host if len(host) <= _MAX_NAME else "Sluice"  # names count in the SAN only
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
    life = min(LEAF_LIFE, issuer.not_valid_after_utc - now)
    builder = _builder(subject, issuer.subject, key, now, life)
    builder = builder.add_extension(
        x509.SubjectAlternativeName([_general_name(host)]), critical=False
    )
    builder = builder.add_extension(
        x509.BasicConstraints(ca=False, path_length=None), critical=True
    )
    builder = builder.add_extension(_usage(digital_signature=True), critical=True)
    builder = builder.add_extension(_SERVER, critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    return builder.sign(issuer_key, SHA256())


def parse(pem: bytes) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """Key and certificate of an authority's file. Raises ValueError, saying what is wrong."""
    try:
        key = load_pem_private_key(pem, None)
        certificate = x509.load_pem_x509_certificate(pem)
    except (ValueError, TypeError) as error:  # TypeError: the key has a password
        raise ValueError("it does not hold a readable key and certificate") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("its key is not an ECDSA key")
    if _spki(key.public_key()) != _spki(certificate.public_key()):
        raise ValueError("its key and its certificate do not belong together")
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (x509.ExtensionNotFound, ValueError):
        constraints = x509.BasicConstraints(ca=False, path_length=None)
    if not constraints.ca:
        raise ValueError("its certificate is not an authority's")
    if not certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        raise ValueError("its certificate has no name")
    return key, certificate


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def spki_sha256(certificate: x509.Certificate) -> str:
    """Base64 of the SHA-256 of its public key (RFC 7469, 2.4)."""
    digest = hashlib.sha256(_spki(certificate.public_key())).digest()
    return base64.b64encode(digest).decode("ascii")


def _spki(key: object) -> bytes:
    assert hasattr(key, "public_bytes")
    spki: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return spki


def _root_name(host: str, now: datetime) -> x509.Name:
    """A name under which people recognise it in a browser's list of authorities."""
    frame = f"Sluice local CA ({{}}, {now:%Y-%m-%d})"
    host = host[: _MAX_NAME - len(frame) + 2]
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, frame.format(host))])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(
        subject_name=subject,
        issuer_name=issuer,
        public_key=key,
        serial_number=x509.random_serial_number(),
        not_valid_before=now - BACKDATED,
        not_valid_after=now + life,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        if not host or len(host) > 253:
            raise ValueError(f"no certificate can be made for the name {host[:60]!r}") from None
        return x509.DNSName(host)


_SERVER: Final = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])


def _usage(
    *, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )
