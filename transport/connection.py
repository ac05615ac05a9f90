"""A connected socket, and what protects its bytes: what a link has one of at a time."""

from __future__ import annotations

import asyncio
import socket

from transport.records import Peer, Plain, Records


class Connection:
    """Owns its socket, which does not block."""

    def __init__(self, connected: socket.socket, records: Records | None = None) -> None:
        """`records`: plain unless given."""
        self.socket = connected
        self.records: Records = records or Plain()
        self._early = b""

    @property
    def peer(self) -> Peer | None:
        """Who is at the other end; None where nobody had to prove it."""
        return self.records.peer

    async def send(self, data: bytes) -> None:
        """Send all of it. Raises LinkError, OSError."""
        await asyncio.get_running_loop().sock_sendall(self.socket, self.records.protect(data))

    async def receive(self, most: int) -> bytes:
        """At most so many bytes of what the peer says; none at its end. Raises LinkError, OSError.

        What came with them is kept for the next call, then for `early`.
        """
        loop = asyncio.get_running_loop()
        data = b""  # first what came with the handshake
        while True:
            plain, reply = self.records.unprotect(data)
            self._early += plain
            if reply:
                await loop.sock_sendall(self.socket, reply)
            if self._early:
                break
            data = await loop.sock_recv(self.socket, most)
            if not data:
                self.records.ended()
                return b""
        data, self._early = self._early[:most], self._early[most:]
        return data

    def early(self) -> bytes:
        """What has come and was not received, once."""
        data, self._early = self._early, b""
        return data

    def close(self) -> None:
        """At once, without a word."""
        self.socket.close()
