"""Bytes sent that the peer has not reported: what a new connection must begin with.

A stream of bytes outlives the connections that carry it. What was reported is forgotten; when a
connection breaks the peer says how much it has, and the rest is sent again from exactly there.
What is kept is what the gate lets be under way, so nothing grows. Pure.
"""

from __future__ import annotations

from collections import deque

from wire.errors import PeerError
from wire.frames import RECEIVED_MODULUS


class Retained:
    """The unreported end of one direction's stream."""

    def __init__(self) -> None:
        self.start = 0
        """Bytes of the stream that were reported: the first one kept comes next."""
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._again: deque[bytes] = deque()
        """To be sent once more, on the connection that there is now."""
        self.cut = False
        """What comes next begins inside a frame: nothing else may go before it."""

    @property
    def end(self) -> int:
        """Bytes of the stream so far."""
        return self.start + self._size

    @property
    def replaying(self) -> bool:
        """Whether bytes wait to be sent once more."""
        return bool(self._again)

    def add(self, data: bytes) -> None:
        """`data` goes to the connection now."""
        self._kept.append(data)
        self._size += len(data)

    def reported(self, received: int) -> None:
        """The peer has `received` bytes of the stream, modulo 2^32. A lie is not looked at."""
        gained = (received - self.start) % RECEIVED_MODULUS
        if gained <= self._size:
            self._forget(gained)

    def rewind(self, received: int) -> int:
        """A new connection: the peer has `received` bytes; how many will be sent again.

        Raises PeerError when that is less than it reported or more than was sent.
        """
        if not self.start <= received <= self.end:
            raise PeerError(f"{received} bytes received of {self.start} to {self.end} sent")
        self._forget(received - self.start)
        self._again = deque(self._kept)
        self.cut = bool(self._again)
        return self._size

    def next_again(self) -> bytes:
        """The next piece to send once more, as it was sent before; b"": no more."""
        self.cut = False
        return self._again.popleft() if self._again else b""

    def _forget(self, nbytes: int) -> None:
        self.start += nbytes
        self._size -= nbytes
        while nbytes:
            first = self._kept.popleft()
            if len(first) > nbytes:
                self._kept.appendleft(first[nbytes:])
                return
            nbytes -= len(first)
