"""The structure of a JPEG file: its segments, its scans, and where it may be cut.

A progressive JPEG is a sequence of scans, each refining the whole picture; any prefix that ends
at or inside a scan's data is a picture once an end marker follows. Source: ITU-T T.81, annexes
B (syntax) and G (progressive mode).

Knows markers and offsets only: nothing is decoded, nothing is judged worth while here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_SCANS: Final = 64
"""More than any encoder writes (jpegtran's default script has 10). A file of 113 KB with 610
scans takes 9 s to decode; counting them takes well under a millisecond."""
MAX_SEGMENTS: Final = 1024
"""Marker segments of a whole file; 255 of them can be one large ICC profile."""

END: Final = b"\xff\xd9"
"""The end-of-image marker: the suffix of a cut prefix."""

_SOF_PROGRESSIVE: Final = 0xC2
_SOF: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_EOI: Final = 0xD9
_SOS: Final = 0xDA
_STANDALONE: Final = frozenset((0x01, *range(0xD0, 0xD9)))
_MARKER_IN_DATA: Final = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
"""Ends a scan's data: a marker other than a stuffed zero or a restart (T.81, B.1.1.5)."""
_MAX_FILL: Final = 64
"""Fill bytes before a marker; any number is legal, more than a few are an attack."""


class DamagedJpeg(Exception):
    """Not the JPEG it claims to be: truncated, out of order, or beyond the limits above."""


@dataclass(frozen=True, slots=True)
class MarkerSegment:
    """A marker segment before the first scan: bytes start to end, marker and length included."""

    marker: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Scan:
    """One scan: tables and header are in start to data, its coded data in data to end."""

    start: int
    data: int
    end: int
    components: int
    spectral_start: int
    """0: a scan of DC coefficients, the coarsest there is."""
    first_pass: bool
    """Whether it is the first to carry these coefficients, not a refinement."""


@dataclass(frozen=True, slots=True)
class Jpeg:
    """A JPEG file's structure; offsets are into the file."""

    frame: int
    """The frame marker, 0xC0 to 0xCF: which coding process it uses (T.81, table B.1)."""
    precision: int
    """Bits per sample."""
    width: int
    height: int
    component_ids: tuple[int, ...]
    segments: tuple[MarkerSegment, ...]
    scans: tuple[Scan, ...]
    end: int
    """Just after the end marker; what follows is not part of this picture."""

    @property
    def progressive(self) -> bool:
        """Huffman-coded progressive DCT, the only process whose prefixes are usable here."""
        return self.frame == _SOF_PROGRESSIVE

    @property
    def full_frame(self) -> int | None:
        """Offset where every component's DC coefficients have come once; None: never."""
        missing = len(self.component_ids)
        for scan in self.scans:
            if scan.spectral_start == 0 and scan.first_pass:
                missing -= scan.components
                if missing <= 0:
                    return scan.end
        return None

    def cut(self, data: bytes, at: int) -> int:
        """The last offset at or before `at` where the file may be cut; 0: before any picture."""
        for scan in reversed(self.scans):
            if at > scan.data:
                at = min(at, scan.end)
                # A lone FF would swallow the end marker's own FF.
                while at > scan.data and data[at - 1] == 0xFF:
                    at -= 1
                return at
        return 0


def parse(data: bytes) -> Jpeg:
    """The structure of the file. Raises DamagedJpeg; never reads outside `data`."""
    try:
        return _Parser(data).run()
    except IndexError as error:
        raise DamagedJpeg("the file ends inside a segment") from error


class _Parser:
    """One pass over the markers."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._frame: tuple[int, int, int, int, tuple[int, ...]] | None = None
        self._segments: list[MarkerSegment] = []
        self._scans: list[Scan] = []

    def run(self) -> Jpeg:
        data = self._data
        if data[:2] != b"\xff\xd8":
            raise DamagedJpeg("no start marker")
        at = after_scan = 2
        for _ in range(MAX_SEGMENTS):
            marker, body = self._marker(at)
            if marker == _EOI:
                return self._finish(body)
            if marker in _STANDALONE:
                raise DamagedJpeg(f"marker 0x{marker:02x} out of place")
            end = body + self._length(body)
            if marker == _SOS:
                at = after_scan = self._scan(after_scan, body, end)
                continue
            if marker in _SOF:
                self._read_frame(marker, body, end)
            if not self._scans:
                self._segments.append(MarkerSegment(marker, at, end))
            at = end
        raise DamagedJpeg(f"more than {MAX_SEGMENTS} segments")

    def _marker(self, at: int) -> tuple[int, int]:
        """The marker at `at` and the offset after it. Any number of FF may fill before it."""
        data = self._data
        if data[at] != 0xFF:
            raise DamagedJpeg(f"no marker at {at}")
        for after in range(at + 1, at + _MAX_FILL):
            if data[after] != 0xFF:
                return data[after], after + 1
        raise DamagedJpeg(f"more than {_MAX_FILL} fill bytes at {at}")

    def _length(self, at: int) -> int:
        length = self._data[at] << 8 | self._data[at + 1]
        if length < 2 or at + length > len(self._data):
            raise DamagedJpeg(f"a segment of {length} bytes at {at}")
        return length

    def _read_frame(self, marker: int, body: int, end: int) -> None:
        data = self._data
        if self._frame is not None:
            raise DamagedJpeg("two frame headers")
        count = data[body + 7]
        if end - body != 8 + 3 * count:
            raise DamagedJpeg("frame header of a wrong length")
        height, width = data[body + 3] << 8 | data[body + 4], data[body + 5] << 8 | data[body + 6]
        if not (height and width and count):
            raise DamagedJpeg("a picture without pixels")
        ids = tuple(data[body + 8 : end : 3])
        self._frame = (marker, data[body + 2], width, height, ids)

    def _scan(self, start: int, body: int, header_end: int) -> int:
        """Record a scan; the offset after its data."""
        if self._frame is None:
            raise DamagedJpeg("a scan before the frame header")
        if len(self._scans) == MAX_SCANS:
            raise DamagedJpeg(f"more than {MAX_SCANS} scans")
        data = self._data
        components = data[body + 2]
        if header_end - body != 6 + 2 * components or not components:
            raise DamagedJpeg("scan header of a wrong length")
        found = _MARKER_IN_DATA.search(data, header_end)
        if found is None:
            raise DamagedJpeg("no end marker")
        end = found.start()
        while end > header_end and data[end - 1] == 0xFF:
            end -= 1
        self._scans.append(
            Scan(
                start=start,
                data=header_end,
                end=end,
                components=components,
                spectral_start=data[header_end - 3],
                first_pass=data[header_end - 1] >> 4 == 0,
            )
        )
        return end

    def _finish(self, end: int) -> Jpeg:
        if self._frame is None or not self._scans:
            raise DamagedJpeg("an end marker before any scan")
        frame, precision, width, height, ids = self._frame
        return Jpeg(
            frame=frame,
            precision=precision,
            width=width,
            height=height,
            component_ids=ids,
            segments=tuple(self._segments),
            scans=tuple(self._scans),
            end=end,
        )
