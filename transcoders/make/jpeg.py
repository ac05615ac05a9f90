"""JPEG: prefixes of one progressive file are the fidelity levels (subsetting adaptation).

A scan script puts what the eye needs first in front; jpegtran re-arranges the coefficients by it
without decoding them, so the last pixel is the origin's. A file that can't be re-arranged but is
progressive already is cut where it is, byte for byte the origin's.

Knows scans, shares and jpegtran's command line; does not know who asked, nor any other format.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from transcoders.formats.metadata import compound, slim
from transcoders.formats.scans import END, DamagedJpeg, Jpeg, parse
from transcoders.formats.sniff import Format
from transcoders.picture import Picture, Unfit
from transcoders.work.workers import FilterFailed, Slot
from wire.skeleton import Level

LOW: Final = 0.10
"""Share of the bytes of the low level, or where a scan ends near it. 59 web photos, luma SSIM,
median and 10th percentile: 8 % .704 .607, 10 % .754 .652, first AC scan's end (10.2 % of the
bytes) .776 .657, 1/7 .807 .713. The paper's 1/7 costs 40 % more time until a page is painted."""
SNAP: Final = (0.08, 0.12)
"""Shares between which the end of a scan is preferred to LOW."""
MAX_LOW: Final = 0.25
"""No low level where the first picture that fills the frame takes more of the bytes."""
MEDIUM: Final = 3 / 7
"""HATS, section 4.1.1: the first 1/7 and the next 2/7. SSIM .933 .892."""
HIGH: Final = 5 / 7
"""SSIM .973 .954: the last 2/7 of the bytes are hard to see."""
KEEP_OWN: Final = 1.05
"""A progressive file whose own prefix is small enough keeps its bytes if re-arranging it costs
more than this times its size. It is x1.002 in the median of web photos, x0.90 to x1.13."""
MAX_GROWTH: Final = 1.15
"""Any other may grow by so much, as by a version in front: at the same SSIM the low level then has
half the bytes of the file's own (four tightly encoded files: .10 of the bytes, not .19)."""

_HUFFMAN_DCT: Final = frozenset((0xC0, 0xC1, 0xC2))
"""Frames that browsers decode: baseline, extended, progressive; not lossless or arithmetic."""

_LUMA_FIRST: Final = """\
0,1,2: 0-0, 0, 2;
0: 1-5, 0, 3;
0: 6-63, 0, 3;
0: 1-63, 3, 2;
2: 1-63, 0, 1;
1: 1-63, 0, 1;
0: 1-63, 2, 1;
0,1,2: 0-0, 2, 1;
0,1,2: 0-0, 1, 0;
0: 1-63, 1, 0;
2: 1-63, 1, 0;
1: 1-63, 1, 0;
"""
"""For YCbCr. On 25 web photos against libjpeg's own script: median SSIM .657 -> .698 at 10 % of the
bytes, .729 -> .778 at 1/7, .870 -> .897 at 30 %, for 0.8 % more bytes. Two more steps of successive
approximation would give .725 at 10 %, but a worse p10 (.353, not .605) and 1.1 % more bytes, which
is what decides when the picture is complete."""


def scan_script(components: int, *, luma_first: bool) -> str:
    """jpegtran's scan script; without `luma_first` no component comes before another."""
    if luma_first:
        return _LUMA_FIRST
    every = range(components)
    together = ",".join(map(str, every))
    lines = [f"{together}: 0-0, 0, 3;"]
    lines += [f"{c}: 1-5, 0, 4;" for c in every]
    lines += [f"{together}: 0-0, 3, 2;"]
    lines += [f"{c}: 6-63, 0, 4;" for c in every]
    for high, low in ((4, 3), (3, 2), (2, 1), (1, 0)):
        if high < 3:
            lines += [f"{together}: 0-0, {high}, {low};"]
        lines += [f"{c}: 1-63, {high}, {low};" for c in every]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class JpegSource:
    """A JPEG that was looked at and is worth going on with."""

    jpeg: Jpeg
    slim: bytes
    """The file without ballast; empty: its bytes must stay where they are."""
    script: str
    """Name of the scan script for it."""


def inspect(data: bytes, *, max_pixels: int) -> JpegSource:
    """Parse the file and decide what may be done. Raises Unfit."""
    try:
        jpeg = parse(data)
    except DamagedJpeg as error:
        raise Unfit(str(error)) from error
    if jpeg.width * jpeg.height > max_pixels:
        raise Unfit(f"{jpeg.width} x {jpeg.height} pixels")
    components = len(jpeg.component_ids)
    if jpeg.frame not in _HUFFMAN_DCT or jpeg.precision != 8 or components not in (1, 3, 4):
        raise Unfit("a JPEG that browsers do not show")
    script = "luma" if components == 3 and not _is_rgb(data, jpeg) else str(components)
    return JpegSource(jpeg, b"" if compound(data, jpeg) else slim(data, jpeg), script)


