"""Widens the receive buffer that several paths share, where it is what limits them. Pure.

Whatever comes over a long path has its place for a round trip before it is here, so a buffer of 1
MB takes 14 Mbit/s over a satellite; and the quick paths beside that find no place either. It is
doubled while all of it is read within two of the longest path's round trips, and paths had room for
more (Fisk and Feng, Dynamic right-sizing in TCP, 2001).
"""

from __future__ import annotations

from typing import Final

from transport.rcp.receive_buffer import ReceiveBuffer

_TRIPS: Final = 2.0
"""Round trips: in one all of a buffer is read that limits, in two of one that may."""


class BufferGrowth:
    """Looks at one buffer from time to time."""

    def __init__(self, buffer: ReceiveBuffer, *, largest: int) -> None:
        """`largest`: bytes."""
        self.largest = largest
        self._buffer = buffer
        self._full = False
        """The buffer was, since `_begun_at`."""
        self._begun_at: float | None = None
        """When the first of as many bytes as it holds was read; None: none was."""
        self._then = 0
        """How many bytes of the stream had been read by then."""

    def look(self, now: float, *, full: bool, trip: float) -> None:
        """`full`: there are no places for all that could be asked for; `trip`: seconds, of the
        longest path."""
        buffer = self._buffer
        self._full = self._full or full
        if self._begun_at is not None:
            if buffer.read_upto - self._then < buffer.capacity:
                return
            if self._full and now - self._begun_at < _TRIPS * trip:
                buffer.capacity = max(buffer.capacity, min(2 * buffer.capacity, self.largest))
        self._full, self._begun_at, self._then = False, now, buffer.read_upto
