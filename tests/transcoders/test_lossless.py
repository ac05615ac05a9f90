"""PNGs as lossless WebP: every pixel as it was, or the file as it was."""

from __future__ import annotations

import asyncio
import io
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

from tests.transcoders.png_files import CHANNELS, DEPTHS, Png, chunk
from transcoders.formats import png
from transcoders.make.lossless import EFFORT, MAX_SIDE, WORTH, check_same, webp
from transcoders.make.registry import Transcoders
from transcoders.make.still import MAX_SHARE, MIN_BYTES
from transcoders.picture import Picture, PictureOptions, Unfit

SCREENSHOT = Path(__file__).parents[1] / "data" / "transcoders" / "screenshot.png"
SRGB = chunk(b"sRGB", b"\0")
GAMMA = chunk(b"gAMA", struct.pack(">I", 45455))
WHITE = chunk(b"cHRM", struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000))
ICC = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def profile(icc: bytes) -> bytes:
    return chunk(b"iCCP", b"some\0\0" + zlib.compress(icc))


def exif(orientation: int = 1, size: tuple[int, int] = (0, 0)) -> bytes:
    made = Image.Exif()
    made[0x0112] = orientation
    if any(size):
        made.get_ifd(0x8769).update({0xA002: size[0], 0xA003: size[1]})
    return chunk(b"eXIf", made.tobytes().removeprefix(b"Exif\0\0"))


def rgba(data: bytes) -> list[tuple[int, ...]]:
    image = Image.open(io.BytesIO(data)).convert("RGBA")
    flat = image.tobytes()
    return [tuple(flat[at : at + 4]) for at in range(0, len(flat), 4)]


@st.composite
def pngs(draw: st.DrawFn) -> Png:
    """Every colour type and depth, with and without what shows through, interlaced or not."""
    colour = draw(st.sampled_from(sorted(CHANNELS)))
    depth = draw(st.sampled_from(DEPTHS[colour]))
    width, height = draw(st.integers(1, 19)), draw(st.integers(1, 13))
    palette: list[tuple[int, int, int]] = []
    top = (1 << depth) - 1
    if colour == 3:
        byte = st.integers(0, 255)
        count = draw(st.integers(1, top + 1))
        palette = draw(st.lists(st.tuples(byte, byte, byte), min_size=count, max_size=count))
        top = count - 1
    few = draw(st.lists(st.tuples(*[st.integers(0, top)] * CHANNELS[colour]), min_size=1))
    choice = draw(st.randoms(use_true_random=False))
    samples = [choice.choice(few) for _ in range(width * height)]
    clear = None
    if draw(st.booleans()):
        if colour == 3:
            clear = draw(st.binary(min_size=1, max_size=len(palette)))
        elif colour == 2 or (colour, depth) == (0, 8):
            clear = struct.pack(f">{CHANNELS[colour]}H", *choice.choice(samples))
    filters = draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    return Png(
        *(width, height, colour, depth, samples, palette, clear, draw(st.booleans()), filters),
        extra=[chunk(b"tEXt", bytes(300))],  # so that WebP's own headers count for little
    )


@settings(max_examples=150, deadline=None)
@given(pngs())
def test_every_pixel_of_every_kind_of_png_comes_out_as_it_was(one: Png) -> None:
    made = webp(one.file())
    assert made[8:12] == b"WEBP"
    assert rgba(made) == one.shown()


