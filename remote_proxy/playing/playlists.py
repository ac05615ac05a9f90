"""Reads from HLS playlists how long each segment plays (RFC 8216, 4.3.2.1). Pure.

DASH has manifests (manifests.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urljoin

from wire.messages import MAX_URL

LONGEST: Final = 1 << 20
"""Bytes of one that are read: a day of short segments."""
MOST: Final = 4096
"""Segments of one that are read."""
LONG_BASE: Final = 2048
"""Characters of an address, without its query, that others may be relative to: two are joined part
by part of their paths."""
_MARK: Final = "#EXTM3U"
_INFO: Final = "#EXTINF:"


class PassingText:
    """A text that is kept while it passes by, up to `LONGEST` and a piece."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._data = bytearray()

    def feed(self, piece: bytes) -> None:
        """Bytes of it, decoded."""
        if len(self._data) <= LONGEST:
            self._data += piece


class Playlist(PassingText):
    """One, read once it has passed."""

    def segments(self) -> Iterator[tuple[str, float]]:
        """The address of each segment, and the seconds that it plays. Parts of one file, and what
        can't be read, are left out."""
        lines = bytes(self._data[:LONGEST]).decode("utf-8", "replace").splitlines()
        if not lines or not lines[0].removeprefix("\ufeff").startswith(_MARK):
            return
        seconds, tried = 0.0, 0
        for line in map(str.strip, lines):
            if line.startswith(_INFO):
                seconds = _number(line.removeprefix(_INFO).partition(",")[0])
            elif line.startswith("#EXT-X-BYTERANGE"):
                seconds = 0.0
            elif line and not line.startswith("#"):
                tried += 1
                if tried > MOST:
                    return
                if seconds > 0 and (address := joined(self._url, line)):
                    yield address, seconds
                seconds = 0.0


def _number(text: str) -> float:
    try:
        return min(float(text), 3600.0)
    except ValueError:
        return 0.0


def joined(base: str, address: str) -> str:
    """An address that is relative to another; empty: it is none, or nobody asks for it."""
    if len(base.partition("?")[0]) > LONG_BASE or len(address) > MAX_URL:
        return ""
    try:
        return urljoin(base, address)
    except ValueError:
        return ""
