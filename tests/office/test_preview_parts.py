"""Tests of the parts of a document that are here: parsed once, and what lacks is noted."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping

import pytest

from office.extents import Extents
from office.preview.parts import Parts, Relation
from office.preview.tree import children
from office.zip_directory import parse
from tests.office.small_documents import relations, zipped

LONG = "<body>" + "".join(f"<p>{number:06}</p>" for number in range(500)) + "</body>"
ENTRIES: Mapping[str, str] = {
    "a.xml": "<a/>",
    "folder/b.xml": "<b/>",
    "folder/_rels/b.xml.rels": relations(
        ("r1", "image", "../media/a.png"),
        ("r2", "theme", "theme.xml"),
        ("r3", "theme", "second.xml"),
        external=(("r4", "http://a.test/b?c#d"),),
    ),
    "broken.xml": "<a>",
    "long.xml": LONG,
}
DATA = zipped(ENTRIES, method=zipfile.ZIP_STORED)
DIRECTORY = parse(DATA, length=len(DATA))
ALL = Extents([(0, len(DATA))])


class Reader:
    """Reads the file, and counts how often."""

    def __init__(self, data: bytes = DATA) -> None:
        self.data = data
        self.reads = 0

    def __call__(self, start: int, end: int) -> bytes:
        self.reads += 1
        return self.data[start:end]


def parts(
    there: Extents = ALL,
    *,
    read: Callable[[int, int], bytes] | None = None,
    instead: Callable[[str], bytes | None] = lambda name: None,
) -> Parts:
    made = Parts(DIRECTORY, read or Reader(), instead)
    made.now(there)
    return made


def test_what_is_not_here_is_noted_and_what_is_nowhere_is_not() -> None:
    one = parts(Extents())
    assert one.tree("a.xml") is None
    assert one.tree("gone.xml") is None
    assert one.missing == {"a.xml"}
    assert one.has("a.xml") and not one.here("a.xml") and not one.has("gone.xml")
    one.now(ALL)
    root = one.tree("a.xml")
    assert root is not None and root.tag == "a"
    assert one.missing == set()


def test_a_part_is_parsed_once_until_all_is_forgotten() -> None:
    read = Reader()
    one = parts(read=read)
    assert one.tree("a.xml") is one.tree("a.xml")
    assert read.reads == 1
    one.forget()
    one.tree("a.xml")
    assert read.reads == 2


def test_only_so_many_are_kept_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("office.preview.parts.MAX_CACHED", 2)
    read = Reader()
    one = parts(read=read)
    for name in ("a.xml", "folder/b.xml", "long.xml", "long.xml", "folder/b.xml"):
        one.tree(name)
    assert read.reads == 3
    one.tree("a.xml")
    assert read.reads == 4


def test_what_is_damaged_or_no_xml_is_as_if_it_were_not_there() -> None:
    assert parts().tree("broken.xml") is None
    damaged = parts(read=Reader(bytes(len(DATA))))
    assert damaged.data("a.xml") is None
    assert damaged.missing == set()


def test_a_part_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("office.preview.parts.MAX_PARSED", len(LONG) - 1)
    read = Reader()
    assert parts(read=read).data("long.xml") is None
    assert read.reads == 0


def test_a_part_that_is_coming_is_read_as_far_as_it_is_here() -> None:
    entry = DIRECTORY.by_name["long.xml"]
    one = parts(Extents([(entry.start, entry.start + len(LONG) // 2)]))
    half = one.growing("long.xml")
    assert half is not None
    numbers = [child.text for child in children(half, "p")]
    assert 200 < len(numbers) < 260
    assert numbers[:200] == [f"{number:06}" for number in range(200)]
    assert one.growing("long.xml") is half
    assert one.missing == one.growing_ones == {"long.xml"}
    one.settled("long.xml")
    assert one.missing == one.growing_ones == set()
    one.now(ALL)
    whole = one.growing("long.xml")
    assert whole is not None and len(whole) == 500
    assert one.growing_ones == set()


def test_nothing_of_a_part_is_nothing_to_read() -> None:
    one = parts(Extents())
    assert one.growing("long.xml") is None
    assert one.growing_ones == {"long.xml"}


def test_what_stands_for_a_part_is_shown_and_the_part_still_lacks() -> None:
    views = {"a.xml": b"<view/>", "long.xml": b"<no xml"}
    one = parts(Extents(), instead=views.get)
    root = one.growing("a.xml")
    assert root is not None and root.tag == "view"
    assert one.tree("long.xml") is None
    one.settled("a.xml")
    assert one.missing == {"a.xml", "long.xml"}
    assert one.growing_ones == set()


def test_relations_are_entries_but_for_links() -> None:
    one = parts()
    assert one.relations("folder/b.xml") == {
        "r1": Relation("image", "media/a.png", False),
        "r2": Relation("theme", "folder/theme.xml", False),
        "r3": Relation("theme", "folder/second.xml", False),
        "r4": Relation("hyperlink", "http://a.test/b?c#d", True),
    }
    assert one.related("folder/b.xml", "theme") == "folder/theme.xml"
    assert one.related("folder/b.xml", "slideLayout") == one.related("a.xml", "theme") == ""