def small(**changes: Any) -> Png:
    """A picture of 64 x 48 in two colours."""
    samples = [((x // 9 + y // 7) % 2 * 200,) * 3 for y in range(48) for x in range(64)]
    return Png(**{"width": 64, "height": 48, "colour": 2, "depth": 8, "samples": samples} | changes)


@pytest.mark.parametrize(
    "extra",
    [
        (),
        (SRGB, GAMMA, WHITE),
        (GAMMA,),
        (chunk(b"pHYs", struct.pack(">IIB", 5669, 5669, 1)), chunk(b"tIME", bytes(7))),
        (chunk(b"bKGD", bytes(6)), chunk(b"sBIT", b"\5\6\5")),
        (exif(),),
        (exif(size=(64, 48)),),
    ],
)
def test_what_changes_nothing_does_not_keep_it_from_being_smaller(extra: tuple[bytes, ...]) -> None:
    one = small(extra=extra)
    made = webp(one.file())
    assert rgba(made) == one.shown()
    assert Image.open(io.BytesIO(made)).info.get("icc_profile") is None


def test_a_profile_goes_along() -> None:
    one = small(extra=[profile(ICC)])
    made = webp(one.file())
    assert Image.open(io.BytesIO(made)).info["icc_profile"] == ICC
    assert rgba(made) == one.shown()


def index(one: Png, value: int) -> Png:
    one.samples = [(value,), *one.samples[1:]]
    return one


def flat(**changes: Any) -> Png:
    """The same size in one channel of ones."""
    return small(samples=[(1,)] * 64 * 48, **changes)


WRONG = bytearray(small().file())
WRONG[60] ^= 1
DEEP = io.BytesIO()
Image.new("I;16", (64, 48), 999).save(DEEP, "PNG")
TWO = [(0, 0, 0), (9, 9, 9)]
LEFT_ALONE = {
    "16 bits": DEEP.getvalue(),
    "a linear gamma": small(extra=[chunk(b"gAMA", struct.pack(">I", 100_000))]).file(),
    "gamma and primaries": small(extra=[GAMMA, WHITE]).file(),
    "primaries": small(extra=[WHITE]).file(),
    "turned": small(extra=[exif(6)]).file(),
    "another natural size": small(extra=[exif(size=(32, 24))]).file(),
    "exif that is none": small(extra=[chunk(b"eXIf", b"this is no TIFF")]).file(),
    "animated": small(extra=[chunk(b"acTL", struct.pack(">II", 2, 0))]).file(),
    "colours by number": small(extra=[chunk(b"cICP", b"\x09\x10\0\1")]).file(),
    "brighter than white": small(extra=[chunk(b"cLLI", bytes(8))]).file(),
    "of unknown effect": small(extra=[chunk(b"neWw", b"?")]).file(),
    "two spaces": small(extra=[SRGB, SRGB]).file(),
    "a profile that is none": small(extra=[profile(b"RGB " * 60)]).file(),
    "a profile cut short": small(extra=[profile(ICC[:-4])]).file(),
    "a profile not deflated": small(extra=[chunk(b"iCCP", b"some\0\0junk")]).file(),
    "a profile of a printer": small(extra=[profile(ICC.replace(b"mntr", b"prtr", 1))]).file(),
    "a grey picture's profile": flat(colour=0, extra=[profile(ICC)]).file(),
    "clear grey of few bits": flat(colour=0, depth=2, clear=b"\0\1").file(),
    "clear grey of many bits": flat(colour=0, clear=b"\1\1").file(),
    "clear colour cut short": small(clear=b"\0\1").file(),
    "clear beside alpha": small(colour=4, samples=[(1, 2)] * 64 * 48, clear=b"\0\1").file(),
    "more clear than colours": flat(colour=3, palette=TWO, clear=b"\0\0\0").file(),
    "a colour that is not there": index(flat(colour=3, palette=TWO), 2).file(),
    "no palette": flat(colour=3).file(),
    "a wrong checksum": bytes(WRONG),
    "truncated": small().file()[:-20],
    "cut before its end": small().file()[:-12],
    "something behind": small().file() + b"x",
    "not a PNG": b"\x89PNG\r\n\x1a\n" + bytes(99),
    "empty": b"",
}


@pytest.mark.parametrize("data", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_might_look_different_stays_as_it_is(data: bytes) -> None:
    with pytest.raises((Unfit, OSError, SyntaxError)):
        webp(data)
    picture = transcode(data, webp=True)
    assert picture is None or picture.levels[-1].content_type == "image/png"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_file_is_refused_or_shown_alike(data: st.DataObject) -> None:
    """A byte changed and its chunk's checksum made to fit, so that decoders see it."""
    file = bytearray(small(interlaced=True, filters=(0, 4)).file())
    at = data.draw(st.integers(16, len(file) - 17))
    file[at] = data.draw(st.integers(0, 255))
    (size,) = struct.unpack_from(">I", file, 33)
    for start, end in ((12, 29), (37, 41 + size)):
        if end + 4 <= len(file):
            struct.pack_into(">I", file, end, zlib.crc32(file[start:end]))
    try:
        made = webp(bytes(file))
    except Exception:  # Pillow raises a dozen kinds
        return
    assert rgba(made) == rgba(bytes(file))


def test_sizes_are_checked_before_anything_is_decoded() -> None:
    for width, height in ((60_000, 60_000), (EFFORT[-1][0] + 1, 1), (MAX_SIDE + 1, 1)):
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        chunks = chunk(b"IHDR", header), chunk(b"IDAT", b"junk"), chunk(b"IEND")
        with pytest.raises(Unfit):
            webp(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


def test_many_chunks_are_refused_soon() -> None:
    many = [chunk(b"tEXt")] * (png.MAX_CHUNKS + 1)
    with pytest.raises(Unfit):
        webp(small(extra=many).file())


def test_a_file_that_gains_little_stays() -> None:
    noise = io.BytesIO()
    Image.effect_noise((90, 90), 90).save(noise, "PNG", optimize=True)
    with pytest.raises(Unfit, match="bytes from"):
        webp(noise.getvalue())


def test_made_again_it_is_the_same() -> None:
    """Else a transfer that was cut could not go on."""
    data = SCREENSHOT.read_bytes()
    assert webp(data) == webp(data)
    assert len(webp(data)) <= WORTH * len(data)


def transcode(data: bytes, **options: Any) -> Picture | None:
    async def run() -> Picture | None:
        transcoders = Transcoders(timeout=120.0)
        try:
            return await transcoders.picture(data, "image/png", PictureOptions(**options))
        finally:
            await transcoders.close()

    return asyncio.run(run())


@pytest.mark.parametrize("avif", [False, True])
@pytest.mark.parametrize(
    "name", ["screenshot.png", "photo.png", "alpha.png", "grey.png", "palette.png"]
)
def test_a_low_version_stands_in_front_and_all_is_smaller(
    name: str, avif: bool, pictures: dict[str, bytes]
) -> None:
    data = pictures[name]
    made = transcode(data, webp=True, avif=avif)
    plain = transcode(data, avif=avif)
    assert made is not None
    assert plain is not None
    assert plain.identical
    if made.identical:  # not worth while
        assert made == plain
        return
    low, last = made.levels
    assert (low.name, last.name, last.content_type) == ("low", "original", "image/webp")
    assert made.lossless
    assert len(made.data) <= len(data)
    assert low.end <= MAX_SHARE * len(data)
    assert rgba(made.data[last.start :]) == rgba(data)
    assert (made.width, made.height) == Image.open(io.BytesIO(data)).size


def test_one_too_small_for_a_version_is_one_file() -> None:
    data = small(height=30, samples=[(x % 7 * 30,) * 3 for x in range(64 * 30)]).file()
    assert 4096 <= len(data) < MIN_BYTES
    made = transcode(data, webp=True)
    assert made is not None
    assert [level.name for level in made.levels] == ["original"]
    assert rgba(made.data) == rgba(data)


def test_other_formats_are_as_without(pictures: dict[str, bytes]) -> None:
    for name in ("still.gif", "lossless.webp", "alpha.webp", "sixteen-bit.png"):
        assert transcode(pictures[name], webp=True) == transcode(pictures[name])


def test_what_an_encoder_writes_is_compared_not_believed() -> None:
    want = Image.open(SCREENSHOT).convert("RGB")
    lossy, faded = io.BytesIO(), io.BytesIO()
    want.save(lossy, "WEBP", quality=90)
    clear = want.copy()
    clear.putalpha(254)
    clear.save(faded, "WEBP", lossless=True)
    check_same(webp(SCREENSHOT.read_bytes()), want)
    for made in (lossy, faded):
        with pytest.raises(Unfit, match="did not come out"):
            check_same(made.getvalue(), want)
