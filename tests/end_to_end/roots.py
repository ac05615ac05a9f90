"""A root of trust for tests, and servers' certificates under it, good and bad."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from local_proxy.front.tls.certificates import spki_sha256
from remote_proxy.reach.certificates import client_context

DAY = timedelta(days=1)


class Root:
    """An authority whose key lives as long as the test."""

    def __init__(self, folder: Path, *, name: str = "test root") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(
            self._name, self._name, self._key.public_key(), 1, now - DAY, now + DAY
        ).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.pem = builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM)
        self.file = folder / f"{name.replace(' ', '-')}.pem"
        self.file.write_bytes(self.pem)
        self.last_spki = ""
        """Of the newest server's key, for Chromium."""

    def trusted(self) -> ssl.SSLContext:
        """What a remote proxy that trusts it verifies with."""
        return client_context(str(self.file))

    def server(
        self,
        *names: str,
        ends: timedelta = DAY,
        begins: timedelta = -DAY,
        self_signed: bool = False,
    ) -> ssl.SSLContext:
        """A server's context for these names and addresses, valid between two times from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(
            subject if self_signed else self._name,
            subject,
            key.public_key(),
            x509.random_serial_number(),
            now + begins,
            now + ends,
        ).add_extension(x509.SubjectAlternativeName([_name(one) for one in names]), critical=False)
        leaf = builder.sign(key if self_signed else self._key, SHA256())
        file = self._folder / f"{names[0]}.pem"
        file.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            + leaf.public_bytes(Encoding.PEM)
        )
        self.last_spki = spki_sha256(leaf)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
