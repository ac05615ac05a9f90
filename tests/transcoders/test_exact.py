"""Exact forms: fewer bytes, from which the very same ones are made again, or nothing is."""

from __future__ import annotations

import asyncio
import contextlib
import io
import random
import shutil
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from PIL import Image

from tests.malformed import NESTED
from transcoders.exact import rows, zlib_settings
from transcoders.exact.coder import LEAST, WORTH, Undone
from transcoders.exact.form import BodyKind, Form, Header, opened, packed
from transcoders.exact.rows import split
from transcoders.exact.zlib_settings import ZlibSettings, settings_of
from transcoders.make.registry import Transcoders
from transcoders.picture import Unfit
from transcoders.undo.exact_forms import ExactDecoder

JPEGTRAN = shutil.which("jpegtran")
FRONT, BEHIND = b"PK\x03\x04 a header", b"a gap"


def form_of(content: bytes, *, level: int | None = None, **more: Any) -> tuple[bytes, bytes | None]:
    """Bytes with that in them, perhaps deflated, and their form."""
    inner = content if level is None else ZlibSettings(level, -15, 8, 0).deflated(content)
    data = FRONT + inner + BEHIND

    async def run() -> bytes | None:
        transcoders = Transcoders(jpegtran=JPEGTRAN, timeout=120.0)
        try:
            return await transcoders.exact(
                data,
                start=len(FRONT),
                length=len(inner),
                deflated=level is not None,
                **{"scans": True, **more},
            )
        finally:
            await transcoders.close()

    return data, asyncio.run(run())


def undone(form: bytes, size: int, *, jpegtran: str | None = JPEGTRAN) -> bytes:
    async def run() -> bytes:
        decoder = ExactDecoder(jpegtran)
        try:
            return await decoder.undone(form, size=size)
        finally:
            await decoder.close()

    return asyncio.run(run())


def drawn(*, level: int = 6, size: tuple[int, int] = (500, 400)) -> bytes:
    """A PNG with slopes, which LZMA takes fewer bytes for than deflate."""
    image = Image.radial_gradient("L").resize(size)
    out = io.BytesIO()
    Image.merge("RGB", (image, image.rotate(90), image)).save(out, "PNG", compress_level=level)
    return out.getvalue()


@pytest.mark.parametrize("outer", [None, 1, 6, 9])
@pytest.mark.parametrize("level", [1, 3, 6, 9])
def test_a_png_in_fewer_bytes_and_back(level: int, outer: int | None) -> None:
    data, form = form_of(drawn(level=level), level=outer)
    assert form is not None
    assert len(form) < 0.9 * len(data)
    assert undone(form, len(data)) == data


@pytest.mark.skipif(JPEGTRAN is None, reason="jpegtran is not installed")
@pytest.mark.parametrize("outer", [None, 6])
@pytest.mark.parametrize("how", [{}, {"optimize": True}, {"progressive": True}])
def test_a_jpeg_in_fewer_bytes_and_back(
    how: dict[str, bool], outer: int | None, pictures: dict[str, bytes]
) -> None:
    out, photo = io.BytesIO(), Image.open(io.BytesIO(pictures["photo.png"]))
    photo.convert("RGB").save(out, "JPEG", quality=88, **how)
    data, form = form_of(out.getvalue(), level=outer)
    assert form is not None
    assert len(form) < WORTH * len(data)
    assert undone(form, len(data)) == data
    with pytest.raises(Undone, match="jpegtran"):
        undone(form, len(data), jpegtran=None)
    assert form_of(out.getvalue(), level=outer, scans=False)[1] is None


def test_what_is_deflated_in_no_picture_of_ours_has_a_form() -> None:
    chance = random.Random(1)
    content = b"".join(b"<a>%d</a>" % chance.randrange(99_999) for _ in range(9000))
    data, form = form_of(content, level=6)
    assert form is not None
    assert undone(form, len(data)) == data


def test_every_picture_has_a_sound_form_or_none(pictures: dict[str, bytes]) -> None:
    forms = 0
    for name, content in pictures.items():
        data, form = form_of(content)
        if form is not None:
            forms += 1
            assert undone(form, len(data)) == data, name
    assert forms >= 5


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF89a" + bytes(20_000),
        drawn()[:-20_000],
        rows.SIGNATURE + bytes(20_000),
        b"\xff\xd8\xff" + bytes(20_000),
        drawn(size=(20, 20)),
    ],
    ids=["nothing", "gif", "cut", "no png", "no jpeg", "small"],
)
def test_what_has_no_form(content: bytes) -> None:
    assert form_of(content)[1] is None


