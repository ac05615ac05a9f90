"""How a JPEG was written, so that its coefficients, however they came, can be the very file again.

jpegtran writes the coded data of most files just as they are: with the standard's tables, with the
best, or in scans by the same script. All else of the file, its metadata, tables and headers, comes
beside, and what of that jpegtran wrote, too, costs no more than a reference.

Pure. Must not know processes, components.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from io import BytesIO
from typing import Annotated, Final

import msgspec
from PIL import Image

from transcoders.formats.scans import MAX_SCANS, DamagedJpeg, Jpeg, parse
from transcoders.picture import Unfit

MAX_RESTART: Final = 0xFFFF
"""MCUs between two restarts (T.81, B.2.4.4)."""
_PROGRESSIVE: Final = 0xC2
_SEQUENTIAL: Final = frozenset((0xC0, 0xC1))
_TABLES: Final = 0xC4
_RESTARTS: Final = 0xDD
_OTHER_RESTART: Final = b"\xff\xdd\0\x04"
_SYMBOLS: Final = 162
"""Of AC coefficients in 8 bits: a table that has all of them is made for no one picture."""
_SCRIPT: Final = re.compile(r"(\d(,\d){0,3}(: \d{1,2}-\d{1,2}, \d{1,2}, \d{1,2})?;\n){1,64}")
MAX_MENDED: Final = 0.05
"""Share of a file's bytes that may be other than jpegtran wrote them."""
_WINDOW: Final = 1 << 15
"""Bytes that deflate can refer to."""


class Mend(msgspec.Struct, frozen=True, array_like=True):
    """Where a scan's data differ from what jpegtran wrote: padded otherwise, or beyond an end."""

    scan: int
    front: int
    """Bytes that do not differ, from the beginning."""
    other: int
    """Bytes instead of those that do."""
    back: int
    """Bytes that do not differ, to the end."""


class JpegWriter(msgspec.Struct, frozen=True, array_like=True):
    """All of a JPEG but its coefficients."""

    script: str = ""
    """jpegtran's scan script; empty: one scan."""
    best: bool = False
    """With the best tables, of one scan; else the standard's."""
    restart: int = 0
    """MCUs; 0: no restarts."""
    between: Annotated[list[int], msgspec.Meta(max_length=MAX_SCANS)] = []
    """Bytes before each scan's data that are none; the last of those follow it."""
    rest: bytes = b""
    """These bytes, deflated with those that jpegtran wrote in their place as dictionary; behind
    them those of the mends."""
    mends: Annotated[list[Mend], msgspec.Meta(max_length=MAX_SCANS)] = []

    def switches(self, script: str) -> tuple[str, ...]:
        """The switches of jpegtran; `script`: a file that holds the scan script. Raises Unfit."""
        if not 0 <= self.restart <= MAX_RESTART:
            raise Unfit("more between restarts than there may be")
        if self.script and not _SCRIPT.fullmatch(self.script):
            raise Unfit("no script of scans")
        return (
            *(("-restart", f"{self.restart}B") if self.restart else ()),
            *(("-optimize",) if self.best else ()),
            *(("-scans", script) if self.script else ()),
        )

    def jpeg(self, written: bytes, *, size: int) -> bytes:
        """The file, of `size` bytes, by what jpegtran wrote. Raises Unfit."""
        coded, other = _parted(written)
        inflater = zlib.decompressobj(-15, zdict=other[-_WINDOW:])
        try:
            rest = inflater.decompress(self.rest, size + 1)
        except zlib.error as error:
            raise Unfit(str(error)) from error
        if len(coded) != len(self.between) or min(self.between) < 0:
            raise Unfit("jpegtran wrote other scans")
        end = len(rest) - sum(mend.other for mend in self.mends)
        at = end
        for mend in self.mends:
            if not 0 <= mend.scan < len(coded) or min(mend.front, mend.other, mend.back) < 0:
                raise Unfit("a mend of no scan")
            scan, other = coded[mend.scan], rest[at : at + mend.other]
            coded[mend.scan] = scan[: mend.front] + other + scan[len(scan) - mend.back :]
            at += mend.other
        made, at = list[bytes](), 0
        for length, scan in zip(self.between, coded, strict=True):
            made += rest[at : at + length], scan
            at += length
        return b"".join((*made, rest[at:end]))

    def filled(self, data: bytes, written: bytes) -> JpegWriter:
        """With all that makes `data` of what jpegtran wrote. Raises Unfit: its scans differ."""
        own, other = _parted(data)
        coded, dictionary = _parted(written)
        if len(own) != len(coded):
            raise Unfit("jpegtran writes other scans")
        mends = [
            _mend(number, *both)
            for number, both in enumerate(zip(own, coded, strict=True))
            if both[0] != both[1]
        ]
        if sum(mend.other for mend in mends) > MAX_MENDED * len(data):
            raise Unfit("jpegtran writes it otherwise")
        for mend in mends:
            other += own[mend.scan][mend.front : mend.front + mend.other]
        between, at = [], 0
        for place in _read(data).scans:
            between.append(place.data - at)
            at = place.end
        deflater = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=dictionary[-_WINDOW:])
        rest = deflater.compress(other) + deflater.flush()
        return msgspec.structs.replace(self, between=between, rest=rest, mends=mends)


