"""Makes arithmetic-coded levels of JPEGs Huffman-coded again, on the device, which browsers decode.

The device writes the scans of a level as the remote did, one for one
(transcoders/make/arithmetic.py says why). Knows jpegtran and scans; does not know who asks for a
level, or when."""

from __future__ import annotations

import asyncio
import base64
import io
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

from PIL import Image

from transcoders.formats.scans import END, DamagedJpeg, parse
from transcoders.picture import Unfit
from transcoders.work.workers import Busy, FilterFailed, Workers

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
FRAME: Final = 0xCA
"""Progressive DCT, arithmetic coding (T.81, table B.1)."""
_HUFFMAN_FRAME: Final = 0xC2
_RAMP: Final = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4"
    "UG1RV19iZ2hnPk1xeXBkeFxlZ2P/ygALCAAIAAgBAREA/8wABAAQ/9oACAEBAAAAAfj/zAAEEAX/2gAIAQEAAT8AFo/q"
    "IP/aAAgBAQAAABD/2Q=="
)
"""A grey ramp of 8 x 8 pixels, arithmetic-coded in three scans, one a refinement."""


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
    if scans.frame != FRAME or scans.width * scans.height > MAX_PIXELS:
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
