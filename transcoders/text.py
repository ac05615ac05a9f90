"""Text on the link: one brotli stream per component, flushed so that nothing waits (RFC 7932).

The encoder ends a block with each chunk, so the far side can show every byte that was sent. Both
ends hold one bounded window; the decoder stops at a byte limit of the caller's, so a few bytes
can't become gigabytes. Brotli and not zstd: its static dictionary is of HTML, CSS and scripts, and
a page's text is what the reader waits for (docs/decisions/0004-text-coding.md has the figures).

Knows bytes and media types; does not know components or frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import brotli

from transcoders.formats.sniff import essence

FAST: Final = 5
"""Brotli quality for links that carry more than SLOW_LINK: 30 MB/s on one core."""
DENSE: Final = 10
"""For slow ones: 14 % fewer bytes than FAST on pages, at 2.4 MB/s; run it in a thread."""
SLOW_LINK: Final = 200_000.0
"""Bytes/second. At this rate coding densely takes a twelfth of the time that sending does."""
WINDOW_LOG: Final = 18
"""256 KiB: whole pages fit; an encoder takes under 2 MB (measured on 79 KB of HTML)."""

PLAYLISTS: Final = frozenset(
    ("application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl")
)
"""Texts that list the segments of a film (RFC 8216, 4)."""
MANIFESTS: Final = frozenset(("application/dash+xml",))
"""The same of DASH (ISO/IEC 23009-1, annex C)."""
_COMPRESSIBLE: Final = frozenset(
    {
        "application/ecmascript",
        "application/javascript",
        "application/json",
        *PLAYLISTS,
        "application/rtf",
        "application/vnd.ms-fontobject",
        "application/wasm",
        "application/x-font-otf",
        "application/x-font-ttf",
        "application/x-javascript",
        "application/xml",
        "application/yaml",
        "font/otf",
        "font/sfnt",
        "font/ttf",
        "image/bmp",
        "image/x-icon",
    }
)
"""Besides text/*, *+xml and *+json. WOFF fonts, pictures, archives are compressed already."""


STEP: Final = 65536
"""Bytes decoded at a time, so that the limit is seen before they pile up."""


class TextError(Exception):
    """The peer's stream is not what it should be: damaged, over the limit, or after its end."""


def compressible(content_type: str) -> bool:
    """Whether components of this type shrink on the link; those coded already never do."""
    kind = essence(content_type)
    return kind in _COMPRESSIBLE or kind.startswith("text/") or kind.endswith(("+xml", "+json"))


def quality_for(rate: float | None) -> int:
    """The brotli quality for a link of `rate` bytes/second; None: unknown, so taken for slow."""
    return FAST if rate is not None and rate > SLOW_LINK else DENSE


class TextEncoder:
    """Encodes one component's bytes as they come."""

    def __init__(self, *, quality: int = FAST) -> None:
        self.quality = quality
        self._stream = brotli.Compressor(mode=brotli.MODE_TEXT, quality=quality, lgwin=WINDOW_LOG)

    def encode(self, data: bytes, *, flush: bool = True) -> bytes:
        """Coded bytes; with `flush` they are enough to decode all of `data`.

        Without it they may be none: for input that more of is already at hand.
        """
        coded: bytes = self._stream.process(data)
        if flush and data:
            coded += self._stream.flush()
        return coded

    def finish(self) -> bytes:
        """The end of the stream; the encoder is of no use after."""
        coded: bytes = self._stream.finish()
        return coded


class TextDecoder:
    """Decodes one component's bytes, however they are cut."""

    def __init__(self, *, max_bytes: int) -> None:
        """`max_bytes`: what the whole component may decode to, and so what it may occupy."""
        self._room = max_bytes
        self._stream = brotli.Decompressor()

    @property
    def finished(self) -> bool:
        """The stream's end has come."""
        return bool(self._stream.is_finished())

    def decode(self, data: bytes) -> bytes:
        """What these bytes add. Raises TextError; the decoder is of no use after."""
        return b"".join(self.steps(data))

    def steps(self, data: bytes) -> Iterator[bytes]:
        """The same in pieces of about STEP, none of which is made before it is asked for. All
        must be taken. Raises TextError as `decode` does."""
        if data and self.finished:
            raise TextError("bytes after the end of the text")
        while True:
            try:
                piece = self._stream.process(data, output_buffer_limit=STEP)
            except brotli.error as error:
                raise TextError(f"damaged text: {error}") from error
            data = b""
            self._room -= len(piece)
            if self._room < 0:
                raise TextError("the text is longer than the limit")
            if not piece:
                return
            yield piece
            if self.finished:
                return
