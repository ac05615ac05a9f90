"""Encodes what a path's end says reliably, in the payloads of its SPP connection. Pure.

    kind u8, length, then so many bytes         integers: transport/spp/core/varint.py

    SEGMENT    a segment of RCP that must arrive: how much the sender has
    STREAM     offset, bytes of the stream that goes this way

Words follow each other; a payload's borders say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from transport.spp.core import varint
from wire.errors import PeerError

LONGEST: Final = 16_384
"""Bytes of a word."""
HEADER: Final = 1 + 2 + 8
"""Bytes at most of STREAM before what it carries."""


class WordKind(IntEnum):
    """The first byte."""

    SEGMENT = 0
    STREAM = 1


class SegmentWord(NamedTuple):
    """A segment of RCP."""

    segment: bytes


class StreamWord(NamedTuple):
    """Bytes of the stream."""

    offset: int
    data: bytes


Word = SegmentWord | StreamWord


def encode(word: Word) -> bytes:
    """The word as it travels."""
    match word:
        case SegmentWord(segment):
            return bytes([WordKind.SEGMENT]) + varint.encode(len(segment)) + segment
        case StreamWord(offset, data):
            at = varint.encode(offset)
            return bytes([WordKind.STREAM]) + varint.encode(len(at) + len(data)) + at + data


class WordReader:
    """Cuts what comes over one path into words."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Word]:
        """The words that are whole by now. Raises PeerError."""
        self._rest += data
        at = 0
        try:
            while (found := self._next(at)) is not None:
                word, at = found
                yield word
        finally:
            self._rest = self._rest[at:]

    def _next(self, at: int) -> tuple[Word, int] | None:
        data = self._rest
        if len(data) < at + 2:
            return None
        kind, width = data[at], 1 << (data[at + 1] >> 6)
        if kind not in tuple(WordKind):
            raise PeerError(f"there is no word of kind {kind}")
        if len(data) < at + 1 + width:
            return None
        length, begin = varint.decode(data, at + 1)
        if not 0 < length <= LONGEST:
            raise PeerError(f"a word has {length} bytes")
        end = begin + length
        if len(data) < end:
            return None
        if kind == WordKind.SEGMENT:
            return SegmentWord(data[begin:end]), end
        offset, begin = varint.decode(data[:end], begin)
        if begin == end:
            raise PeerError("a word has no bytes of the stream")
        return StreamWord(offset, data[begin:end]), end
