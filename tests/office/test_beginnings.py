"""The beginning of a text that is still on its way: what is in it, and what is not."""

from __future__ import annotations

import itertools
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from office.beginnings import SIZE, begins, closed, main_text
from office.errors import Unreadable
from office.partial_view import survey
from office.parts import Texts, parts_of
from office.zip_directory import parse
from tests.office.fake_source import FakeSource
from tests.office.long_text import DATA, long_text

SUFFIXES = (".docx", ".odt")
SHOWN = re.compile(r"Line \d+: [0-9a-f]{48}\.")


def long(folder: Path, suffix: str) -> FakeSource:
    return FakeSource(long_text(folder, suffix), folder / "sparse")


def words(xml: bytes) -> str:
    return "".join(str(text) for text in etree.fromstring(xml).itertext())


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(share=st.floats(0, 1))
def test_what_is_shown_are_the_first_paragraphs_whole(suffix: str, share: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = long(Path(folder), suffix)
    entry = source.directory.by_name[main_text(source.outline)]
    raw = source.raw(entry.start, entry.start + int(share * (entry.end - entry.start)))
    original = words(source.content(entry.name))
    try:
        shown = words(closed(source.outline.kind, entry, raw))
    except Unreadable:
        assert len(raw) < SIZE
    else:
        assert original.startswith(shown)
        lines = re.findall(r"Line \d+.*?(?=Line |$)", shown)
        assert all(SHOWN.fullmatch(line.strip()) for line in lines)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_beginning_and_how_it_looks_come_before_the_rest(suffix: str, tmp_path: Path) -> None:
    source = long(tmp_path, suffix)
    main = source.directory.by_name[main_text(source.outline)]
    texts = [p for p in parts_of(source.directory, source.outline) if isinstance(p, Texts)]
    assert texts[0].ranges == ((main.start, main.start + SIZE),)
    assert texts[2].ranges == ((main.start + SIZE, main.end),)
    found = [one for part in texts[1:2] for one in part.ranges]
    for name in source.outline.pages[0].entries:
        entry = source.directory.by_name[name]
        inside = any(start <= entry.start < entry.end <= end for start, end in found)
        assert inside is (name != main.name)
    every = sorted(itertools.chain.from_iterable(
        part.ranges for part in parts_of(source.directory, source.outline)
    ))  # fmt: skip
    assert [0, *(end for _, end in every)] == [*(s for s, _ in every), source.directory.start]


def test_a_short_text_is_not_cut_but_comes_whole_before_how_it_looks(tmp_path: Path) -> None:
    source = FakeSource(DATA / "text_pictures.docx", tmp_path / "sparse")
    main = source.directory.by_name["word/document.xml"]
    first = next(p for p in parts_of(source.directory, source.outline) if isinstance(p, Texts))
    assert any(start <= main.start < main.end <= end for start, end in first.ranges)


def test_it_has_begun_once_how_it_looks_is_here_too(tmp_path: Path) -> None:
    source = long(tmp_path, ".docx")

    def begun() -> bool:
        return survey(
            source.directory, source.outline, source.present, reach=source.reach
        ).begun  # fmt: skip

    assert not begun()
    source.feed_beginning(SIZE - 1)
    assert not begun()
    source.feed_beginning(SIZE)
    assert begun()
    source.feed_page(1)
    assert not begun()  # it is all here


@pytest.mark.parametrize("document", ["deck.pptx", "sheets.xlsx", "deck_pictures.odp"])
def test_documents_of_pages_have_no_main_text(document: str, tmp_path: Path) -> None:
    source = FakeSource(DATA / document, tmp_path / "sparse")
    assert main_text(source.outline) == ""
    assert source.reach == 0


@given(raw=st.binary(max_size=300), cut=st.integers(0, 3000))
@example(raw=b"\x00\x00\x00\xc4\x17\x1c\x00", cut=1044)  # a prefix loses its namespace
def test_damage_is_unreadable_or_shown_as_far_as_it_can_be_read(raw: bytes, cut: int) -> None:
    data = (DATA / "text_pictures.docx").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        source = FakeSource(DATA / "text_pictures.docx", Path(folder) / "sparse")
    entry = parse(data, length=len(data)).by_name["word/document.xml"]
    whole = data[entry.start : entry.end]
    try:
        made = closed(source.outline.kind, entry, whole[:cut] + raw)
    except Unreadable:
        return
    assert words(made)


def test_begins_with_more_to_come(tmp_path: Path) -> None:
    entry = long(tmp_path, ".odt").directory.by_name["content.xml"]
    assert begins(entry, entry.start + SIZE)
    assert not begins(entry, entry.end)
