"""Tests of `sluice open`: what it says of a document, who shows it, where it is kept."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from local_proxy.commands.document_client import FollowedSource
from local_proxy.commands.open_document import DocumentProgress
from local_proxy.commands.open_document import run as command
from local_proxy.documents.report import DocumentRefused, Ended, News, WholeBegun
from office.source import Source
from tests.local_proxy.ends import turns
from tests.local_proxy.served_documents import DATA, NUMBER, begun, served
from tests.office.fake_source import FakeSource
from tests.watched import run

URL = "http://a.test/notes.txt"


@pytest.fixture
def source(tmp_path: Path) -> FakeSource:
    return FakeSource(DATA / "deck.pptx", tmp_path / "sparse")


def whole(folder: Path, content: bytes) -> WholeBegun:
    path = folder / "coming"
    path.write_bytes(content)
    return WholeBegun(NUMBER, URL, "notes.txt", str(path), len(content))


class Viewer:
    """Shows a document until it is told that the person has closed it."""

    def __init__(self) -> None:
        self.like = ""
        self.shown: list[Source | None] = []
        self.opened = asyncio.Event()
        self.closed = asyncio.Event()
        self.cancelled = False

    async def __call__(self, coming: asyncio.Future[Source | None], *, like: str) -> None:
        self.like = like
        try:
            self.shown.append(await coming)
            self.opened.set()
            await self.closed.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


def test_a_complete_file_is_kept_and_never_over_another(tmp_path: Path) -> None:
    async def main() -> None:
        into, said = tmp_path / "kept.txt", list[str]()
        for expected in ("kept.txt", "kept (1).txt", "kept (2).txt"):
            async with served() as (document, host, port):
                document.tell(whole(tmp_path, expected.encode()), News(3), Ended("00ff"))
                assert await command(host, port, URL, into=into, out=said.append) == 0
            assert said[-1] == f"kept as {tmp_path / expected}"
            assert (tmp_path / expected).read_text() == expected
        assert any("notes.txt: comes whole, 8 bytes" in line for line in said)
        assert any("complete, SHA-256 00ff" in line for line in said)

    run(main())


def test_a_link_that_lies_there_is_not_followed(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "kept.txt").symlink_to(tmp_path / "elsewhere")
        async with served() as (document, host, port):
            document.tell(whole(tmp_path, b"text"), Ended("00"))
            into = tmp_path / "kept.txt"
            assert await command(host, port, URL, into=into, out=lambda line: None) == 0
        assert not (tmp_path / "elsewhere").exists()
        assert (tmp_path / "kept (1).txt").read_bytes() == b"text"

    run(main())


@pytest.mark.parametrize("refused", [True, False])
def test_a_document_that_fails_is_said_and_not_kept(tmp_path: Path, refused: bool) -> None:
    async def main() -> None:
        said: list[str] = []
        async with served() as (document, host, port):
            if refused:
                document.tell(DocumentRefused(504, "the disk is full"))
            else:
                document.tell(whole(tmp_path, b"te"), Ended(failure="the disk is full"))
            into = tmp_path / "kept.txt"
            assert await command(host, port, URL, into=into, out=said.append) == 1
        assert said[-1] == "sluice: the disk is full"
        assert not (tmp_path / "kept.txt").exists()

    run(main())


def test_a_document_is_open_until_the_person_has_closed_it(
    tmp_path: Path, source: FakeSource
) -> None:
    async def main() -> None:
        viewer, said = Viewer(), list[str]()
        async with served() as (document, host, port):
            opening = asyncio.ensure_future(
                command(
                    *(host, port, "http://a.test/get?id=7"),
                    into=tmp_path / "kept.pptx",
                    out=said.append,
                    open_with=viewer,
                )
            )
            document.tell(begun(source), News(source.length), Ended("00"))
            await viewer.opened.wait()
            (shown,) = viewer.shown
            assert isinstance(shown, FollowedSource)
            assert viewer.like == "deck.pptx"  # its address says nothing
            await turns()
            assert not opening.done()
            viewer.closed.set()
            assert await opening == 0
        assert (tmp_path / "kept.pptx").stat().st_size == source.length

    run(main())


def test_what_shows_a_document_starts_before_anybody_knows_that_it_is_one(tmp_path: Path) -> None:
    async def main() -> None:
        viewer = Viewer()
        async with served() as (document, host, port):
            opening = asyncio.ensure_future(
                command(
                    *(host, port, "http://a.test/some%20deck.pptx"),
                    into=tmp_path / "kept.txt",
                    out=lambda line: None,
                    open_with=viewer,
                )
            )
            await document.heard.wait()
            assert viewer.like == "some deck.pptx"
            document.tell(whole(tmp_path, b"log in"), Ended("00"))
            assert await opening == 0
        assert viewer.shown == [None]
        assert viewer.cancelled

    run(main())


def test_each_step_of_a_document_is_said_once(source: FakeSource) -> None:
    followed = FollowedSource(begun(source), lambda focus: None)
    said: list[str] = []
    progress = DocumentProgress(followed, said.append)
    progress.look()
    pages, media = source.outline.pages, [one.entry for one in source.outline.media]
    progress.look()
    assert said == [f"deck.pptx: {source.length} bytes, {len(pages)} pages"]

    def hear(news: News) -> list[str]:
        said.clear()
        followed.hear(news)
        progress.look()
        progress.look()
        return said

    assert hear(News(1, list(pages[0].entries))) == ["text of page 1"]
    rest = [name for page in pages[1:] for name in page.entries]
    assert hear(News(2, rest)) == ["text of all pages"]
    assert hear(News(3, low={media[0]: b"low"})) == []
    assert hear(News(4, low={media[1]: b"low"})) == [f"all {len(media)} pictures coarse"]
    assert hear(News(5, media[:1])) == [f"pictures 1/{len(media)}"]
    followed.hear(Ended("00ff"))
    said.clear()
    progress.look()
    progress.look()
    assert said == ["complete, SHA-256 00ff"]


def test_lines_say_how_long_it_took(tmp_path: Path) -> None:
    async def main() -> None:
        said: list[str] = []
        async with served() as (document, host, port):
            document.tell(whole(tmp_path, b"text"), Ended("00"))
            into = tmp_path / "kept.txt"
            await command(host, port, URL, into=into, out=said.append)
        assert re.fullmatch(r" +\d+\.\d s  notes\.txt: comes whole, 4 bytes", said[0])

    run(main())