def test_chunks_of_all_lengths_come_back() -> None:
    png = drawn()
    whole, pixels = split(png)
    stream = whole.settings.deflated(pixels)
    for lengths in ([100] * 3 + [7, len(stream)], [len(stream)], [1000], [5000, 1000], [9, 9, 50]):
        made = structs.replace(whole, lengths=lengths).png(pixels)
        again, same = split(made)
        assert same == pixels
        assert again.png(same) == made
        assert len(again.lengths) <= 5


@given(st.binary(max_size=3000), st.integers(1, 9), st.sampled_from([9, 12, 15]))
@settings(max_examples=60, deadline=None)
def test_settings_of_zlib_are_found(plain: bytes, level: int, window: int) -> None:
    stream = ZlibSettings(level, window, 8, zlib.Z_FILTERED).deflated(plain)
    found = settings_of(plain, stream, header=True)
    assert found.deflated(plain) == stream


def test_a_stream_of_another_compressor_has_none() -> None:
    stored = zlib.compressobj(0, zlib.DEFLATED, -15)
    plain = b"a" * 1000
    with pytest.raises(Unfit):
        settings_of(plain, stored.compress(plain) + stored.flush(), header=False)


# -- what a device may be sent ---------------------------------------------------------------------


def sound() -> tuple[Form, bytes]:
    content = drawn()
    data = FRONT + content + BEHIND
    header, inside = opened(data, start=len(FRONT), length=len(content), deflated=False)
    return packed(header, inside), data


SOUND, DATA = sound()


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_damaged_form_is_refused_or_harmless(draw: st.DataObject) -> None:
    form = bytearray(SOUND.encoded())
    for _ in range(draw.draw(st.integers(1, 3))):
        form[draw.draw(st.integers(0, min(400, len(form) - 1)))] = draw.draw(st.integers(0, 255))
    with contextlib.suppress(Undone):
        assert undone(bytes(form[: draw.draw(st.integers(0, len(form)))]), len(DATA)) == DATA


def test_a_head_of_what_goes_too_deep_is_none() -> None:
    head = msgspec.msgpack.encode(SOUND.header)
    assert head[0] == 0x97
    longer = b"\x98" + head[1:] + NESTED
    with pytest.raises(Unfit):
        Form.decoded(len(longer).to_bytes(4, "big") + longer)


def header_with(**more: Any) -> Header:
    return structs.replace(SOUND.header, **more)


def rows_with(**more: Any) -> Header:
    assert SOUND.header.rows is not None
    return header_with(rows=structs.replace(SOUND.header.rows, **more))


@pytest.mark.parametrize(
    "header",
    [
        rows_with(lengths=[1]),  # a file of thirteen times the bytes
        rows_with(lengths=[0]),
        rows_with(lengths=[]),
        rows_with(lengths=[-1]),
        rows_with(settings=ZlibSettings(6, 99, 8, 0)),
        rows_with(settings=ZlibSettings(6, 15, 1000, 0)),
        rows_with(settings=ZlibSettings(1, 15, 8, 0)),  # as another zlib would
        header_with(rows=None),
        header_with(kind=BodyKind.PLAIN),
        header_with(kind=BodyKind.SCANS, how=9),
        header_with(kind=BodyKind.SCANS),
        header_with(outer=ZlibSettings(6, -15, 8, 0)),
        header_with(before=b""),
    ],
)
def test_headers_that_lie_are_refused(header: Header) -> None:
    with pytest.raises(Undone):
        undone(structs.replace(SOUND, header=header).encoded(), len(DATA))


def test_a_body_that_swells_is_refused() -> None:
    bomb = packed(
        Header(BodyKind.PLAIN, b"", b"", bytes(8), ZlibSettings(6, -15, 8, 0)),
        bytes(zlib_settings.MAX_PLAIN + 1),
    )
    assert len(bomb.body) < 100_000
    with pytest.raises(Undone, match="more than anything may be"):
        undone(bomb.encoded(), LEAST)


def test_a_form_of_another_size_is_refused() -> None:
    with pytest.raises(Undone, match="are missing"):
        undone(SOUND.encoded(), len(DATA) + 1)
