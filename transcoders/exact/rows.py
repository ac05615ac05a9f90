"""A PNG's rows of pixels, out of their deflate stream, for a coder that takes fewer bytes.

Pure.
"""

from __future__ import annotations

import struct
import zlib
from itertools import chain
from typing import Annotated, Final

import msgspec

from transcoders.exact.zlib_settings import ZlibSettings, inflated, settings_of
from transcoders.picture import Unfit

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_DATA: Final = b"IDAT"
_CHUNK: Final = 12
"""Bytes of a chunk besides what is in it (PNG, third edition, 5.3)."""
_MAX_CHUNKS: Final = 100_000


class Rows(msgspec.Struct, frozen=True, array_like=True):
    """All of a PNG but its rows."""

    settings: ZlibSettings
    before: bytes
    after: bytes
    lengths: Annotated[list[int], msgspec.Meta(max_length=_MAX_CHUNKS)]
    """Of the chunks that the stream is cut into; the last for all that follow but the rest."""

    def png(self, rows: bytes) -> bytes:
        """The file. Raises Unfit."""
        return self.cut(self.settings.deflated(rows))

    def cut(self, deflated: bytes) -> bytes:
        """The file of that stream. Raises Unfit."""
        stream = memoryview(deflated)
        parts, at = [self.before], 0
        if not self.lengths or min(self.lengths) < max(1, len(stream) // _MAX_CHUNKS):
            raise Unfit("a PNG in too many pieces")
        for length in chain(self.lengths[:-1], iter(lambda: self.lengths[-1], 0)):
            if at >= len(stream):
                break
            piece = _DATA + stream[at : at + length]
            parts += (
                struct.pack(">I", len(piece) - 4),
                piece,
                struct.pack(">I", zlib.crc32(piece)),
            )
            at += length
        return b"".join((*parts, self.after))


def deflated(data: bytes) -> bytes:
    """A PNG's deflate stream. Raises Unfit."""
    start, _, lengths = _stream(data)
    pieces, at = [], start
    for length in lengths:
        pieces.append(data[at + 8 : at + 8 + length])
        at += _CHUNK + length
    stream = b"".join(pieces)
    if len(stream) < 2:
        raise Unfit("a PNG without a picture")
    return stream


def split(data: bytes) -> tuple[Rows, bytes]:
    """A PNG's rows and the rest. Raises Unfit where they would not make the same file again."""
    start, end, lengths = _stream(data)
    stream = deflated(data)
    rows = inflated(stream, window=15)
    settings = settings_of(rows, stream, header=True)
    made = Rows(settings, data[:start], data[end:], _shortened(lengths))
    if made.cut(stream) != data:
        raise Unfit("chunks with wrong checksums")
    return made, rows


def _stream(data: bytes) -> tuple[int, int, list[int]]:
    """Where the chunks of the picture begin and end, and their lengths. Raises Unfit."""
    if not data.startswith(SIGNATURE):
        raise Unfit("no PNG")
    at, start, lengths = len(SIGNATURE), 0, list[int]()
    while at + _CHUNK <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        if data[at + 4 : at + 8] == _DATA:
            start = start or at
            lengths.append(length)
        elif start:
            break
        at += _CHUNK + length
        if len(lengths) > _MAX_CHUNKS:
            raise Unfit("a PNG in too many pieces")
    if not start or at > len(data):
        raise Unfit("a PNG that does not end where it should")
    return start, at, lengths


def _shortened(lengths: list[int]) -> list[int]:
    """Without those at the end that are as long as the one before, or the rest."""
    kept = list(lengths)
    if len(kept) > 1 and kept[-1] <= kept[-2]:
        kept.pop()
    while len(kept) > 1 and kept[-1] == kept[-2]:
        kept.pop()
    return kept
