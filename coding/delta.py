"""A text coded against another one: zstd, with that as a raw dictionary (RFC 8878, 5; RFC 9842).

What both have in common costs a few bytes. As with brotli (transcoders/text.py) the encoder ends a
block with each chunk, so that the far side can show every byte that was sent; both windows are
bounded, and the decoder stops at a limit of the caller's.

Zstd and not brotli, though that codes what is new in a text with a quarter fewer bytes: its
library for Python takes no dictionary (docs/decisions/0026-second-visit.md has the figures). Knows
bytes; does not know components, frames, or who may be given what.
"""

from __future__ import annotations

from typing import Final

import zstandard

from transcoders.text import DENSE, TextError

MAX_DICTIONARY: Final = 1 << 20
"""Bytes of a text that others may be coded against."""
WINDOW_LOG: Final = 21
"""2 MiB: a dictionary, and as much of the text behind it."""
_FAST: Final = 3
"""Zstd's levels: half a millisecond for a page."""
_DENSE: Final = 19
"""5 % fewer bytes than 12, in 7 ms for a page instead of one."""
_DENSE_LONG: Final = 7
"""For what is coded against a text of more than _LONG bytes: with one of 600 KB it takes 6 MB, 12
would take 21; 5 and 6 do not find its beginning."""
_LONG: Final = 1 << 17


class DeltaEncoder:
    """Encodes one component's bytes as they come, as transcoders.text.TextEncoder does."""

    def __init__(self, dictionary: bytes, *, quality: int) -> None:
        """`quality`: that of a text which is coded by itself; dense coding belongs in a thread."""
        self.quality = quality
        dense = _DENSE if len(dictionary) <= _LONG else _DENSE_LONG
        parameters = zstandard.ZstdCompressionParameters.from_level(
            dense if quality >= DENSE else _FAST,
            source_size=2 * len(dictionary),  # for whose tables 3 MB do, for a page
            window_log=WINDOW_LOG,
            write_content_size=False,
            write_dict_id=False,
        )
        self._stream = zstandard.ZstdCompressor(
            dict_data=_raw(dictionary), compression_params=parameters
        ).compressobj()

    def encode(self, data: bytes) -> bytes:
        """Coded bytes, enough to decode all of `data`."""
        if not data:
            return b""
        return self._stream.compress(data) + self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def finish(self) -> bytes:
        """The end of the stream; the encoder is of no use after."""
        return self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH)


class DeltaDecoder:
    """Decodes one component's bytes, however they are cut."""

    def __init__(self, dictionary: bytes, *, max_bytes: int) -> None:
        """`max_bytes`: what the whole component may decode to."""
        self._room = max_bytes
        self._stream = zstandard.ZstdDecompressor(
            dict_data=_raw(dictionary), max_window_size=1 << WINDOW_LOG
        ).decompressobj()

    @property
    def finished(self) -> bool:
        """The stream's end has come."""
        return self._stream.eof

    def decode(self, data: bytes) -> bytes:
        """What these bytes add; a block of 4 bytes may stand for 128 KB, so few are to be given at
        a time. Raises TextError; the decoder is of no use after."""
        if not data:
            return b""
        if self.finished:
            raise TextError("bytes after the end of the text")
        try:
            decoded = self._stream.decompress(data)
        except zstandard.ZstdError as error:
            raise TextError(f"damaged text: {error}") from error
        if self._stream.unused_data:
            raise TextError("bytes after the end of the text")
        self._room -= len(decoded)
        if self._room < 0:
            raise TextError("the text is longer than the limit")
        return decoded


def _raw(dictionary: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
