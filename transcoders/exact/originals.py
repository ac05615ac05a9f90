"""The origin's very bytes of a picture that crossed the link in another form.

The remote proxy writes a recipe for what it has sent and tries it; the device follows it. A
JPEG's other form is one in other scans, Huffman- or arithmetic-coded, a PNG's a lossless WebP.

Must not know components, levels.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from functools import partial
from typing import Final

from PIL import Image

from transcoders.exact.coder import MEMORY_KB
from transcoders.exact.jpeg_writer import JpegWriter, guess
from transcoders.exact.png_writer import writer_of
from transcoders.exact.recipe import MAX_BYTES, Recipe
from transcoders.exact.rows import deflated
from transcoders.exact.zlib_settings import likely
from transcoders.formats.pixels import opened
from transcoders.formats.sniff import Format, sniff
from transcoders.picture import Unfit
from transcoders.work.workers import Slot

MAX_PIXELS: Final = 8_000_000
"""Of a WebP: as many as the remote proxy makes one of (lossless.EFFORT)."""
SLACK: Final = 1 << 20
"""Bytes by which what jpegtran writes may be larger than the file: metadata that is elsewhere."""


def promising(data: bytes) -> bool:
    """Whether a file most likely has a recipe: within 1 ms for a JPEG, 1 to 30 ms for a PNG.

    Never raises for what is in `data`.
    """
    if len(data) > MAX_BYTES:
        return False
    kind = sniff(data)
    if kind is Format.JPEG:
        return guess(data) is not None
    try:
        return kind is Format.PNG and likely(deflated(data))
    except Unfit:
        return False


class OriginalEncoder:
    """The remote proxy's half."""

    def __init__(self, jpegtran: str | None) -> None:
        """`jpegtran`: its path; None: JPEGs have no recipe."""
        self._jpegtran = jpegtran

    async def recipe(self, data: bytes, form: bytes, slot: Slot) -> bytes:
        """What makes `data` of that form of it; tried.

        Raises Unfit, FilterFailed, or what Pillow raises.
        """
        if len(data) > MAX_BYTES:
            raise Unfit("too much")
        if sniff(data) is Format.PNG:
            return await slot.call(partial(_png_recipe, data, form))
        writer = await slot.call(partial(guess, data))
        if writer is None or self._jpegtran is None:
            raise Unfit("nobody knows how it was written, or can write it again")
        written = await written_by(self._jpegtran, form, writer, slot, limit=2 * len(data) + SLACK)
        return await slot.call(partial(_jpeg_recipe, data, written, writer))


def _jpeg_recipe(data: bytes, written: bytes, writer: JpegWriter) -> bytes:
    recipe = Recipe.of(data, jpeg=writer.filled(data, written))
    assert recipe.jpeg is not None
    recipe.check(recipe.jpeg.jpeg(written, size=len(data)))
    return recipe.encoded()


def _png_recipe(data: bytes, form: bytes) -> bytes:
    writer, rows = writer_of(data)
    if writer.plain(webp_pixels(form)) != rows:
        raise Unfit("its pixels do not make its rows again")
    return Recipe.of(data, png=writer).encoded()  # that its rows make the file, writer_of found


def webp_pixels(form: bytes) -> Image.Image:
    with opened(form, Format.WEBP) as image:
        if image.width * image.height > MAX_PIXELS:
            raise Unfit(f"{image.width} x {image.height} pixels")
        image.load()
        return image.copy()


async def written_by(
    jpegtran: str, form: bytes, writer: JpegWriter, slot: Slot, *, limit: int
) -> bytes:
    """What jpegtran makes of the form. Raises Unfit, FilterFailed, OSError."""
    with _file(writer.script) as script:
        command = (jpegtran, "-maxmemory", str(MEMORY_KB), "-copy", "all")
        return await slot.filter((*command, *writer.switches(script)), form, limit=limit)


@contextlib.contextmanager
def _file(script: str) -> Iterator[str]:
    """The name of a file that holds it; "" for none."""
    if not script:
        yield ""
        return
    with tempfile.NamedTemporaryFile("w", prefix="sluice-scans-") as file:
        file.write(script)
        file.flush()
        yield file.name
