"""Recipes that are damaged, lie or swell: one error, and nothing taken for the origin's."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import tracemalloc
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import msgpack, structs
from PIL import Image

from local_proxy.link.picture_decoding import PictureDecoding
from tests.transcoders.png_files import chunk
from tests.transcoders.test_recipes import chance, needs_jpegtran, original, recipe_of_png, sent
from transcoders.exact import recipe as recipes
from transcoders.exact.coder import Undone
from transcoders.exact.jpeg_writer import JpegWriter, Mend
from transcoders.exact.recipe import Recipe
from transcoders.exact.zlib_settings import ZlibSettings
from transcoders.picture import Unfit
from wire.abilities import RECIPES

DRAWN = chance(3, 4, interlaced=True)
FORM, RECIPE = recipe_of_png(DRAWN)
TOLD = Recipe.decoded(RECIPE)
assert TOLD.png is not None
PNG = TOLD.png


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_damaged_recipe_is_refused_or_harmless(draw: st.DataObject) -> None:
    """Damaged before it was deflated, else the checks behind that would see nothing."""
    recipe = bytearray(zlib.decompress(RECIPE, -15))
    for _ in range(draw.draw(st.integers(1, 4))):
        recipe[draw.draw(st.integers(0, len(recipe) - 1))] = draw.draw(st.integers(0, 255))
    cut = bytes(recipe[: draw.draw(st.integers(0, len(recipe)))])
    deflater = zlib.compressobj(1, zlib.DEFLATED, -15)
    with contextlib.suppress(Undone):
        assert original(FORM, deflater.compress(cut) + deflater.flush()) == DRAWN


@given(st.binary(max_size=300), st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_anything_at_all_is_refused(form: bytes, recipe: bytes) -> None:
    with pytest.raises(Undone):
        original(form, recipe)


def png_with(**more: Any) -> Recipe:
    return structs.replace(TOLD, png=structs.replace(PNG, **more))


def rows_with(**more: Any) -> Recipe:
    return png_with(rows=structs.replace(PNG.rows, **more))


def header(width: int, height: int, depth: int, colour: int, interlaced: int = 0) -> bytes:
    fields = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", fields + bytes((depth, colour, 0, 0, interlaced)))


LIES = [
    structs.replace(TOLD, size=0),
    structs.replace(TOLD, size=-1),
    structs.replace(TOLD, size=1 << 40),
    structs.replace(TOLD, size=TOLD.size + 1),
    structs.replace(TOLD, digest=b""),
    structs.replace(TOLD, png=None),
    structs.replace(TOLD, jpeg=JpegWriter()),
    structs.replace(TOLD, png=None, jpeg=JpegWriter()),
    structs.replace(TOLD, png=None, jpeg=JpegWriter(script="0: 0-0, 0, 0;\n" * 65)),
    structs.replace(TOLD, png=None, jpeg=JpegWriter(script="/etc/passwd")),
    structs.replace(TOLD, png=None, jpeg=JpegWriter(restart=-1)),
    structs.replace(TOLD, png=None, jpeg=JpegWriter(restart=1 << 20)),
    png_with(filters=b""),
    png_with(filters=zlib.compress(bytes(100_000_000), 9)),
    png_with(filters=zlib.compress(b"\x05" * 100)),
    png_with(changed=zlib.compress(bytes(100_000_000), 9)),
    png_with(changed=zlib.compress(b"\xff" * 143)),
    rows_with(before=b""),
    rows_with(before=header(13, 11, 16, 2)),
    rows_with(before=header(13, 11, 8, 7)),
    rows_with(before=header(13, 11, 8, 2, 3)),
    rows_with(before=header(1 << 31, 1 << 31, 8, 6)),
    rows_with(before=header(0, 0, 8, 6)),
    rows_with(before=header(11, 13, 8, 6)),
    rows_with(before=header(13, 11, 4, 3)),  # and no palette
    rows_with(settings=ZlibSettings(6, 99, 8, 0)),
    rows_with(settings=ZlibSettings(0, 15, 8, 0)),
    rows_with(lengths=[0]),
    rows_with(lengths=[]),
    rows_with(lengths=[-5]),
]


@pytest.mark.parametrize("recipe", LIES, ids=range(len(LIES)))
def test_recipes_that_lie_are_refused(recipe: Recipe) -> None:
    with pytest.raises(Undone):
        original(FORM, recipe.encoded())


@needs_jpegtran
@pytest.mark.parametrize(
    "lie",
    [
        {"between": []},
        {"between": [-1]},
        {"between": [1 << 60]},
        {"rest": b"x"},
        {"rest": zlib.compress(bytes(100_000_000), 9)[2:-4]},
        {"best": True},
        {"restart": 7},
        {"script": "0: 0-0, 0, 0;\n"},
        {"mends": [Mend(9, 0, 0, 0)]},
        {"mends": [Mend(0, -1, 5, 0)]},
        {"mends": [Mend(0, 10, 0, 1 << 60)]},
        {"mends": [Mend(0, 0, 1 << 60, 0)]},
    ],
)
def test_recipes_of_jpegs_that_lie_are_refused(
    lie: dict[str, Any], pictures: dict[str, bytes]
) -> None:
    form, recipe = sent(pictures["grey.jpg"])
    assert recipe is not None
    told = Recipe.decoded(recipe)
    assert told.jpeg is not None
    with pytest.raises(Undone):
        original(form, structs.replace(told, jpeg=structs.replace(told.jpeg, **lie)).encoded())
    with pytest.raises(Undone):
        original(form[: len(form) // 2], recipe)
    with pytest.raises(Undone):
        original(FORM, recipe)


def test_lists_are_no_longer_than_they_may_be() -> None:
    numbers = msgpack.encode([[1] * 200_000])
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = msgpack.encode([1, bytes(8), None, [[[6, 15, 8, 0], b"", b""], b""]])
    assert body.endswith(b"\xc4\x00\xc4\x00")
    wide = body.replace(b"\x94\x94", b"\x94\x94", 1)[:-4] + b"\xc4\x00" + numbers[1:] + b"\xc4\x00"
    with pytest.raises(Unfit):
        Recipe.decoded(deflater.compress(wide) + deflater.flush())


def test_a_recipe_that_swells_takes_no_memory() -> None:
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = deflater.compress(bytes(1 << 28)) + deflater.flush()
    assert len(bomb) < 300_000
    tracemalloc.start()
    try:
        with pytest.raises(Unfit):
            Recipe.decoded(bomb)
        assert tracemalloc.get_traced_memory()[1] < 3 * recipes.MAX_BYTES
    finally:
        tracemalloc.stop()


def test_another_zlib_on_the_device_is_noticed_and_no_more_recipes_are_asked_for() -> None:
    """It would write other bytes of the same rows; the digest tells."""
    other = rows_with(settings=structs.replace(PNG.rows.settings, level=1))
    assert other.png is not None
    with Image.open(io.BytesIO(FORM)) as image:
        made = other.png.png(image)
    assert made != DRAWN
    assert hashlib.sha256(DRAWN).digest().startswith(TOLD.digest)

    async def go() -> None:
        decoding = PictureDecoding(None, streams=False)
        try:
            assert RECIPES in decoding.accepts()
            assert await decoding.restore(FORM, RECIPE) == DRAWN
            recipe = structs.replace(other, size=len(made)).encoded()
            with pytest.raises(Undone, match="other bytes"):
                await decoding.restore(FORM, recipe)
            assert RECIPES not in decoding.accepts()
        finally:
            await decoding.close()

    asyncio.run(go())
