"""Encodes what a path's end says reliably, in the payloads of its SPP connection. Pure.

    kind u8, length, then so many bytes         integers: transport/spp/core/varint.py

    SEGMENT    a segment of RCP that must arrive: how much the sender has
    STREAM     offset, bytes of the stream that goes this way
    KEPT       ranges, each begin and length: cells that were asked for and stand; none: the stream
               has lost its order; said twice: as much is kept as the receiver has places for; a
               third time: NUMBER and VOID are understood
    GIVEN      ranges: cells that stood and are sent
    LAG        bytes that other paths bring before what goes over this one now is there;
               bytes/second that this one brings, 0: not known; that those bring; clock of a
               request: what stands for earlier ones need not be kept
    NUMBER     of this path
    VOID       number of another path; clock of a request over that one, as LAG has it, which is
               slow, or dead, and says so late, or never
    DROPPED    that clock, and ranges: cells that stood for earlier requests and are kept no more;
               KEPT said before is of these. Said to who has said NUMBER, and KEPT to others

Words follow each other; a payload's borders say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from transport.rcp.pending import ByteRange
from transport.rcp.segments import LARGEST_OFFSET
from transport.spp.core import varint
from wire.errors import PeerError

LONGEST: Final = 16_384
"""Bytes of a word."""
LONGEST_RANGE: Final = 1 << 22
"""Bytes of cells; no buffer of ours is larger."""
HEADER: Final = 1 + 2 + 8
"""Bytes at most of STREAM before what it carries."""


class WordKind(IntEnum):
    """The first byte."""

    SEGMENT = 0
    STREAM = 1
    KEPT = 2
    GIVEN = 3
    LAG = 4
    NUMBER = 5
    VOID = 6
    DROPPED = 7


class SegmentWord(NamedTuple):
    """A segment of RCP."""

    segment: bytes


class StreamWord(NamedTuple):
    """Bytes of the stream."""

    offset: int
    data: bytes


class KeptWord(NamedTuple):
    """Cells that were asked for and are kept until there is something for them; none: from now on
    there are cells."""

    ranges: tuple[ByteRange, ...]


class GivenWord(NamedTuple):
    """Cells that were kept, and are on their way."""

    ranges: tuple[ByteRange, ...]


class LagWord(NamedTuple):
    """How far this path lags behind the others, and what it and they carry."""

    behind: int
    rate: int
    others: int
    void: int
    """Others were asked for what requests before that one (by its clock) asked for."""


class NumberWord(NamedTuple):
    """What this path is called where others are told of it."""

    number: int


class VoidWord(NamedTuple):
    """What another path was asked for by requests before that one, others are asked for."""

    number: int
    clock: int


class DroppedWord(NamedTuple):
    """Cells that requests before that one asked for and that are kept no more."""

    clock: int
    ranges: tuple[ByteRange, ...]


CellsWord = KeptWord | GivenWord | DroppedWord
Word = SegmentWord | StreamWord | CellsWord | LagWord | NumberWord | VoidWord


_OF_NUMBERS: Final[dict[int, type[LagWord | NumberWord | VoidWord]]] = {
    WordKind.LAG: LagWord,
    WordKind.NUMBER: NumberWord,
    WordKind.VOID: VoidWord,
}


def encode(word: Word) -> bytes:
    """The word as it travels."""
    match word:
        case SegmentWord(segment):
            return bytes([WordKind.SEGMENT]) + varint.encode(len(segment)) + segment
        case StreamWord(offset, data):
            at = varint.encode(offset)
            return bytes([WordKind.STREAM]) + varint.encode(len(at) + len(data)) + at + data
        case KeptWord(ranges):
            return _encode_ranges(WordKind.KEPT, ranges)
        case GivenWord(ranges):
            return _encode_ranges(WordKind.GIVEN, ranges)
        case DroppedWord(clock, ranges):
            return _encode_ranges(WordKind.DROPPED, ranges, varint.encode(clock))
        case LagWord() | NumberWord() | VoidWord():
            kind = next(kind for kind, made in _OF_NUMBERS.items() if made is type(word))
            own = b"".join(map(varint.encode, word))
            return bytes([kind]) + varint.encode(len(own)) + own


def _encode_ranges(kind: WordKind, ranges: tuple[ByteRange, ...], before: bytes = b"") -> bytes:
    own = b"".join(varint.encode(one.begin) + varint.encode(one.end - one.begin) for one in ranges)
    own = before + own
    return bytes([kind]) + varint.encode(len(own)) + own


def _decode_ranges(data: bytes, at: int) -> tuple[ByteRange, ...]:
    ranges = []
    while at < len(data):
        begin, at = varint.decode(data, at)
        length, at = varint.decode(data, at)
        if not 0 < length <= LONGEST_RANGE or begin + length > LARGEST_OFFSET:
            raise PeerError("a word has a range that can't be")
        ranges.append(ByteRange(begin, begin + length))
    return tuple(ranges)


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
        if not (kind == WordKind.KEPT or length) or length > LONGEST:
            raise PeerError(f"a word has {length} bytes")
        end = begin + length
        if len(data) < end:
            return None
        if kind == WordKind.SEGMENT:
            return SegmentWord(data[begin:end]), end
        if kind in (WordKind.KEPT, WordKind.GIVEN):
            ranges = _decode_ranges(data[:end], begin)
            return KeptWord(ranges) if kind == WordKind.KEPT else GivenWord(ranges), end
        if kind == WordKind.DROPPED:
            clock, begin = varint.decode(data[:end], begin)
            return DroppedWord(clock, _decode_ranges(data[:end], begin)), end
        if (made := _OF_NUMBERS.get(kind)) is not None:
            numbers = []
            for _ in made._fields:
                number, begin = varint.decode(data[:end], begin)
                numbers.append(number)
            if begin != end:
                raise PeerError("a word has bytes behind its end")
            return made(*numbers), end
        offset, begin = varint.decode(data[:end], begin)
        if begin == end:
            raise PeerError("a word has no bytes of the stream")
        return StreamWord(offset, data[begin:end]), end
