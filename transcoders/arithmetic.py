"""JPEGs cross the link arithmetic-coded and reach browsers Huffman-coded: 6 to 7 % fewer bytes.

Both codings carry the same coefficients (T.81, annexes D and F), so no pixel changes; browsers
decode Huffman only. Every level ends with a scan: a cut inside an arithmetic-coded scan would yield
noise. The device writes the scans of a level as the remote did, one for one. Hence a level looks as
if it had never been anything else (decoders smooth what a file says it lacks), and the Huffman file
of a level is a prefix of the finer ones' but for its end marker.

Knows jpegtran and scans; does not know who is asked to undo the coding, or when.
"""

from __future__ import annotations

import asyncio
import base64
import io
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

from PIL import Image

from transcoders.formats.scans import END, DamagedJpeg, Jpeg, parse
from transcoders.formats.sniff import Format
from transcoders.make import jpeg
from transcoders.picture import Picture, Unfit
from transcoders.work.workers import Busy, FilterFailed, Slot, Workers
from wire.messages import ARITHMETIC
from wire.skeleton import Level

WORTH: Final = 0.98
"""Share of the bytes above which a file whose own scans serve keeps them: undoing the coding is not
worth the device's time. 112 web photos, of the bytes coded in Huffman's way: 0.89 to 0.97, median
0.938."""
LEAST: Final = 0.08
"""Share of the bytes below which no scan's end is the low level (jpeg.SNAP has the same)."""
PATIENCE: Final = 2.0
"""Seconds for coding one picture; then it goes as it is. 10 ms for 40 KB of a web photo. As long
a local proxy that starts waits to learn whether its jpegtran works."""
MAX_PIXELS: Final = 8_000_000
"""jpegtran on the device holds up to 6 bytes of each, 8 of CMYK."""
MEMORY_KB: Final = 80_000
"""What jpegtran may take for coefficients on the device."""
MAX_WAITING: Final = 64
"""Levels in line on the device. One takes 10 ms; the link brings a few a second."""

_FRAME: Final = 0xCA
"""Progressive DCT, arithmetic coding (T.81, table B.1)."""
_HUFFMAN_FRAME: Final = 0xC2
_FIRST_BAND: Final = re.compile(r"^(\d): 1-5, (.*)$", re.MULTILINE)
_RAMP: Final = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4"
    "UG1RV19iZ2hnPk1xeXBkeFxlZ2P/ygALCAAIAAgBAREA/8wABAAQ/9oACAEBAAAAAfj/zAAEEAX/2gAIAQEAAT8AFo/q"
    "IP/aAAgBAQAAABD/2Q=="
)
"""A grey ramp of 8 x 8 pixels, arithmetic-coded in three scans, one a refinement."""


def scan_script(components: int, *, luma_first: bool) -> str:
    """jpeg.scan_script with its first band in two, so that a scan ends at a tenth of the bytes.

    Splitting costs 0.3 % (no tables, but contexts learn anew). 92 web photos at their low levels,
    luma SSIM, median and 10th percentile: .724 .638; Huffman files cut at 10 % have .687 .608.
    """
    script = jpeg.scan_script(components, luma_first=luma_first)
    return _FIRST_BAND.sub(r"\1: 1-2, \2\n\1: 3-5, \2", script)


def levels(size: int, scans: Jpeg, *, final: str) -> tuple[Level, ...]:
    """Levels that end with scans, `final` being the whole of `size` bytes. Raises Unfit."""
    full_frame = scans.full_frame
    if full_frame is None:
        raise Unfit("no prefix of it fills the frame")
    ends = [s.end for s in scans.scans if s.end >= max(full_frame, LEAST * size)]
    shares = [("low", jpeg.LOW)]
    if final in ("high", "original"):
        shares.append(("medium", jpeg.MEDIUM))
    if final == "original":
        shares.append(("high", jpeg.HIGH))
    made: list[Level] = []
    for name, share in shares:
        end = min(ends, key=lambda end: abs(end - share * size))
        if (made[-1].end if made else 0) < end < ends[-1]:
            made.append(Level(name, 0, end, Format.JPEG.value, END))
    if not made or made[0].end > jpeg.MAX_LOW * size:
        raise Unfit("no small prefix of it ends with a scan")
    return (*made, Level(final, 0, size, Format.JPEG.value))


@dataclass(frozen=True, slots=True)
class ScanStep:
    """A prefix of a coded file that ends with a scan."""

    end: int
    known: int
    """Bytes from which one can tell that the scan has ended: the next one's header is in them."""


def first_step(begun: bytes, size: int) -> ScanStep | None:
    """The first prefix that fills the frame and is worth showing, of a file of `size` bytes.

    None: it is not in `begun`, what has come of the file. Never raises for what is in it.
    """
    try:
        scans = parse(begun + END)
    except DamagedJpeg:  # it may end inside a header
        return None
    full_frame = scans.full_frame
    if full_frame is None:
        return None
    for scan, following in pairwise(scans.scans):
        if scan.end >= max(full_frame, LEAST * size):
            return ScanStep(scan.end, following.data)
    return None


