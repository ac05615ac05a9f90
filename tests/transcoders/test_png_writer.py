"""Tests of how a PNG was written: its pixels can be the very file again, or it is refused."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from PIL import Image

from tests.transcoders.png_files import CHANNELS, DEPTHS, Png, Sample
from transcoders.exact.png_writer import PngWriter, writer_of
from transcoders.picture import Unfit

PALETTE = ((0, 0, 0), (255, 0, 0), (0, 255, 0), (255, 0, 0))
"""The second colour is there twice."""


def pixels(one: Png) -> Image.Image:
    image = Image.new("RGBA", (one.width, one.height))
    image.putdata(one.shown())
    return image


@st.composite
def pngs(draw: st.DrawFn) -> Png:
    colour = draw(st.sampled_from([0, 2, 3, 4, 6]))
    depth = draw(st.sampled_from(DEPTHS[colour]))
    width, height = draw(st.integers(1, 11)), draw(st.integers(1, 11))
    chance = random.Random(draw(st.integers(0, 1000)))
    most = min((1 << depth) - 1, len(PALETTE) - 1 if colour == 3 else 255)
    samples: list[Sample] = [
        tuple(chance.randint(0, most) for _ in range(CHANNELS[colour]))
        for _ in range(width * height)
    ]
    return Png(
        width,
        height,
        colour,
        depth,
        samples,
        palette=PALETTE[: min(4, 1 << depth)] if colour == 3 else (),
        interlaced=draw(st.booleans()),
        filters=draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)),
    )


SMALL = Png(
    4, 3, 2, 8, [(number, 2 * number, 255 - number) for number in range(12)], filters=(4, 1)
)


@given(pngs())
@settings(max_examples=150, deadline=None)
def test_a_png_of_any_kind_is_the_very_file_again(one: Png) -> None:
    data = one.file(level=6)
    writer, plain = writer_of(data)
    assert plain == b"".join(one.rows())
    assert writer.plain(pixels(one)) == plain
    assert writer.png(pixels(one)) == data


def test_colours_that_a_palette_has_twice_are_told_apart() -> None:
    twice = Png(4, 1, 3, 2, [(0,), (1,), (3,), (2,)], palette=PALETTE)
    writer, _ = writer_of(twice.file(level=6))
    assert writer.changed
    assert writer.png(pixels(twice)) == twice.file(level=6)
    once = replace(twice, samples=[(0,), (1,), (1,), (2,)])
    assert writer_of(once.file(level=6))[0].changed == b""


def test_another_picture_is_not_taken_for_it() -> None:
    writer, plain = writer_of(SMALL.file(level=6))
    with pytest.raises(Unfit, match="another picture"):
        writer.plain(Image.new("RGB", (3, 4)))
    with pytest.raises(Unfit, match="pixels as P"):
        writer.plain(Image.new("P", (4, 3)))
    assert writer.plain(Image.new("RGB", (4, 3))) != plain


def test_a_colour_that_its_palette_has_not_is_refused() -> None:
    one = Png(4, 1, 3, 2, [(0,)] * 4, palette=PALETTE)
    writer, _ = writer_of(one.file(level=6))
    with pytest.raises(Unfit, match="a colour that its palette has not"):
        writer.png(Image.new("RGBA", (4, 1), (1, 2, 3, 255)))


@pytest.mark.parametrize("change", [{"filters": b"x"}, {"filters": b""}])
def test_a_writer_that_is_damaged_is_refused(change: dict[str, bytes]) -> None:
    writer, _ = writer_of(SMALL.file(level=6))
    with pytest.raises(Unfit):
        structs.replace(writer, **change).png(pixels(SMALL))


def test_filters_for_another_number_of_rows_are_refused() -> None:
    writer, _ = writer_of(SMALL.file(level=6))
    other, _ = writer_of(replace(SMALL, height=2, samples=SMALL.samples[:8]).file(level=6))
    with pytest.raises(Unfit, match="2 bytes where there should be 3"):
        structs.replace(writer, filters=other.filters).png(pixels(SMALL))


@pytest.mark.parametrize(
    "data", [b"", b"GIF89a", SMALL.file(level=6)[:60], SMALL.file(level=6)[:-40]]
)
def test_what_is_no_whole_png_has_no_writer(data: bytes) -> None:
    with pytest.raises(Unfit):
        writer_of(data)


def test_samples_of_sixteen_bits_are_refused() -> None:
    out = io.BytesIO()
    Image.new("I;16", (8, 8), 1000).save(out, "PNG")
    with pytest.raises(Unfit, match="samples of another kind"):
        writer_of(out.getvalue())


def test_rows_of_another_length_than_the_header_says_are_refused() -> None:
    data = bytearray(SMALL.file(level=6))
    data[23] += 1  # a row more than there is
    with pytest.raises(Unfit, match="another length"):
        writer_of(bytes(data))


def test_pictures_with_palettes_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Png(4, 1, 3, 2, [(0,)] * 4, palette=PALETTE)
    writer, _ = writer_of(one.file(level=6))
    assert isinstance(writer, PngWriter)
    monkeypatch.setattr("transcoders.exact.png_writer.MAX_INDEXED", 3)
    with pytest.raises(Unfit):
        writer.png(pixels(one))
    with pytest.raises(Unfit):
        writer_of(one.file(level=6))
