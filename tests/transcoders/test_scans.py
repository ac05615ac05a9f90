"""Parsing and cutting JPEG: whole, truncated, mutated, hostile."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from transcoders.formats.scans import END, MAX_SCANS, DamagedJpeg, parse

SOI = b"\xff\xd8"
FRAME = bytes.fromhex("ffc2 0011 08 0010 0020 03 01 22 00 02 11 01 03 11 01")
DC_SCAN = bytes.fromhex("ffda 000c 03 01 00 02 11 03 11 00 00 01")
AC_SCAN = bytes.fromhex("ffda 0008 01 01 00 01 05 02")
DC_REFINE = bytes.fromhex("ffda 000c 03 01 00 02 11 03 11 00 00 10")
TINY = SOI + FRAME + DC_SCAN + b"dcdcdc" + AC_SCAN + b"ac\xff\x00ac" + DC_REFINE + b"r" + END


def test_the_structure_is_read() -> None:
    jpeg = parse(TINY)
    assert (jpeg.width, jpeg.height, jpeg.precision) == (32, 16, 8)
    assert jpeg.component_ids == (1, 2, 3)
    assert jpeg.progressive
    assert [TINY[scan.data : scan.end] for scan in jpeg.scans] == [
        b"dcdcdc",
        b"ac\xff\x00ac",
        b"r",
    ]
    assert [scan.components for scan in jpeg.scans] == [3, 1, 3]
    assert [scan.first_pass for scan in jpeg.scans] == [True, True, False]
    assert jpeg.full_frame == jpeg.scans[0].end
    assert jpeg.end == len(TINY)


def test_what_follows_the_end_marker_is_not_part_of_it() -> None:
    assert parse(TINY + b"trailer").end == len(TINY)


def test_a_cut_falls_only_inside_scan_data() -> None:
    jpeg = parse(TINY)
    data = [range(scan.data + 1, scan.end + 1) for scan in jpeg.scans]
    for at in range(len(TINY) + 10):
        cut = jpeg.cut(TINY, at)
        assert cut <= at
        assert cut == 0 or any(cut in where for where in data)
        assert cut == 0 or TINY[cut - 1] != 0xFF


def test_restarts_and_fill_bytes_belong_where_they_stand() -> None:
    coded = b"a\xff\xd0b\xff\x00c\xff\xd7d"
    jpeg = parse(SOI + FRAME + DC_SCAN + coded + b"\xff\xff\xff" + END)
    scan = jpeg.scans[0]
    assert scan.end - scan.data == len(coded)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no start"),
        (SOI, "ends inside"),
        (SOI + END, "before any scan"),
        (SOI + DC_SCAN + b"x" + END, "before the frame"),
        (SOI + FRAME + FRAME + DC_SCAN + b"x" + END, "two frame"),
        (SOI + FRAME + DC_SCAN + b"x", "no end marker"),
        (SOI + FRAME + b"\xff\xe1\x00\x01" + DC_SCAN + END, "segment of 1 bytes"),
        (SOI + b"\xff\xe1\xff\xff" + b"short", "segment of 65535 bytes"),
        (SOI + b"junk" + FRAME, "no marker at 2"),
        (SOI + b"\xff\xd0" + FRAME, "out of place"),
        (SOI + FRAME.replace(b"\x00\x10\x00\x20", bytes(4)) + DC_SCAN + END, "without pixels"),
        (SOI + FRAME + (DC_SCAN + b"x") * (MAX_SCANS + 1) + END, "scans"),
        (SOI + b"\xff\xfe\x00\x02" * 5000 + FRAME + DC_SCAN + b"x" + END, "segments"),
        (SOI + b"\xff" * 5_000_000, "fill bytes"),
        (SOI + FRAME + DC_SCAN + b"\xff" * 5_000_000 + b"\x00", "no end marker"),
    ],
)
def test_damage_and_attacks_are_named(data: bytes, why: str) -> None:
    with pytest.raises(DamagedJpeg, match=why):
        parse(data)


@given(st.integers(0, len(TINY) - 1))
def test_no_truncated_file_is_taken_for_whole(at: int) -> None:
    with pytest.raises(DamagedJpeg):
        parse(TINY[:at])


@given(st.lists(st.tuples(st.integers(0, len(TINY) - 1), st.integers(0, 255)), max_size=6))
@settings(max_examples=300)
def test_mutations_parse_or_are_called_damaged(changes: list[tuple[int, int]]) -> None:
    data = bytearray(TINY)
    for at, value in changes:
        data[at] = value
    try:
        jpeg = parse(bytes(data))
    except DamagedJpeg:
        return
    bounds = [edge for scan in jpeg.scans for edge in (scan.start, scan.data, scan.end)]
    assert bounds == sorted(bounds)
    assert jpeg.end <= len(data)


def test_every_cut_of_a_real_file_opens(pictures: dict[str, bytes]) -> None:
    data = pictures["progressive.jpg"]
    jpeg = parse(data)
    step = len(data) // 60
    cuts = {jpeg.cut(data, at) for at in range(jpeg.scans[0].end, len(data), step)}
    assert len(cuts) > 50
    for cut in cuts:
        image = Image.open(io.BytesIO(data[:cut] + END))
        image.load()
        assert image.size == (jpeg.width, jpeg.height)
