"""Tests of a document's parts: where their bytes go, and the outline that they make together."""

from __future__ import annotations

import pytest

from local_proxy.documents.part import MAX_COARSE, IncomingPart, PartBroken
from local_proxy.documents.part_outline import entries_in, in_place, outline_of
from local_proxy.link.components import Component
from office.errors import Unreadable
from office.extents import Extents
from office.outline import DocumentKind, Media, OutlinePage
from office.zip_directory import parse
from tests.office_files import DECK
from wire.abilities import EXACT
from wire.errors import PeerError
from wire.package import Slice, flat
from wire.skeleton import Kind, Level

RANGES = [(10, 14), (20, 23)]
BYTES = b"abcdefg"
WEBP = "image/webp"
DIRECTORY = parse(DECK, length=len(DECK))


class Disk:
    """Where parts are put away."""

    def __init__(self) -> None:
        self.data = bytearray(b"." * 30)

    def write(self, at: int, data: bytes) -> None:
        self.data[at : at + len(data)] = data


def part(*, coarse: int = 0) -> IncomingPart:
    component = Component(4, 1, "http://a.test/deck.pptx")
    if coarse:
        low = Level("low", 0, coarse, WEBP)
        component.levels = (low, Level("original", coarse, coarse + len(BYTES), ""))
    return IncomingPart(component, list(RANGES))


@pytest.mark.parametrize("step", [1, 3, 7])
def test_bytes_go_to_their_ranges_however_they_are_cut(step: int) -> None:
    one, disk = part(), Disk()
    ended = []
    for at in range(0, len(BYTES), step):
        one.component.data += BYTES[at : at + step]
        ended.append(one.take(disk.write))
    assert disk.data == b"..........abcd......efg......."
    assert ended[-1]
    assert sum(ended) == (1 if step == 7 else 2)
    assert (one.size, one.component.trimmed, len(one.component.data)) == (7, 7, 0)


def test_one_byte_too_many_is_no_part() -> None:
    one, disk = part(), Disk()
    one.component.data += BYTES + b"h"
    with pytest.raises(PartBroken):
        one.take(disk.write)


def test_the_coarse_version_is_given_once_it_is_whole_and_is_not_in_the_file() -> None:
    one, disk = part(coarse=3), Disk()
    one.component.data += b"lo"
    assert one.take_coarse() is None
    assert not one.take(disk.write)
    one.component.data += b"wab"
    assert one.take_coarse() == b"low"
    assert one.take_coarse() is None
    one.take(disk.write)
    one.component.data += b"cdefg"
    assert one.take(disk.write)
    assert disk.data == b"..........abcd......efg......."


def test_a_coarse_version_has_a_bound() -> None:
    one = part(coarse=MAX_COARSE + 1)
    with pytest.raises(PartBroken):
        one.take_coarse()


@pytest.mark.parametrize("coarse", [b"", b"low"])
def test_an_exact_form_is_held_until_somebody_has_undone_it(coarse: bytes) -> None:
    one, disk = part(coarse=len(coarse)), Disk()
    one.component.coding = EXACT
    for piece in (coarse, b"fo", b"rm"):
        one.component.data += piece
        one.take_coarse()
        assert not one.take(disk.write)
    assert set(disk.data) == {ord(".")}
    assert one.component.unread == 0
    assert one.form() == b"form"
    assert one.form() is None
    one.put(BYTES, disk.write)
    assert disk.data == b"..........abcd......efg......."


def test_an_exact_form_is_no_longer_than_its_bytes_and_gone_when_closed() -> None:
    one, disk = part(), Disk()
    one.component.coding = EXACT
    one.component.data += b"form"
    one.take(disk.write)
    one.close()
    assert one.form() is None
    other = part()
    other.component.coding = EXACT
    other.component.data += b"12345678"
    with pytest.raises(PartBroken):
        other.take(disk.write)
    assert part().form() is None


@pytest.mark.parametrize(
    ("ranges", "brings"),
    [
        ([(0, 10)], False),
        ([(0, 11)], True),
        ([(14, 20)], False),
        ([(22, 30)], True),
        ([(23, 30)], False),
        ([], False),
    ],
)
def test_a_part_knows_which_bytes_it_brings(ranges: list[tuple[int, int]], brings: bool) -> None:
    assert part().brings(ranges) is brings


# -- the outline -----------------------------------------------------------------------------------

SLIDE, PICTURE = "ppt/slides/slide1.xml", "ppt/media/image1.png"


def of_entry(name: str) -> list[int]:
    entry = DIRECTORY.by_name[name]
    return flat([(entry.start, entry.end)])


def rest(*names: str) -> list[int]:
    """All of the file but these entries."""
    taken = Extents((DIRECTORY.by_name[name].start, DIRECTORY.by_name[name].end) for name in names)
    return flat(taken.missing(0, DIRECTORY.start))


SLICES = [
    Slice(Kind.TEXT, of_entry(SLIDE), [2, 1]),
    Slice(Kind.IMAGE, of_entry(PICTURE), [1, 2], 40, 30),
    Slice(Kind.OTHER, rest(SLIDE, PICTURE)),
]


def test_slices_say_which_entry_is_read_and_shown_where() -> None:
    outline = outline_of(DocumentKind.PPTX, DIRECTORY, 2, SLICES)
    assert outline.pages == (OutlinePage(()), OutlinePage((SLIDE,)))
    assert outline.media == (Media(PICTURE, (1, 2), 40, 30),)
    assert "ppt/presentation.xml" in outline.texts
    assert not {SLIDE, PICTURE} & {*outline.texts, *outline.others}
    assert len(outline.texts) + len(outline.others) + 2 == len(DIRECTORY.entries)


@pytest.mark.parametrize("missing", range(3))
def test_parts_that_are_not_all_of_the_file_make_no_outline(missing: int) -> None:
    slices = [one for at, one in enumerate(SLICES) if at != missing]
    with pytest.raises(Unreadable, match="not all of it"):
        outline_of(DocumentKind.PPTX, DIRECTORY, 2, slices)


def test_a_slice_of_a_page_that_is_not_there_is_the_peers_error() -> None:
    with pytest.raises(PeerError):
        outline_of(DocumentKind.PPTX, DIRECTORY, 1, SLICES)


def test_an_entry_belongs_to_the_range_in_which_it_begins() -> None:
    entries = in_place(DIRECTORY)
    assert [one.start for one in entries] == sorted(one.start for one in DIRECTORY.entries)
    first, second, third = entries[:3]
    assert entries_in(entries, [(0, second.start)]) == [first]
    assert entries_in(entries, [(0, second.start + 1)]) == [first, second]
    assert entries_in(entries, [(second.start + 1, third.start)]) == []
