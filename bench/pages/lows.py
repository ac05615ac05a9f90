"""Shows and weighs pictures' low levels: as a prefix or version, coded, as a sketch.

SSIM is luma's over the picture's own pixels (bench/browsers/visual.py), after all that the device
does. One picture at a time, so that times are the work's alone. Knows pictures; not links, not
pages."""

from __future__ import annotations

import io
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from PIL import Image, ImageOps

from bench.browsers.visual import similarity
from transcoders.make.registry import Transcoders
from transcoders.make.sketch import draw
from transcoders.picture import Picture, PictureOptions
from transcoders.undo.arithmetic import ArithmeticDecoder
from transcoders.undo.sketch import enlarged

PLAIN: Final = "prefix or version"
CODED: Final = "coded"
SKETCH: Final = "sketch"
"""The ways: as devices get it that accept nothing, arithmetic coding, sketches too."""


@dataclass(frozen=True, slots=True)
class LowSample:
    """One picture's low level, one way."""

    size: int
    """Bytes on the link."""
    share: float
    """Of the origin's bytes."""
    ssim: float
    encode_ms: float = 0.0
    """To make the sketch, decoding included."""
    enlarge_ms: float = 0.0
    """On the device."""


async def lows(data: bytes, content_type: str, *, jpegtran: str | None) -> dict[str, LowSample]:
    """The low level each way; without SKETCH where a sketch gains nothing. Empty: no levels."""
    transcoders, decoder = Transcoders(jpegtran=jpegtran), ArithmeticDecoder(jpegtran)
    try:
        plain = await transcoders.picture(data, content_type)
        coded = await transcoders.picture(data, content_type, PictureOptions(arithmetic=True))
        if plain is None or coded is None:
            return {}
        file = _low_file(coded)
        if coded.coding:
            file = await decoder.huffman(file)
    finally:
        await transcoders.close()
        await decoder.close()
    origin = _shown(data)
    made = {
        PLAIN: _low(plain, _low_file(plain), origin, data),
        CODED: _low(coded, file, origin, data),
    }
    prefix = len(coded.levels) > 1 and not coded.levels[1].start
    sketch = _sketch(origin, data) if prefix else None  # versions were made for the purpose
    return made if sketch is None else {**made, SKETCH: sketch}


def _sketch(origin: Image.Image, data: bytes) -> LowSample | None:
    began = time.perf_counter()
    try:
        made = draw(data)
    except Exception:  # Pillow raises a dozen kinds
        return None
    between = time.perf_counter()
    file = enlarged(made.data, made.level.width, made.level.height)
    times = (between - began) * 1e3, (time.perf_counter() - between) * 1e3
    return _low(made.alone(), file, origin, data, *times)


def _low(
    picture: Picture, file: bytes, origin: Image.Image, data: bytes, *times_ms: float
) -> LowSample:
    level = picture.levels[0]
    size = level.end - level.start
    return LowSample(size, size / len(data), similarity(_shown(file), origin), *times_ms)


def _low_file(picture: Picture) -> bytes:
    level = picture.levels[0]
    return picture.data[level.start : level.end] + level.suffix


def _shown(data: bytes) -> Image.Image:
    return ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")


def compared(found: Iterable[dict[str, LowSample]]) -> dict[str, Any]:
    """Medians and 10th percentiles by way, over the pictures that have a sketch."""
    ways = list(found)
    having = [one for one in ways if SKETCH in one]
    table = {name: _summary([one[name] for one in having]) for name in (PLAIN, CODED, SKETCH)}
    return {"sketches": len(having), "without": len(ways) - len(having), "low": table}


def _summary(some: Sequence[LowSample]) -> dict[str, float]:
    if not some:
        return {}
    similar = sorted(one.ssim for one in some)
    return {
        "bytes_sum": sum(one.size for one in some),
        "bytes": statistics.median(one.size for one in some),
        "share": statistics.median(one.share for one in some),
        "ssim": statistics.median(similar),
        "ssim_p10": similar[int(0.1 * len(similar))],
        "encode_ms": statistics.median(one.encode_ms for one in some),
        "enlarge_ms": statistics.median(one.enlarge_ms for one in some),
    }
