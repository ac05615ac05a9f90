"""TLS taken off a client's stream: ciphertext below, the same interface with plaintext above.

Works on memory buffers and not on a transport, so that it takes bytes that were read already and
lies on any ClientStream. Must not know: sockets, HTTP, certificates. Source: RFC 8446, 6.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from local_proxy.http.client_stream import ClientStream

_READ: Final = 65536
"""Bytes of plaintext taken at a time."""
_DISTRUST: Final = frozenset(
    {
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "SSLV3_ALERT_CERTIFICATE_REVOKED",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
        "TLSV1_ALERT_ACCESS_DENIED",
        "TLSV1_ALERT_DECRYPT_ERROR",
        "TLSV1_ALERT_UNKNOWN_CA",
    }
)
"""Alerts (in OpenSSL's words) by which a client says that it does not take our certificate.
Chromium sends certificate_unknown, Firefox bad_certificate or unknown_ca, curl unknown_ca."""


class HandshakeFailed(ConnectionError):
    """There is no TLS on this stream. `str()` is for logs."""

    def __init__(self, reason: str, *, lasting: bool = False, answered: bool = True) -> None:
        super().__init__(reason)
        self.lasting = lasting
        """It would fail again: the client won't have our certificate, or no cipher suits both."""
        self.answered = answered
        """The client had our certificate before it left; it may have judged it in silence."""


class TlsStream:
    """The server's end of TLS on a client's stream
    (local_proxy.http.client_stream.ClientStream)."""

    def __init__(self, below: ClientStream, context: ssl.SSLContext) -> None:
        self._below = below
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._closed = False
        """The client's close_notify has come: no more plaintext."""
        self._said_goodbye = False
        self.on_first_bytes: Callable[[], object] | None = None
        """Called at the first plaintext: the client takes our certificate."""
        self.trusted = False
        """Plaintext has come."""
        self.distrusted = False
        """The client refused our certificate after the handshake, as GnuTLS does."""
        self.program = ""
        """The User-Agent of the CONNECT that it lies in."""

    async def handshake(self, early: bytes) -> None:
        """Agree with the client, who has sent `early` already. Raises HandshakeFailed."""
        self._incoming.write(early)
        answered = False
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as error:
                reason = error.reason or str(error)
                await self._flush_last()  # the alert that says why
                raise HandshakeFailed(reason, lasting=True) from error
            else:
                await self._flush()
                return
            answered = answered or bool(self._outgoing.pending)
            await self._flush()
            data = await self._below.read()
            if not data:
                raise HandshakeFailed("the client closed in the handshake", answered=answered)
            self._incoming.write(data)

    @property
    def local_address(self) -> tuple[str, int] | None:
        """The local address of the stream below."""
        return self._below.local_address

    @property
    def peer_address(self) -> tuple[str, int] | None:
        """The peer of the stream below."""
        return self._below.peer_address

    @property
    def alpn(self) -> str | None:
        """The protocol agreed on."""
        return self._tls.selected_alpn_protocol()

    # -- local_proxy.http.client_stream.ClientStream ----------------------------------------------

    @property
    def on_leave(self) -> Callable[[], object] | None:
        return self._below.on_leave

    @on_leave.setter
    def on_leave(self, call: Callable[[], object] | None) -> None:
        self._below.on_leave = call

    @property
    def ended(self) -> bool:
        return self._closed or self._below.ended

    @property
    def lost(self) -> bool:
        return self._below.lost

    async def read(self) -> bytes:
        """Plaintext; empty at the end. Raises ConnectionError when the records are forged."""
        while True:
            plain = self._decrypt()
            if self._outgoing.pending:  # an answer to a key update
                await self._flush()
            if plain and not self.trusted:
                self.trusted = True
                if self.on_first_bytes is not None:
                    self.on_first_bytes()
            if plain or self._closed:
                return plain
            data = await self._below.read()
            if not data:
                self._closed = True
                return b""
            self._incoming.write(data)

    def _decrypt(self) -> bytes:
        """All that can be read now, so that nothing whole is left below."""
        plain = bytearray()
        try:
            while not self._closed:
                data = self._tls.read(_READ)
                self._closed = not data
                plain += data
        except ssl.SSLWantReadError:
            pass
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            self._closed = True
        except ssl.SSLError as error:
            self._closed = True
            self.distrusted = error.reason in _DISTRUST
            raise ConnectionAbortedError(f"TLS failed: {error.reason or error}") from error
        return bytes(plain)

    async def write(self, data: bytes) -> None:
        """Send; returns when there is room for more. Raises ConnectionError."""
        if self._said_goodbye:
            raise ConnectionResetError("our side is closed already")
        if data:
            try:
                self._tls.write(data)
            except ssl.SSLError as error:
                raise ConnectionAbortedError(f"TLS failed: {error.reason or error}") from error
        await self._flush()

    async def _flush(self) -> None:
        # One step for "take" and "hand down" keeps records in order: `write` below queues at once.
        await self._below.write(self._outgoing.read())

    async def _flush_last(self) -> None:
        with suppress(ConnectionError):
            await self._flush()

    def end(self, last: bytes = b"") -> None:
        """Say close_notify; reading goes on."""
        self._below.end(self._goodbye(last))

    def close(self, last: bytes = b"") -> None:
        """Say close_notify, then close when all has gone out."""
        self._below.close(self._goodbye(last))

    def abort(self) -> None:
        """Break off without a close_notify, which tells the client that it has not got all."""
        self._below.abort()

    def _goodbye(self, last: bytes) -> bytes:
        """Our last records."""
        if not self._said_goodbye:
            self._said_goodbye = True
            with suppress(ssl.SSLError):  # it would wait for the client's own, which may come late
                if last:
                    self._tls.write(last)
                self._tls.unwrap()
        return self._outgoing.read()