def _is_rgb(data: bytes, jpeg: Jpeg) -> bool:
    """Three components without a colour transform, as libjpeg decides it (jdapimin.c)."""
    for segment in jpeg.segments:
        if segment.marker == 0xE0 and data.startswith(b"JFIF\0", segment.start + 4):
            return False
        if segment.marker == 0xEE and data.startswith(b"Adobe", segment.start + 4):
            return segment.end - segment.start >= 16 and data[segment.start + 15] == 0
    return bytes(jpeg.component_ids) == b"RGB"


def levels(data: bytes, jpeg: Jpeg, *, final: str) -> tuple[Level, ...]:
    """The levels of a progressive file, `final` being the whole. Raises Unfit if it has no low."""
    size = len(data)
    full_frame = jpeg.full_frame
    if not jpeg.progressive or full_frame is None or full_frame > MAX_LOW * size:
        raise Unfit("no small prefix of it fills the frame")
    low = max(full_frame, _low_cut(data, jpeg))
    cuts = [("low", low)]
    if final in ("high", "original"):
        cuts.append(("medium", jpeg.cut(data, int(MEDIUM * size))))
    if final == "original":
        cuts.append(("high", jpeg.cut(data, int(HIGH * size))))
    made: list[Level] = []
    for name, end in cuts:
        if end > (made[-1].end if made else 0):
            made.append(Level(name, 0, end, Format.JPEG.value, END))
    return (*made, Level(final, 0, size, Format.JPEG.value))


def _low_cut(data: bytes, jpeg: Jpeg) -> int:
    """At LOW, or at the scan end nearest to it within SNAP: a whole scan looks even all over."""
    size = len(data)
    near = [scan.end for scan in jpeg.scans if SNAP[0] * size <= scan.end <= SNAP[1] * size]
    if near:
        return min(near, key=lambda end: abs(end - LOW * size))
    return jpeg.cut(data, int(LOW * size))


def in_place(data: bytes, source: JpegSource, *, final: str = "original") -> Picture:
    """Cut a progressive file where it is. Raises Unfit if its own scans do not serve."""
    jpeg = source.jpeg
    identical = final == "original"
    return Picture(
        data,
        levels(data, jpeg, final=final),
        jpeg.width,
        jpeg.height,
        lossless=identical,
        identical=identical,
    )


class Rearranger:
    """jpegtran and its scan scripts, which it reads from files."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._folder = tempfile.TemporaryDirectory(prefix="sluice-scans-")
        for name, script in (
            ("luma", scan_script(3, luma_first=True)),
            *((str(count), scan_script(count, luma_first=False)) for count in (1, 3, 4)),
        ):
            self._path(name).write_text(script)

    def _path(self, name: str) -> Path:
        return Path(self._folder.name, name)

    async def rearrange(self, source: JpegSource, slot: Slot) -> bytes:
        """The same pixels in the order of our script. Raises Unfit, for damaged files too."""
        command = (self._command, "-copy", "all", "-scans", str(self._path(source.script)))
        try:
            # Twice the size and some: a few bits for each block of each scan, if all are empty.
            return await slot.filter(command, source.slim, limit=2 * len(source.slim) + (1 << 20))
        except FilterFailed as error:
            raise Unfit(str(error)) from error

    def close(self) -> None:
        """Remove the scripts; the object is of no use after."""
        self._folder.cleanup()


async def rearranged(
    data: bytes, source: JpegSource, rearranger: Rearranger, slot: Slot, *, final: str = "original"
) -> Picture:
    """The picture in our scan order, or as it is where that serves better. Raises Unfit."""
    if not source.slim:
        return in_place(data, source, final=final)
    output = await rearranger.rearrange(source, slot)
    growth = len(output) / len(data)
    if growth > KEEP_OWN and own_serves(data, source):
        return in_place(data, source, final=final)
    if growth > MAX_GROWTH:
        raise Unfit(f"{len(output)} bytes re-arranged from {len(data)}")
    return await slot.call(partial(_check, output, source.jpeg, final))


def own_serves(data: bytes, source: JpegSource) -> bool:
    """Whether a progressive file's own scans give a low level that is small enough."""
    try:
        low = levels(data, source.jpeg, final="original")[0]
    except Unfit:
        return False
    return low.end <= SNAP[1] * len(data)


def _check(output: bytes, before: Jpeg, final: str) -> Picture:
    """Levels for jpegtran's output, if it is what it must be."""
    try:
        after = parse(output)
    except DamagedJpeg as error:
        raise Unfit(f"jpegtran's output: {error}") from error
    if (after.width, after.height) != (before.width, before.height) or len(
        after.component_ids
    ) != len(before.component_ids):
        raise Unfit("jpegtran's output is another picture")
    lossless = final == "original"
    made = levels(output, after, final=final)
    return Picture(output, made, after.width, after.height, lossless=lossless, identical=False)
