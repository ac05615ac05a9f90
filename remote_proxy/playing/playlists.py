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
_MARK: Final = "#EXTM3U"
_INFO: Final = "#EXTINF:"


class Playlist:
    """One, read as it passes by."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._data = bytearray()

    def feed(self, piece: bytes) -> None:
        """Bytes of it, decoded."""
        if len(self._data) <= LONGEST:
            self._data += piece

    def segments(self) -> Iterator[tuple[str, float]]:
        """The address of each segment, and the seconds that it plays. Parts of one file, and what
        can't be read, are left out."""
        lines = bytes(self._data[:LONGEST]).decode("utf-8", "replace").splitlines()
        if not lines or not lines[0].removeprefix("\ufeff").startswith(_MARK):
            return
        seconds = 0.0
        for line in map(str.strip, lines):
            if line.startswith(_INFO):
                seconds = _number(line.removeprefix(_INFO).partition(",")[0])
            elif line.startswith("#EXT-X-BYTERANGE"):
                seconds = 0.0
            elif line and not line.startswith("#"):
                short = len(line) <= MAX_URL  # nobody asks for a longer one
                if short and seconds > 0 and (address := _join(self._url, line)):
                    yield address, seconds
                seconds = 0.0


def _number(text: str) -> float:
    try:
        return min(float(text), 3600.0)
    except ValueError:
        return 0.0


def _join(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:
        return ""
