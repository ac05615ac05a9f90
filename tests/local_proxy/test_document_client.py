"""Tests of following a document that a running local proxy has opened."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import msgspec
import pytest

from local_proxy.commands.document_client import (
    FollowedSource,
    FollowedWhole,
    OpenFailed,
    following,
)
from local_proxy.commands.status import NoAnswer
from local_proxy.documents.report import (
    AnyLine,
    DocumentRefused,
    Ended,
    FocusRequest,
    News,
    WholeBegun,
)
from tests.local_proxy.served_documents import DATA, NUMBER, begun, served
from tests.malformed import NESTED_JSON
from tests.office.fake_source import FakeSource
from tests.watched import run, until

WHOLE = WholeBegun(NUMBER, "http://a.test/notes.txt", "notes.txt", "/nowhere", 5)
RECORD = b"\x1f\x1f\x1f\x1f<draw:page/>\x1e"


@pytest.fixture
def source(tmp_path: Path) -> FakeSource:
    return FakeSource(DATA / "deck.pptx", tmp_path / "sparse")


def followed(source: FakeSource) -> FollowedSource:
    return FollowedSource(begun(source), lambda focus: None)


def test_a_document_in_parts_is_the_one_that_the_stream_tells_of(source: FakeSource) -> None:
    async def main() -> None:
        async with served() as (document, host, port):
            entry, picture = source.directory.entries[0].name, source.outline.media[0].entry
            document.tell(begun(source), News(9, [entry], {picture: b"low"}, 4))
            async with following(host, port, source.url) as found:
                assert isinstance(found, FollowedSource)
                assert found.directory == source.directory
                assert found.outline == source.outline
                assert (found.name, found.length) == (source.name, source.length)
                await until(lambda: found.received)
                assert found.present(entry)
                assert not found.present(picture)
                assert (found.low(picture), found.low(entry)) == (b"low", None)
                assert (found.received, found.reach) == (9, 4)
                document.tell(b"", News(12), Ended("00ff"))
                await found.ended()
                assert (found.complete, found.sha256) == (True, "00ff")
                assert (found.present(entry), found.received) == (True, 12)
            await document.left.wait()
            path, token, body = document.said[0]
            assert (path, token) == ("/documents", "secret")
            assert msgspec.json.decode(body) == {"url": source.url}

    run(main())


def test_where_a_person_looks_is_told_with_the_token(source: FakeSource) -> None:
    async def main() -> None:
        async with served() as (document, host, port):
            document.tell(begun(source))
            async with following(host, port, source.url) as found:
                assert isinstance(found, FollowedSource)
                found.focus(2, ["a.png"])
                await until(lambda: len(document.said) == 2)
            path, token, body = document.said[1]
            assert (path, token) == (f"/documents/{NUMBER}/focus", "secret")
            assert msgspec.json.decode(body, type=FocusRequest) == FocusRequest(2, ["a.png"])

    run(main())


def test_a_file_that_comes_whole_fails_with_its_reason() -> None:
    async def main() -> None:
        async with served() as (document, host, port):
            document.tell(WHOLE, News(3), Ended(failure="the server answered 404"))
            async with following(host, port, WHOLE.url) as found:
                assert isinstance(found, FollowedWhole)
                assert (found.length, found.name) == (5, "notes.txt")
                await found.ended()
                assert (found.complete, found.received) == (False, 3)
                assert found.failure == "the server answered 404"

    run(main())


def test_a_proxy_that_ends_in_the_middle_ends_the_document() -> None:
    async def main() -> None:
        async with served() as (document, host, port):
            document.tell(WHOLE)
            async with following(host, port, WHOLE.url) as found:
                document.end()
                await found.ended()
                assert found.failure == "the local proxy has ended"

    run(main())


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (DocumentRefused(504, "there is no link"), "there is no link"),
        (News(3), "makes sense"),
        (b'{"event":"other"}', "of another version"),
        (b"<html>", "of another version"),
        (b'{"event":"\xff"}', "of another version"),
        (NESTED_JSON, "of another version"),
    ],
)
def test_what_begins_no_document_is_said(line: AnyLine | bytes, why: str) -> None:
    async def main() -> None:
        async with served() as (document, host, port):
            document.tell(line)
            with pytest.raises(OpenFailed, match=why):
                async with following(host, port, WHOLE.url):
                    raise AssertionError("there is no document")

    run(main())


def test_a_proxy_that_refuses_says_with_what_status() -> None:
    async def main() -> None:
        async with served() as (document, host, port):
            document.status = 403
            document.end()
            with pytest.raises(OpenFailed, match="answered 403"):
                async with following(host, port, WHOLE.url):
                    raise AssertionError("there is no document")

    run(main())


def test_who_is_no_local_proxy_of_ours_gives_no_answer() -> None:
    async def main() -> None:
        async with served() as (document, host, port):
            for said in (b"{}", b'{"token":"\xff"}', NESTED_JSON):
                document.sites = said
                with pytest.raises(NoAnswer, match="of another version"):
                    async with following(host, port, WHOLE.url):
                        raise AssertionError("there is no document")
            assert document.said == []
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        with pytest.raises(NoAnswer):
            async with following("127.0.0.1", port, WHOLE.url):
                raise AssertionError("there is no proxy")

    run(main())


def test_a_file_that_is_not_what_the_stream_says_can_not_be_read(source: FakeSource) -> None:
    with pytest.raises(OpenFailed, match="can't be read"):
        FollowedSource(begun(source, directory=source.directory.start + 1), lambda focus: None)
    source.path.unlink()
    with pytest.raises(OpenFailed, match="can't be read"):
        followed(source)


def test_a_view_of_texts_grows_and_begins_anew_where_another_begins(tmp_path: Path) -> None:
    one = followed(FakeSource(DATA / "deck.odp", tmp_path / "sparse"))
    half = len(RECORD) // 2
    one.hear(News(1, text=RECORD[:half]))
    one.hear(News(2, text=RECORD[half:], text_at=half))
    assert one.text is not None
    assert (one.text.pages, one.text.size) == (1, len(RECORD))
    before = one.text
    one.hear(News(3, text=RECORD))
    assert one.text is not before
    assert one.text.size == len(RECORD)
    with pytest.raises(OpenFailed, match="of another version"):
        one.hear(News(4, text=b"\xff" * 40 + b"\x1e", text_at=len(RECORD)))


def test_watchers_hear_of_each_line_until_they_leave(source: FakeSource) -> None:
    async def main() -> None:
        one, told = followed(source), list[int]()
        leave = one.watch(lambda: told.append(one.received))
        one.hear(News(1))
        one.hear(News(2))
        leave()
        leave()
        one.hear(News(3))
        assert told == [1, 2]
        waiting = asyncio.ensure_future(one.ended())
        await asyncio.sleep(0)
        assert not waiting.done()
        one.hear(Ended("00"))
        await waiting

    run(main())
