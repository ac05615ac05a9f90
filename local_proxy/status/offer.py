"""Says what a program must know to use the proxy, and its authority in the forms that people need.

Pure. Must not know: pages; commands that ask a running proxy need nothing to write HTML with.
"""

from __future__ import annotations

import hashlib
import ssl

import msgspec


class Offer(msgspec.Struct, frozen=True):
    """/setup.json: what a program must know to use the proxy."""

    certificate: str | None = None
    """The authority to trust, PEM; None: https passes through untouched."""
    secure: bool = False
    """The proxy speaks TLS at the port of its plain listener."""
    private: list[str] = []
    """Private hosts and networks that it reaches, as in [local]."""


def fingerprint(certificate_pem: bytes) -> str:
    """SHA-256 of the certificate as people compare it: AB:CD:..."""
    return hashlib.sha256(der(certificate_pem)).digest().hex(":").upper()


def der(certificate_pem: bytes) -> bytes:
    """The certificate in DER (X.690), as phones and Windows install it."""
    return ssl.PEM_cert_to_DER_cert(certificate_pem.decode("ascii"))
