"""Tests of the four lists of an outline: each entry is in one of them, and in its order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from office.entry_lists import is_own, is_picture, is_text, outline
from office.outline import DocumentKind, Media, Outline, OutlinePage
from office.zip_directory import parse
from tests.office.small_documents import zipped

NAMES = (
    *("one.xml", "two.xml", "both.xml", "notes.xml", "a.png", "b.emf", "c.JPG", "film.mp4"),
    *("docProps/thumbnail.jpeg", "Thumbnails/thumbnail.png", "mimetype"),
)


def listed(
    pages: Sequence[Iterable[str]], shown: dict[str, tuple[int, ...]] | None = None
) -> Outline:
    data = zipped(dict.fromkeys(NAMES, "x"))
    return outline(DocumentKind.ODP, parse(data, length=len(data)), pages, shown or {})


def test_a_text_belongs_to_the_first_page_that_needs_it() -> None:
    found = listed([["one.xml", "both.xml", "one.xml"], ["both.xml", "two.xml"], ["two.xml"]])
    assert found.pages == (
        OutlinePage(("one.xml", "both.xml")),
        OutlinePage(("two.xml",)),
        OutlinePage(()),
    )
    assert found.texts == ("notes.xml", "mimetype")


def test_a_page_has_no_texts_that_are_none_or_are_not_there() -> None:
    assert listed([["a.png", "gone.xml", "film.mp4", "one.xml"]]).pages == (
        OutlinePage(("one.xml",)),
    )


def test_a_document_without_pages_has_one() -> None:
    assert listed([]).pages == (OutlinePage(()),)


def test_pictures_come_as_they_are_read_and_last_those_that_no_page_shows() -> None:
    found = listed([], {"c.JPG": (1, 3), "gone.png": (1,), "b.emf": ()})
    assert found.media == (Media("c.JPG", (1, 3)), Media("b.emf", ()), Media("a.png", ()))


def test_every_entry_is_in_one_list() -> None:
    found = listed([["one.xml"], ["both.xml"]], {"film.mp4": (1,)})
    all_ = [name for page in found.pages for name in page.entries]
    all_ += [one.entry for one in found.media] + [*found.texts, *found.others]
    assert sorted(all_) == sorted(NAMES)
    assert found.others == ("docProps/thumbnail.jpeg", "Thumbnails/thumbnail.png")


@pytest.mark.parametrize(
    ("name", "text", "own", "picture"),
    [
        ("ppt/slides/slide1.xml", True, True, False),
        ("ppt/slides/_rels/slide1.xml.rels", True, True, False),
        ("ppt/slideLayouts/slideLayout1.xml", True, False, False),
        ("content.xml", True, True, False),
        ("Object 1/content.xml", True, False, False),
        ("xl/drawings/vmlDrawing1.VML", True, False, False),
        ("mimetype", True, False, False),
        ("Pictures/1.SVG", False, False, True),
        ("Thumbnails/thumbnail.png", False, False, False),
        ("ppt/media/film.mp4", False, False, False),
    ],
)
def test_entries_are_told_apart_by_their_names(
    name: str, text: bool, own: bool, picture: bool
) -> None:
    assert (is_text(name), is_own(name), is_picture(name)) == (text, own, picture)