class ArithmeticEncoder:
    """The remote proxy's half: codes pictures for the link. Holds scan scripts in files."""

    def __init__(self, jpegtran: str) -> None:
        self._jpegtran = jpegtran
        self._folder = tempfile.TemporaryDirectory(prefix="sluice-arithmetic-")
        for name, script in (
            ("luma", scan_script(3, luma_first=True)),
            *((str(count), scan_script(count, luma_first=False)) for count in (1, 3, 4)),
        ):
            self._path(name).write_text(script)

    def _path(self, name: str) -> Path:
        return Path(self._folder.name, name)

    async def coded(
        self, data: bytes, source: jpeg.JpegSource, slot: Slot, *, final: str = "original"
    ) -> Picture:
        """The JPEG in scans that end where levels do, arithmetic-coded.

        Straight from the origin's bytes: coding it in Huffman's way first, to compare, took as much
        processor time again, and all of 112 web photos were smaller so. Raises Unfit where it does
        not pay, and FilterFailed.
        """
        size = source.jpeg.width * source.jpeg.height
        if not source.slim or size > MAX_PIXELS:
            raise Unfit("bytes that must stay, or too many pixels for the device")
        most = WORTH if jpeg.own_serves(data, source) else jpeg.MAX_GROWTH
        script = str(self._path(source.script))
        command = (self._jpegtran, "-copy", "all", "-arithmetic", "-scans", script)
        try:
            async with asyncio.timeout(PATIENCE):
                output = await slot.filter(command, source.slim, limit=int(most * len(data)))
        except TimeoutError as error:
            raise Unfit("coding takes too long") from error
        return await slot.call(partial(_checked, output, source.jpeg, final))

    def close(self) -> None:
        """Remove the scripts; the object is of no use after."""
        self._folder.cleanup()


def _checked(output: bytes, before: Jpeg, final: str) -> Picture:
    """The coded picture with its levels, if jpegtran's output is what it must be."""
    try:
        scans = parse(output)
    except DamagedJpeg as error:
        raise Unfit(f"jpegtran's output: {error}") from error
    if scans.frame != _FRAME or (scans.width, scans.height) != (before.width, before.height):
        raise Unfit("jpegtran's output is another picture")
    made = levels(len(output), scans, final=final)
    if len(made) < 2:
        raise Unfit("nothing to show early")
    lossless = final == "original"
    size = scans.width, scans.height
    return Picture(output, made, *size, lossless=lossless, identical=False, coding=ARITHMETIC)


class Undecodable(Exception):
    """A level could not be made a file that browsers show: damage, overload, too little time."""


class ArithmeticDecoder:
    """The local proxy's half: makes levels Huffman-coded again, a bounded number at a time."""

    def __init__(
        self,
        jpegtran: str | None = shutil.which("jpegtran"),
        *,
        workers: int = 2,
        timeout: float = 10.0,
    ) -> None:
        """`timeout`: seconds for one level, waiting in line included."""
        self._jpegtran = jpegtran
        self._workers = Workers(workers=workers, waiting=MAX_WAITING)
        self._timeout = timeout
        self.works = False
        """Whether `probe` succeeded: a jpegtran is here and was built with arithmetic coding."""

    async def probe(self) -> bool:
        """Try it on a tiny picture; remembers the answer in `works`."""
        try:
            async with asyncio.timeout(PATIENCE):
                ramp = await self.huffman(_RAMP)
            with Image.open(io.BytesIO(ramp)) as image:
                row = list(image.convert("L").tobytes()[:8])
            self.works = row == sorted(row) and row[0] < 32 and row[-1] > 192
        except Exception:  # Pillow raises a dozen kinds
            self.works = False
        return self.works

    async def huffman(self, data: bytes) -> bytes:
        """The same coefficients in the same scans, Huffman-coded. Raises Undecodable.

        `data`: a file that ends with a scan and an end marker. Anything that jpegtran so much as
        warns of is refused, and so is what would take more memory than MEMORY_KB.
        """
        if self._jpegtran is None:
            raise Undecodable("jpegtran is not installed")
        try:
            async with asyncio.timeout(self._timeout), self._workers.slot() as slot:
                script = await slot.call(partial(_script_of, data))
                with tempfile.NamedTemporaryFile("w", prefix="sluice-scans-") as file:
                    file.write(script)
                    file.flush()
                    memory = ("-maxmemory", str(MEMORY_KB))
                    command = (self._jpegtran, *memory, "-copy", "all", "-scans", file.name)
                    output = await slot.filter(command, data, limit=2 * len(data) + (1 << 20))
                decoded = await slot.call(partial(parse, output))
        except (Unfit, DamagedJpeg, FilterFailed, Busy, TimeoutError, OSError) as error:
            raise Undecodable(str(error) or type(error).__name__) from error
        if decoded.frame != _HUFFMAN_FRAME:
            raise Undecodable("jpegtran did not undo the coding")
        return output

    async def close(self) -> None:
        """Take no more. What waits ends as Undecodable."""
        await self._workers.close()


def _script_of(data: bytes) -> str:
    """The scan script by which the file was written. Raises Unfit, DamagedJpeg."""
    scans = parse(data)
    if scans.frame != _FRAME or scans.width * scans.height > MAX_PIXELS:
        raise Unfit("not a picture that was coded for the link")
    lines = []
    for scan in scans.scans:
        header = data[scan.data - 3 - 2 * scan.components : scan.data]
        ids, (first, last, bits) = header[: 2 * scan.components : 2], header[-3:]
        if not set(ids) <= set(scans.component_ids):
            raise Unfit("a scan of a component that is not there")
        names = ",".join(str(scans.component_ids.index(number)) for number in ids)
        lines.append(f"{names}: {first}-{last}, {bits >> 4}, {bits & 15};\n")
    return "".join(lines)
