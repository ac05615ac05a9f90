"""A client's byte stream, whatever carries it: a socket, TLS on it, a stream inside HTTP/2.

Everything that serves clients is written against this, so that TLS can lie on any of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol


class ClientStream(Protocol):
    """Bytes both ways for one task, and word of the client's leaving."""

    on_leave: Callable[[], object] | None
    """Called once when the client closes its side, even while nobody reads."""

    @property
    def local_address(self) -> tuple[str, int] | None:
        """Address and port of ours that the client connected to; None: unknown."""

    @property
    def peer_address(self) -> tuple[str, int] | None:
        """Address and port of the client; None: unknown."""

    @property
    def ended(self) -> bool:
        """No more bytes will come; some may still wait to be read."""

    @property
    def lost(self) -> bool:
        """The connection is gone in both directions."""

    async def read(self) -> bytes:
        """What has come, as soon as anything has; empty at the end. Raises ConnectionError."""

    async def write(self, data: bytes) -> None:
        """Send; returns when there is room for more. Raises ConnectionError."""

    def end(self, last: bytes = b"") -> None:
        """Close our side only, after these last bytes; the client may go on sending."""

    def close(self, last: bytes = b"") -> None:
        """Close when what was written, and these last bytes, have gone out."""

    def abort(self) -> None:
        """Break off, so that nobody takes what came for the whole."""


Serve = Callable[[ClientStream, str], Awaitable[None]]
"""Serves a client whose TLS has been taken off: its plain stream, and the origin that it asked to
be connected to (https://host[:port], RFC 6454). Returns when the client is done; never raises."""
