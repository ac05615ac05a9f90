"""A zip's ranges are the file; what two readers could take for two archives is refused."""

from __future__ import annotations

import io
import random
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from office.contents import MAX_RATIO, check_ratio, unpacked
from office.zip_directory import Directory, NeedsMore, Unreadable, parse
from tests.office_files import DECK, FILES, LARGE, mutated


def archive(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, data in files:
            made.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def put_together(directory: Directory, data: bytes) -> bytes:
    entries = sorted(directory.entries, key=lambda entry: entry.start)
    return b"".join(data[entry.start : entry.end] for entry in entries) + directory.raw


@pytest.mark.parametrize("data", [LARGE, *(path.read_bytes() for path in FILES)])
def test_the_ranges_are_the_file(data: bytes) -> None:
    directory = parse(data, length=len(data))
    assert put_together(directory, data) == data
    with zipfile.ZipFile(io.BytesIO(data)) as there:
        assert [entry.name for entry in directory.entries] == there.namelist()
        for entry in directory.entries:
            raw = data[entry.start : entry.end]
            assert unpacked(entry, raw) == there.read(entry.name)


class Unseekable(io.BytesIO):
    """Makes zipfile write descriptors behind the data."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: object) -> int:
        raise io.UnsupportedOperation

    def tell(self) -> int:
        raise io.UnsupportedOperation


def test_descriptors_behind_the_data_belong_to_their_entry() -> None:
    out = Unseekable()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("a", b"x" * 100)
        made.writestr("b", b"y" * 100)
    data = out.getvalue()
    directory = parse(data, length=len(data))
    assert put_together(directory, data) == data
    assert directory.entries[0].flags & 8
    entry = directory.entries[1]
    assert unpacked(entry, data[entry.start : entry.end]) == b"y" * 100


def test_a_short_tail_says_how_much_is_needed() -> None:
    with pytest.raises(NeedsMore) as more:
        parse(LARGE[-100:], length=len(LARGE))
    start = more.value.start
    assert parse(LARGE[start:], length=len(LARGE)) == parse(LARGE, length=len(LARGE))


def test_a_tail_without_the_end_asks_for_the_longest_comment() -> None:
    data = DECK + b"" * 10
    with pytest.raises(NeedsMore) as more:
        parse(data[-10:], length=1_000_000)
    assert more.value.start == 1_000_000 - 22 - 0xFFFF


def test_a_comment_is_part_of_the_tail() -> None:
    out = io.BytesIO(archive(("a", b"x")))
    with zipfile.ZipFile(out, "a") as made:
        made.comment = b"of PK\x05\x06 all things"
    data = out.getvalue()
    assert put_together(parse(data, length=len(data)), data) == data


def changed(data: bytes, where: bytes, offset: int, value: bytes) -> bytes:
    """The last record that begins with `where`, other bytes at `offset` in it."""
    at = data.rfind(where) + offset
    return data[:at] + value + data[at + len(value) :]


TWO = archive(("a.xml", b"first" * 20), ("b.xml", b"second" * 20))
CENTRAL, END = b"PK\x01\x02", b"PK\x05\x06"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no zip"),
        (b"PK" * 40, "no zip"),
        (TWO + b"behind", "no zip"),
        (b"in front" + TWO, "not where"),
        (changed(TWO, END, 8, b"\xff\xff\xff\xff"), "zip64"),
        (changed(TWO, END, 4, b"\x01\x00"), "volumes"),
        (changed(TWO, END, 8, b"\x00\x00\x00\x00"), "0 entries"),
        (changed(TWO, END, 8, b"\x01\x00\x01\x00"), "damaged"),
        (changed(TWO, END, 8, b"\x03\x00\x03\x00"), "damaged"),
        (changed(TWO, CENTRAL, 8, b"\x01\x00"), "encrypted"),
        (changed(TWO, CENTRAL, 10, b"\x0c\x00"), "unusual"),
        (changed(TWO, CENTRAL, 20, b"\xff\xff\xff\xff"), "zip64"),
        (changed(TWO, CENTRAL, 20, b"\x00\x10\x00\x00"), "overlaps"),
        (changed(TWO, CENTRAL, 42, b"\x00\x00\x00\x00"), "overlaps"),
        (changed(TWO, CENTRAL, 42, b"\xf0\xff\x00\x00"), "overlaps"),
        (changed(TWO, CENTRAL, 46, b"a"), "twice"),
        (archive(("../evil.xml", b"")), "leads elsewhere"),
        (archive(("/etc/passwd", b"")), "leads elsewhere"),
        (archive(("a//b", b"")), "leads elsewhere"),
        (archive(("a\\b", b"")), "characters"),
        (archive(("a\x01b", b"")), "characters"),
    ],
)
def test_what_can_not_be_cut_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        parse(data, length=len(data))


@pytest.mark.parametrize("at", [0, 26])
def test_a_damaged_local_header_is_found_when_it_is_read(at: int) -> None:
    directory = parse(TWO, length=len(TWO))
    entry = directory.entries[0]
    raw = bytearray(TWO[entry.start : entry.end])
    raw[at] ^= 0xFF
    with pytest.raises(Unreadable, match=r"header|damaged"):
        unpacked(entry, bytes(raw))


def test_an_entry_gives_no_more_than_it_says() -> None:
    data = archive(("a", b"x" * 10_000))
    data = changed(data, CENTRAL, 24, struct.pack("<L", 9_999))
    entry = parse(data, length=len(data)).entries[0]
    with pytest.raises(Unreadable, match="damaged"):
        unpacked(entry, data[entry.start : entry.end])


def test_a_bomb_is_refused() -> None:
    data = archive(("a.xml", bytes(MAX_RATIO * 2000)))
    with pytest.raises(Unreadable, match="unpack"):
        check_ratio(parse(data, length=len(data)))


@given(st.binary(max_size=300), st.integers(0, 1 << 33))
def test_random_bytes_are_refused(tail: bytes, before: int) -> None:
    with pytest.raises((Unreadable, NeedsMore)):
        parse(tail, length=len(tail) + before)


@given(st.integers(0, 1 << 30))
def test_mutants_are_refused_or_are_their_ranges(seed: int) -> None:
    data, _ = mutated(random.Random(seed))
    try:
        directory = parse(data, length=len(data))
    except Unreadable:
        return
    assert put_together(directory, data) == data
