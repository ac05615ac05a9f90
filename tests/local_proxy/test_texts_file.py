"""Texts of earlier visits, from run to run."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from coding.dictionary import Dictionary, TextGathering
from coding.owner import TextOwner
from local_proxy.kept.sqlite_file import Unavailable
from local_proxy.kept.texts_file import FILE, KeptTexts, TextsFile

OWNER = TextOwner("https://a.example", b"c" * 32, ("browser \udcff", "a.example\na.example"))


def text(number: int, *, owner: TextOwner = OWNER) -> Dictionary:
    gathering = TextGathering()
    gathering.add(b"%d " % number * 300)
    url = f"https://a.example/{number}"
    made = gathering.finish(owner, url, media="text/html", page=url)
    assert made is not None
    return made


def kept(folder: Path, *, max_bytes: int = 1 << 20) -> KeptTexts:
    return KeptTexts(TextsFile(folder), max_bytes=max_bytes)


def test_what_one_run_keeps_the_next_has(tmp_path: Path) -> None:
    async def go() -> None:
        first = kept(tmp_path)
        for number in (1, 2, 3):
            first.shelf.keep(text(number))
        first.shelf.forget(lambda one: one.url.endswith("2"))
        await first.flush()
        second = kept(tmp_path)
        await second.recall()
        found = list(second.shelf)
        assert [one.url[-1] for one in found] == ["1", "3"]
        assert [one.text() for one in found] == [text(1).text(), text(3).text()]
        assert found[0].owner.credentials == OWNER.credentials
        second.shelf.keep(replace(text(1), page="https://a.example/p"))
        await second.flush()
        third = kept(tmp_path)
        await third.recall()
        assert [one.url[-1] for one in third.shelf] == ["3", "1"]
        assert list(third.shelf)[1].page == "https://a.example/p"

    asyncio.run(go())
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_a_smaller_shelf_lets_go_on_disk_too(tmp_path: Path) -> None:
    async def go() -> None:
        first = kept(tmp_path)
        for number in range(10):
            first.shelf.keep(text(number))
        await first.flush()
        small = kept(tmp_path, max_bytes=3 * text(1).cost)
        await small.recall()
        await small.flush()
        again = kept(tmp_path)
        await again.recall()
        assert [one.url[-1] for one in again.shelf] == ["7", "8", "9"]

    asyncio.run(go())


def test_erased_is_gone_from_the_disk(tmp_path: Path) -> None:
    async def go() -> None:
        one = kept(tmp_path)
        one.shelf.keep(text(1))
        await one.flush()
        one.shelf.keep(text(2))
        await one.erase()
        await one.flush()
        assert not len(one.shelf)
        again = kept(tmp_path)
        await again.recall()
        assert not len(again.shelf)

    asyncio.run(go())
    assert all(b"a.example/1" not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_damaged_file_is_put_aside_and_begun_anew(tmp_path: Path) -> None:
    async def go() -> None:
        one = kept(tmp_path)
        one.shelf.keep(text(1))
        await one.flush()
        (tmp_path / FILE).write_bytes(b"no database " * 900)
        two = kept(tmp_path)
        await two.recall()
        assert not len(two.shelf)
        two.shelf.keep(text(2))
        await two.flush()
        three = kept(tmp_path)
        await three.recall()
        assert len(three.shelf) == 1

    asyncio.run(go())
    assert (tmp_path / f"{FILE}.damaged").exists()


def test_a_row_that_somebody_changed_is_not_used(tmp_path: Path) -> None:
    async def go() -> None:
        one = kept(tmp_path)
        one.shelf.keep(text(1))
        one.shelf.keep(text(2))
        await one.flush()
        with closing(sqlite3.connect(tmp_path / FILE)) as db, db:
            db.execute("UPDATE texts SET packed = 'words' WHERE url LIKE '%1'")
            db.execute("UPDATE texts SET digest = 7, size = -4 WHERE url LIKE '%2'")
        two = kept(tmp_path)
        await two.recall()
        assert [found.text() for found in two.shelf] == [None] * len(two.shelf)

    asyncio.run(go())


def test_a_disk_that_cannot_be_written_loses_nothing_of_this_run(tmp_path: Path) -> None:
    async def go() -> None:
        file = TextsFile(tmp_path / "not" / "there")
        (tmp_path / "not").write_text("a file where a folder should be")
        one = KeptTexts(file, max_bytes=1 << 20)
        await one.recall()
        one.shelf.keep(text(1))
        await one.flush()
        assert len(one.shelf) == 1
        with pytest.raises(Unavailable):
            await one.erase()
        one.shelf.keep(text(2))
        (tmp_path / "not").unlink()
        await one.flush()
        again = KeptTexts(TextsFile(tmp_path / "not" / "there"), max_bytes=1 << 20)
        await again.recall()
        assert [found.url[-1] for found in again.shelf] == ["2"]

    asyncio.run(go())


def test_without_a_file_nothing_is_written_and_all_works() -> None:
    async def go() -> None:
        one = KeptTexts(None, max_bytes=1 << 20)
        await one.recall()
        one.shelf.keep(text(1))
        await one.flush()
        await one.run()
        await one.erase()
        assert not len(one.shelf)

    asyncio.run(go())


def test_after_five_thousand_pages_memory_and_disk_are_as_bounded(tmp_path: Path) -> None:
    most = 400_000

    async def go() -> None:
        one = kept(tmp_path, max_bytes=most)
        for number in range(5_000):
            site = ("browser", f"{number % 50}.example")
            one.shelf.keep(text(number, owner=replace(OWNER, place=site)))
            if number % 100 == 99:
                await one.flush()
        assert one.shelf.bytes <= most
        assert len(one.shelf) > 300
        again = kept(tmp_path, max_bytes=most)
        await again.recall()
        assert {text.digest for text in again.shelf} == {text.digest for text in one.shelf}

    asyncio.run(go())
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 4 * most
