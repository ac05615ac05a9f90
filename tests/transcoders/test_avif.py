"""Headers of AVIFs tell how much their decoder would have to draw."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from transcoders.formats.avif import dimensions, inspect, is_avif
from transcoders.formats.pixels import CODED, open_still
from transcoders.formats.sniff import Format
from transcoders.picture import Unfit


def resized(data: bytes, width: int, height: int) -> bytes:
    """It claims to be of that size; what is inside stays."""
    parts = data.split(b"ispe")
    claim = b"\0\0\0\0" + struct.pack(">II", width, height)
    return parts[0] + b"".join(b"ispe" + claim + one[12:] for one in parts[1:])


def with_property(data: bytes, box: bytes) -> bytes:
    """With one property more, at the end of `ipco`; nothing refers to it."""
    at = data.index(b"ipco") - 4
    (size,) = struct.unpack_from(">I", data, at)
    grown = bytearray(data[: at + size] + box + data[at + size :])
    for kind in (b"meta", b"iprp", b"ipco"):
        place = data.index(kind) - 4
        (old,) = struct.unpack_from(">I", data, place)
        struct.pack_into(">I", grown, place, old + len(box))
    return bytes(grown)


def boxed(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", 8 + len(content)) + kind + content


@pytest.mark.parametrize("size", [(64, 48), (1, 1), (321, 7), (1200, 900)])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
def test_a_still_picture(size: tuple[int, int], mode: str, save: Callable[..., bytes]) -> None:
    image = Image.effect_noise(size, 60).convert(mode)
    if mode == "RGBA":
        image.putalpha(Image.effect_noise(size, 60))
    data = save(image, "AVIF", speed=10)
    header = inspect(data)
    assert is_avif(data[:64]) and dimensions(data) == (header.width, header.height) == size
    assert header.coded == size[0] * size[1] * (2 if mode == "RGBA" else 1)


@pytest.mark.parametrize(
    "head",
    [
        *(b"", b"\0\0\0\x14ftypavif", b"\0\0\0\x14ftypheic\0\0\0\0heic"),
        b"\0\0\0\x18ftypavis\0\0\0\0avifmif1",
    ],
)
def test_what_is_none(head: bytes) -> None:
    assert not is_avif(head)


def test_one_that_is_larger_inside_than_it_says_is_left_alone(save: Callable[..., bytes]) -> None:
    """Its decoder would take 140 MB for a picture of 100 x 100."""
    bomb = resized(save(Image.new("RGB", (8000, 8000)), "AVIF", speed=10, quality=10), 100, 100)
    assert len(bomb) < 4000
    with Image.open(io.BytesIO(bomb)) as image:
        assert image.size == dimensions(bomb) == (100, 100)
    assert inspect(bomb).coded == 64_000_000
    with pytest.raises(Unfit, match="inside"):
        open_still(bomb, Format.AVIF, max_pixels=8_000_000)


@pytest.mark.parametrize(
    ("box", "why"),
    [
        (boxed(b"clap", bytes(32)), "cropped"),
        (boxed(b"irot", b"\1"), "turned"),
        (boxed(b"colr", b"nclx\0\x09\0\x10\0\x09\x80"), "high dynamic range"),
        (b"\0\0\0\x20free", "no end"),
        (b"\0\0\0\2free", "no end"),
    ],
)
def test_what_browsers_show_otherwise_or_nobody_writes_is_left_alone(
    box: bytes, why: str, pictures: dict[str, bytes]
) -> None:
    with pytest.raises(Unfit, match=why):
        inspect(with_property(pictures["photo.avif"], box))


def test_a_file_that_is_cut_is_left_alone(pictures: dict[str, bytes]) -> None:
    data = pictures["alpha.avif"]
    for end in range(0, len(data), 37):
        with pytest.raises(Unfit):
            inspect(data[:end])


@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8
    )
)
@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_mutations_are_unfit_or_have_a_size(
    changes: list[tuple[float, int]], pictures: dict[str, bytes]
) -> None:
    data = bytearray(pictures["alpha.avif"])
    for where, value in changes:
        data[int(where * 420)] = value
    try:
        header = inspect(bytes(data))
    except Unfit:
        return
    assert header.coded > 0


MEASURED = """
import resource, sys
from transcoders.formats.pixels import open_still, plain
from transcoders.formats.sniff import Format
data = bytearray(sys.stdin.buffer.read())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for at in range(len(data) if len(data) < 2000 else 600):
    for bit in (0, 3, 7):
        changed = bytearray(data)
        changed[at] ^= 1 << bit
        try:
            plain(open_still(bytes(changed), Format.AVIF, max_pixels=40_000))
        except Exception:
            pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_no_bit_of_one_makes_its_decoder_take_much_memory(save: Callable[..., bytes]) -> None:
    """Each of three bits of each byte turned over, headers and AV1 data alike; in KB."""
    data = save(Image.new("RGB", (200, 150), "teal"), "AVIF", speed=10, quality=20)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], input=data, capture_output=True, check=True, timeout=100
    )
    assert int(done.stdout) < 40_000
    assert inspect(data).coded <= CODED * 40_000
