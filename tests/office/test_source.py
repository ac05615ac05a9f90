"""Tests of a document on its way in, as the source that stands for one here promises it."""

from __future__ import annotations

from pathlib import Path

import pytest

from office.source import Source
from tests.office.fake_source import FakeSource
from tests.office_files import FILES

DECK = next(path for path in FILES if path.name == "deck.pptx")


def test_all_that_a_source_has_the_stand_in_has(tmp_path: Path) -> None:
    source: Source = FakeSource(DECK, tmp_path / "sparse")
    wanted = {name for name in vars(Source) if not name.startswith("_")}
    assert wanted >= {"url", "path", "outline", "present", "reach", "low", "watch", "focus"}
    assert wanted <= set(dir(source))


def test_who_watches_hears_of_changes_until_he_does_not(tmp_path: Path) -> None:
    fake = FakeSource(DECK, tmp_path / "sparse")
    source: Source = fake
    heard: list[bool] = []
    ends = source.watch(lambda: heard.append(source.complete))
    fake.feed_texts()
    assert heard and not any(heard)
    fake.feed_rest()
    assert heard[-1]
    ends()
    before = len(heard)
    fake.fail("the link is gone")
    assert (len(heard), source.failure) == (before, "the link is gone")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_entry_that_is_present_is_in_the_file_byte_for_byte(path: Path, tmp_path: Path) -> None:
    fake = FakeSource(path, tmp_path / "sparse")
    source: Source = fake
    original = path.read_bytes()
    fake.feed_page(1)
    present = [one for one in source.directory.entries if source.present(one.name)]
    assert {one.name for one in present} == set(source.outline.pages[0].entries)
    sparse = source.path.read_bytes()
    assert len(sparse) == source.length == len(original)
    for entry in present:
        assert sparse[entry.start : entry.end] == original[entry.start : entry.end]
    fake.feed_rest()
    assert source.complete
    assert source.path.read_bytes() == original


def test_the_beginning_of_a_text_is_there_before_its_end(tmp_path: Path) -> None:
    fake = FakeSource(DECK.with_name("text.docx"), tmp_path / "sparse")
    source: Source = fake
    fake.feed_beginning(100)
    main = source.directory.by_name["word/document.xml"]
    assert source.reach == main.start + 100
    assert not source.present(main.name)
    fake.feed_rest()
    assert source.reach == main.end
