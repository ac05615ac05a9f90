"""Who may be at the other end of a link, and the TLS settings of both ends.

TLS 1.3 only, without tickets (so neither resumption nor 0-RTT, which could be replayed). Both
ends have self-signed certificates. The client knows its one server by a pin, SHA-256 of its
SubjectPublicKeyInfo; the server knows its devices by their whole certificates. Neither names nor
authorities play a part.

It does not know where certificates come from (pairing/).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from transport.link.interface import NotTrusted, WrongPeer
from transport.link.records import ProvenPeer
from transport.tcp.secret_file import secret_file
from transport.tcp.tls import TlsRecords, secure

TIMEOUT: Final = 20.0
"""Seconds for a handshake: one round trip and 1.2 kB, minutes less than any link takes for it."""


class ClientSecurity:
    """A device's end: shows its certificate to the one server that has the pinned key."""

    def __init__(self, identity: bytes, *, pin: bytes, folder: Path | None = None) -> None:
        """`identity`: certificate and key, PEM. `pin`: SHA-256 of the server's key (SPKI).

        `folder`: the owner's own, where the key may lie for a moment if it must (secret_file.py).
        """
        context = _context(ssl.PROTOCOL_TLS_CLIENT, identity, folder)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # the pin decides; that the key is there, TLS proves
        self._context = context
        self.pin = pin
        """SHA-256 of the key of the one server that it talks to."""

    async def secure(self, connection: socket.socket, *, timeout: float = TIMEOUT) -> TlsRecords:
        """The handshake. Raises LinkError, NotTrusted, WrongPeer."""
        return await secure(
            connection,
            self._context,
            server_side=False,
            timeout=timeout,
            recognise=self._recognise,
        )

    def _recognise(self, certificate: bytes) -> ProvenPeer:
        if not certificate or not hmac.compare_digest(spki_pin(certificate), self.pin):
            raise WrongPeer(
                "who answers is not the remote that this device was paired with: it was set up "
                "anew (run `sluice pair` there and start with --pair), or somebody is in between"
            )
        return ProvenPeer("", hashlib.sha256(certificate).hexdigest())


class ServerSecurity:
    """A server's end. Which devices it lets in may change while it serves."""

    def __init__(
        self,
        identity: bytes,
        devices: Mapping[bytes, str],
        *,
        look: Callable[[], object] = lambda: None,
        folder: Path | None = None,
    ) -> None:
        """`identity`: certificate and key, PEM. `devices`: names by certificate, DER.

        `look` is called before each handshake, and may let others in. `folder`: as the client's.
        """
        self._identity = identity
        self._folder = folder
        self._look = look
        self.let_in(devices)

    def let_in(self, devices: Mapping[bytes, str]) -> None:
        """From now on these and no others; handshakes under way are held to it at their end."""
        context = _context(ssl.PROTOCOL_TLS_SERVER, self._identity, self._folder)
        context.verify_mode = ssl.CERT_REQUIRED
        context.num_tickets = 0
        for certificate in devices:
            context.load_verify_locations(cadata=certificate)
        self._context = context
        self._peers = {
            certificate: ProvenPeer(name, hashlib.sha256(certificate).hexdigest())
            for certificate, name in devices.items()
        }

    @property
    def devices(self) -> int:
        """How many it would let in."""
        return len(self._peers)

    def knows(self, peer: ProvenPeer) -> bool:
        """Is it (still) one of them, under that name?"""
        return peer in self._peers.values()

    async def secure(self, connection: socket.socket, *, timeout: float = TIMEOUT) -> TlsRecords:
        """The handshake. Raises LinkError, NotTrusted."""
        self._look()
        return await secure(
            connection, self._context, server_side=True, timeout=timeout, recognise=self._recognise
        )

    def _recognise(self, certificate: bytes) -> ProvenPeer:
        # To OpenSSL each device's certificate is an authority, whose key could sign others.
        peer = self._peers.get(certificate)
        if peer is None:
            raise NotTrusted("its certificate is no paired device's")
        return peer


def spki_pin(certificate: bytes) -> bytes:
    """SHA-256 of a DER certificate's SubjectPublicKeyInfo (RFC 7469, 2.4). Raises NotTrusted."""
    try:
        key = x509.load_der_x509_certificate(certificate).public_key()
        spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except (ValueError, x509.UnsupportedGeneralNameType) as error:
        raise NotTrusted(f"the peer's certificate can't be read: {error}") from error
    return hashlib.sha256(spki).digest()


def is_loopback(host: str) -> bool:
    """Does the name or address stay on this machine?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _context(protocol: int, identity: bytes, folder: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_COMPRESSION
    with secret_file(identity, folder=folder) as path:
        context.load_cert_chain(path)
    return context