def guess(data: bytes) -> JpegWriter | None:
    """How it was most likely written, by its tables; None: in none of the ways that are known."""
    try:
        jpeg = parse(data)
    except DamagedJpeg:
        return None
    tables, restart = _tables(data, jpeg)
    if any(data.find(_OTHER_RESTART, scan.start, scan.data) >= 0 for scan in jpeg.scans[1:]):
        return None  # each scan has its own, which jpegtran is not told
    if jpeg.frame == _PROGRESSIVE:
        return JpegWriter(_script(data, jpeg), restart=restart)
    if jpeg.frame not in _SEQUENTIAL:
        return None
    script = _script(data, jpeg) if len(jpeg.scans) > 1 else ""
    if not tables or tables <= _standard():
        return JpegWriter(script, restart=restart)
    if any(len(table) > _SYMBOLS + 16 for table in tables):
        return None
    return JpegWriter(script, best=True, restart=restart)


def _read(data: bytes) -> Jpeg:
    try:
        return parse(data)
    except DamagedJpeg as error:
        raise Unfit(str(error)) from error


def _parted(data: bytes) -> tuple[list[bytes], bytes]:
    """The coded data of each scan, and all else. Raises Unfit."""
    scans = _read(data).scans
    coded = [data[scan.data : scan.end] for scan in scans]
    ends = [0, *(scan.end for scan in scans)]
    starts = [*(scan.data for scan in scans), len(data)]
    return coded, b"".join(data[a:b] for a, b in zip(ends, starts, strict=True))


def _mend(number: int, own: bytes, written: bytes) -> Mend:
    front = _alike(own, written)
    back = _alike(own[front:][::-1], written[front:][::-1])
    return Mend(number, front, len(own) - front - back, back)


def _alike(one: bytes, other: bytes) -> int:
    """Bytes by which both begin."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _tables(data: bytes, jpeg: Jpeg) -> tuple[frozenset[bytes], int]:
    """Huffman tables before the first scan, with class and number, and MCUs between restarts."""
    tables, restart = set(), 0
    for segment in jpeg.segments:
        body = data[segment.start + 4 : segment.end]
        if segment.marker == _RESTARTS:
            restart = int.from_bytes(body[:2], "big")
        while segment.marker == _TABLES and len(body) >= 17:
            size = 17 + sum(body[1:17])
            tables.add(body[:size])
            body = body[size:]
    return frozenset(tables), restart


@cache
def _standard() -> frozenset[bytes]:
    """The tables of T.81, annex K.3, which libjpeg writes unless it is told otherwise."""
    out = BytesIO()
    Image.new("RGB", (8, 8)).save(out, "JPEG")
    return _tables(out.getvalue(), parse(out.getvalue()))[0]


def _script(data: bytes, jpeg: Jpeg) -> str:
    """jpegtran's scan script by which the file was written."""
    lines = []
    for scan in jpeg.scans:
        header = data[scan.data - 3 - 2 * scan.components : scan.data]
        ids, (first, last, bits) = header[: 2 * scan.components : 2], header[-3:]
        names = ",".join(str(jpeg.component_ids.index(i)) for i in ids if i in jpeg.component_ids)
        how = f": {first}-{last}, {bits >> 4}, {bits & 15}" if jpeg.progressive else ""
        lines.append(f"{names}{how};\n")
    return "".join(lines)
