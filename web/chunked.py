"""The framing of HTTP's chunked bodies: its lines are handed out, what chunks hold is passed over.

Judges nothing: what a line may be is its reader's affair, and who reads a client's body is
stricter than who looks on beside a client library. Pure. Source: RFC 9112, 7.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MAX_LINE: Final = 8192
"""Bytes of one line: a chunk's size with its extensions, or a trailer field."""


class LineTooLong(ValueError):
    """More than MAX_LINE bytes and no end of line."""


class ChunkedLines:
    """One body as it comes."""

    def __init__(self, read: Callable[[bytes], None]) -> None:
        """`read` gets each line with its end; it sets `left` and `over`."""
        self._read = read
        self._line = b""
        self.left = 0
        """Bytes to pass over before the next line."""
        self.over = False
        """Nothing more is read."""

    def feed(self, data: bytes) -> None:
        """The next bytes, framing included. Raises LineTooLong, and what `read` raises."""
        at = 0
        while at < len(data) and not self.over:
            if self.left:
                passed = min(self.left, len(data) - at)
                self.left -= passed
                at += passed
                continue
            end = data.find(b"\n", at) + 1
            self._line += data[at : end or len(data)]
            at = end or len(data)
            if len(self._line) > MAX_LINE:
                raise LineTooLong(f"{len(self._line)} bytes in a line")
            if end:
                line, self._line = self._line, b""
                self._read(line)
