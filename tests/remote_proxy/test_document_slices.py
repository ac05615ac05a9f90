"""Tests of a document's parts as the wire has them."""

from __future__ import annotations

import pytest

from office.extents import Extents
from office.outline import Media
from office.parts import Part, PicturePart, RestParts, Texts, Viewed
from remote_proxy.documents.slices import (
    MAX_RUNS,
    MAX_SLICES,
    PIECE,
    batches,
    cut,
    kind_of,
    slice_of,
    without,
)
from wire.package import Slice, ranges_of
from wire.skeleton import Kind

RANGES = ((10, 20), (40, 100))


def picture(*pages: int, raster: bool = True) -> PicturePart:
    return PicturePart(Media("a.png", pages, 640, 480), RANGES, raster)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (Texts(1, RANGES), Kind.TEXT),
        (Texts(0, RANGES), Kind.OTHER),
        (Viewed(3, 1000), Kind.TEXT),
        (picture(1), Kind.IMAGE),
        (picture(1, raster=False), Kind.MEDIA),
        (RestParts(RANGES), Kind.OTHER),
    ],
)
def test_schedulers_take_parts_for_what_a_reader_wants_first(part: Part, kind: Kind) -> None:
    assert kind_of(part) is kind
    assert slice_of(part, ()).kind is kind


def test_what_is_there_is_left_out_of_a_part() -> None:
    part = Texts(1, RANGES)
    assert without(part, Extents()) == RANGES
    assert without(part, Extents([(15, 50)])) == ((10, 15), (50, 100))
    assert without(part, Extents([(0, 1000)])) == ()


def test_a_slice_says_where_its_bytes_are_and_where_it_is_seen() -> None:
    one = slice_of(picture(1, 2, 3, 7), RANGES)
    assert ranges_of(one.ranges, length=100) == [*RANGES]
    assert ranges_of(one.pages, length=100) == [(1, 4), (7, 8)]
    assert (one.width, one.height, one.view) == (640, 480, 0)


def test_a_view_says_its_pages_and_its_size() -> None:
    one = slice_of(Viewed(3, 1000), ())
    assert (ranges_of(one.pages, length=100), one.view, one.ranges) == ([(1, 4)], 1000, [])


def test_a_picture_of_every_other_page_is_said_to_be_on_the_first_of_them() -> None:
    one = slice_of(picture(*range(1, 1000, 2)), RANGES)
    assert len(one.pages) == 2 * MAX_RUNS
    assert ranges_of(one.pages, length=10_000)[0] == (1, 2)


def test_bytes_are_cut_into_pieces_and_nothing_is_lost() -> None:
    data = bytes(range(256)) * 200
    pieces = list(cut(data))
    assert b"".join(pieces) == data
    assert {len(piece) for piece in pieces[:-1]} == {PIECE}
    assert list(cut(b"")) == []


def test_many_slices_go_in_several_messages_and_only_the_last_ends_them() -> None:
    slices = [Slice(Kind.TEXT, [number, 1] * 50, []) for number in range(300)]
    found = list(batches(slices))
    assert [one for batch, _ in found for one in batch] == slices
    assert [more for _, more in found] == [True] * (len(found) - 1) + [False]
    assert all(sum(16 + 5 * 100 for _ in batch) <= MAX_SLICES for batch, _ in found)
    assert len(found) == 4  # of 516 bytes each, as many as there is room for


def test_a_document_without_parts_is_announced_all_the_same() -> None:
    assert list(batches([])) == [([], False)]


def test_one_slice_that_is_too_long_goes_alone() -> None:
    long, short = Slice(Kind.OTHER, [1] * MAX_SLICES, []), Slice(Kind.TEXT, [1, 1], [])
    assert list(batches([short, long, short])) == [
        *(([short], True), ([long], True), ([short], False)),
    ]
