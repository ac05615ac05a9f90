"""TLS 1.3 (RFC 8446) between the two proxies: the handshake, then records without a socket.

OpenSSL works on two memory buffers, never on the socket: what it protects comes out at once and
is sent by whoever chose it. A record costs 22 bytes: header 5, content type 1, tag 16.

It knows neither devices nor pins: who is let in is `recognise`'s business
(transport/tcp/security.py)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Final

from transport.link.interface import LinkError, NotTrusted
from transport.link.records import ProvenPeer

RECORD_OVERHEAD: Final = 22
"""Bytes a record adds to its chunk (RFC 8446, 5.2, with a 16-byte tag)."""
LARGEST_RECORD: Final = 16_384
"""Bytes of plaintext; longer chunks take several records."""
_READ: Final = 65_536
_MOST_HANDSHAKE: Final = 32_768
"""Bytes a peer may send before its handshake is done; ours take 610 in all."""

UNKNOWN_HERE: Final = (
    "the remote does not know this device (revoked, or paired with another remote): run "
    "`sluice pair` there and start with --pair"
)
_ABOUT_CERTIFICATES: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
"""In OpenSSL's names of the alerts by which a server refuses a client (RFC 8446, 6.2)."""

_HEADER: Final = 5
_BEHIND: Final = RECORD_OVERHEAD - _HEADER
"""Bytes of a record behind its plaintext: content type and tag."""

Recognise = Callable[[bytes], ProvenPeer]
"""Who has this certificate (DER)? Raises NotTrusted if that is nobody we talk to."""


class RecordProgress:
    """How much has come of the record that is arriving.

    A record is opened when all of it is here: 384 bytes at 56 kbit/s take 55 ms. The gate must not
    take that for a longer path, so arrivals are counted as they come.
    """

    def __init__(self) -> None:
        self._header = b""
        self._length = 0
        self._here = 0

    @property
    def plaintext(self) -> int:
        """Bytes of the unfinished record's plaintext that are here."""
        return max(0, min(self._here, self._length - _BEHIND))

    def feed(self, data: bytes) -> None:
        """Everything that the socket gives, from the first byte of the connection on."""
        at = 0
        while at < len(data):
            if self._here < self._length:
                take = min(self._length - self._here, len(data) - at)
                self._here += take
                at += take
            else:
                take = _HEADER - len(self._header)
                self._header += data[at : at + take]
                at += take
            if len(self._header) == _HEADER:
                self._length, self._here = int.from_bytes(self._header[3:]), 0
                self._header = b""
            elif self._here >= self._length:
                self._length = self._here = 0


class TlsRecords:
    """Implements transport.link.records.Records on a TLS connection that has been set up."""

    def __init__(
        self,
        tls: ssl.SSLObject,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        progress: RecordProgress,
        peer: ProvenPeer,
    ) -> None:
        self._progress = progress
        self._tls = tls
        self._incoming = incoming
        self._outgoing = outgoing
        self._peer = peer
        self._farewell_came = False

    @property
    def peer(self) -> ProvenPeer:
        return self._peer

    @property
    def overhead(self) -> int:
        return RECORD_OVERHEAD

    @property
    def arriving(self) -> int:
        return self._progress.plaintext

    def __repr__(self) -> str:
        return f"<TlsRecords {self._tls.version()} {self._peer.name or self._peer.id[:8]}>"

    def protect(self, chunk: bytes) -> bytes:
        at = 0
        try:
            while at < len(chunk):  # OpenSSL takes a record's worth at a time
                at += self._tls.write(chunk[at : at + LARGEST_RECORD])
        except ssl.SSLError as error:
            raise _translated(error) from error
        return self._outgoing.read()

    def unprotect(self, data: bytes) -> tuple[bytes, bytes]:
        self._incoming.write(data)
        self._progress.feed(data)
        plain = []
        try:
            while piece := self._tls.read(_READ):
                plain.append(piece)
            self._farewell_came = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise _translated(error) from error
        return b"".join(plain), self._outgoing.read()

    def ended(self) -> None:
        if not self._farewell_came:
            raise LinkError("the connection broke: its bytes ended without the peer's farewell")

    def farewell(self) -> bytes:
        with contextlib.suppress(ssl.SSLError):  # wants the peer's answer, which nobody needs
            self._tls.unwrap()
        return self._outgoing.read()


async def secure(
    connection: socket.socket,
    context: ssl.SSLContext,
    *,
    server_side: bool,
    timeout: float,
    recognise: Recognise,
) -> TlsRecords:
    """The handshake on a connected, non-blocking socket, which stays the caller's.

    `timeout`: seconds, for all of it. The peer's certificate is shown to `recognise` before our
    last flight goes out, so that a client shows its own certificate to nobody but its server.
    What comes behind the handshake is kept in the records. Raises LinkError, NotTrusted.
    """
    incoming, outgoing, progress = ssl.MemoryBIO(), ssl.MemoryBIO(), RecordProgress()
    tls = context.wrap_bio(incoming, outgoing, server_side=server_side)
    try:
        async with asyncio.timeout(timeout):
            await _exchange(connection, tls, incoming, outgoing, progress)
            peer = recognise(tls.getpeercert(binary_form=True) or b"")
            await _flush(connection, outgoing)
    except TimeoutError as error:
        raise LinkError(f"the handshake was not over within {timeout:g} s") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise LinkError(f"the connection broke in the handshake: {reason}") from error
    return TlsRecords(tls, incoming, outgoing, progress, peer)


async def _exchange(
    connection: socket.socket,
    tls: ssl.SSLObject,
    incoming: ssl.MemoryBIO,
    outgoing: ssl.MemoryBIO,
    progress: RecordProgress,
) -> None:
    """Until our side of the handshake is done; its last flight is still in `outgoing`."""
    loop = asyncio.get_running_loop()
    received = 0
    while True:
        try:
            tls.do_handshake()
            return
        except ssl.SSLWantReadError:
            await _flush(connection, outgoing)
        except ssl.SSLError as error:
            with contextlib.suppress(OSError):  # the alert that says why
                await _flush(connection, outgoing)
            raise _translated(error) from error
        if received > _MOST_HANDSHAKE:
            raise LinkError(f"its handshake is longer than {_MOST_HANDSHAKE} bytes")
        data = await loop.sock_recv(connection, _READ)
        if not data:
            raise LinkError("the peer closed the connection in the handshake")
        received += len(data)
        incoming.write(data)
        progress.feed(data)


async def _flush(connection: socket.socket, outgoing: ssl.MemoryBIO) -> None:
    if outgoing.pending:
        await asyncio.get_running_loop().sock_sendall(connection, outgoing.read())


def _translated(error: ssl.SSLError) -> LinkError:
    """In words for people; an alert about our certificate means that the peer does not know us."""
    reason = error.reason or ""
    if "ALERT" in reason and any(word in reason for word in _ABOUT_CERTIFICATES):
        return NotTrusted(UNKNOWN_HERE)
    if isinstance(error, ssl.SSLCertVerificationError):
        return NotTrusted(f"the peer's certificate is not one we know ({error.verify_message})")
    words = reason.replace("_", " ").lower() or str(error)
    return LinkError(f"the connection's protection failed: {words}")
