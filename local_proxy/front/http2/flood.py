"""Limits how often an HTTP/2 client may do what costs us more than it. Pure: `now` is an argument.

Reads frame headers alone, before h2 sees the bytes, because h2 is silent about frames that it
ignores and floods are made of these: CVE-2019-9511 to 9518, CVE-2023-44487 (rapid reset),
CVE-2024-27316 (CONTINUATION). Budgets are those of nghttp2 (1,000 at once, 33 a second), wider
where Chromium needs more. Must not know: streams, HTTP. Source: RFC 9113, 4.1, 6, 10.5.
"""

from __future__ import annotations

from typing import Final

from local_proxy.http.request_rules import MAX_HEAD

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAX_BLOCK: Final = 2 * MAX_HEAD
"""Bytes of one coded field block, CONTINUATION frames included."""
_HEADER: Final = 9
_DATA, _HEADERS, _RST_STREAM, _WINDOW_UPDATE, _CONTINUATION = 0x0, 0x1, 0x3, 0x8, 0x9
_END_STREAM, _END_HEADERS, _PADDED = 0x1, 0x4, 0x8


class Flood(Exception):
    """The client keeps us busy with nothing: the connection ends (ENHANCE_YOUR_CALM)."""


class FloodBucket:
    """A token bucket: `burst` at once, `rate` a second in the long run."""

    def __init__(self, what: str, *, burst: float, rate: float) -> None:
        self._what = what
        self._burst, self._rate = burst, rate
        self._left, self._at = burst, 0.0

    def take(self, now: float, amount: float = 1.0) -> None:
        """Raises Flood when there is not that much."""
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        self._left -= amount
        if self._left < 0:
            raise Flood(f"too many {self._what}")

    def give(self, amount: float) -> None:
        """Our own sending allows the client so many more."""
        self._left = min(self._burst, self._left + amount)


class FrameMeter:
    """Watches the frames of one client go by."""

    def __init__(self) -> None:
        self.resets = FloodBucket("reset streams", burst=1000, rate=33)
        """RST_STREAM of the client, and ours that its mistakes make us send."""
        self._idle = FloodBucket("frames that say nothing", burst=2000, rate=200)
        self._windows = FloodBucket("window updates", burst=2000, rate=200)
        self._skip = len(PREFACE)
        """Bytes until the next frame header."""
        self._header = bytearray()
        self._block = 0
        """Bytes of the field block that is under way."""
        self.block_since: float | None = None
        """When the field block that is not complete began."""

    def feed(self, data: bytes, *, now: float) -> None:
        """Bytes of the client, in any cut. Raises Flood."""
        at = 0
        while at < len(data):
            if self._skip:
                step = min(self._skip, len(data) - at)
                self._skip -= step
                at += step
                continue
            piece = data[at : at + _HEADER - len(self._header)]
            self._header += piece
            at += len(piece)
            if len(self._header) == _HEADER:
                length = int.from_bytes(self._header[:3])
                self._frame(length, self._header[3], self._header[4], now)
                self._skip = length
                self._header.clear()

    def sent(self, frames: int) -> None:
        """DATA frames went out: a client answers each with two WINDOW_UPDATEs at most."""
        self._windows.give(2.0 * frames)

    def _frame(self, length: int, kind: int, flags: int, now: float) -> None:
        if kind == _DATA:
            if (not length or flags & _PADDED) and not flags & _END_STREAM:
                self._idle.take(now)
        elif kind in (_HEADERS, _CONTINUATION):
            self._field_block(length, kind, flags, now)
        elif kind == _RST_STREAM:
            self.resets.take(now)
        elif kind == _WINDOW_UPDATE:
            self._windows.take(now)
        else:  # SETTINGS, PING, PRIORITY, PRIORITY_UPDATE, GOAWAY, unknown
            self._idle.take(now)

    def _field_block(self, length: int, kind: int, flags: int, now: float) -> None:
        if kind == _HEADERS:
            self._block, self.block_since = 0, now
        elif not length:
            self._idle.take(now)
        self._block += length
        if self._block > MAX_BLOCK:
            raise Flood(f"a field block of more than {MAX_BLOCK} bytes")
        if flags & _END_HEADERS:
            self._block, self.block_since = 0, None
