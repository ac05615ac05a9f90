"""Names that scripts must use for what a browser lets them do, and a search for them.

Sources: HTML, 4.12.5 (canvas), 8.11 (image bitmaps); WebGL 1.0, 5.14.8; CSS Painting API.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

READERS: Final = (
    *(b"drawImage", b"createPattern", b"ImageBitmap", b"texImage", b"texSubImage"),
    *(b"copyExternalImage", b"VideoFrame", b"registerPaint", b"paintWorklet"),
)
"""Names of all that take a picture that a page shows, and give its pixels."""


class NameSearch:
    """Looks for any of some names in a text that comes in pieces, cut anywhere."""

    def __init__(self, names: Sequence[bytes] = READERS) -> None:
        self._names = names
        self._overlap = max(map(len, names)) - 1
        self._last = b""
        self.found = False

    def feed(self, piece: bytes) -> bool:
        """Whether one has been found by now."""
        if not self.found:
            text = self._last + piece
            self.found = any(name in text for name in self._names)
            self._last = text[-self._overlap :]
        return self.found
