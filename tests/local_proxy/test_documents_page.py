"""Tests of POST /documents: programs of this device open documents and are told what comes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import msgspec
import pytest

from emulation.memory.virtual_time import run
from local_proxy.documents.page import MAX_BODY, PATH, DocumentsPage
from local_proxy.documents.report import (
    AnyLine,
    Begun,
    DocumentRefused,
    Ended,
    News,
    WholeBegun,
    decoder,
)
from local_proxy.http.model import Request, Response
from tests.local_proxy.export_world import stream
from tests.local_proxy.packages_at_work import (
    DIGEST,
    DIRECTORY,
    START,
    URL,
    AtWork,
    begun,
    documents,
    plain,
)
from tests.local_proxy.scripted_remote import ScriptedRemote
from tests.malformed import NESTED_JSON
from tests.office_files import DECK
from wire import messages as m
from wire.fields import Headers
from wire.package import Slice
from wire.skeleton import Kind

HERE = ("127.0.0.1", 8118)


async def post(
    at: AtWork,
    body: bytes,
    *,
    path: str = PATH,
    reached: tuple[str, int] | None = HERE,
    ours: Callable[[Request], bool] = lambda request: True,
) -> Response:
    page = DocumentsPage(at.packages, ours=ours)
    url = f"http://sluice.local{path}"
    return await page.handle(Request("POST", url, [], body=stream(body), reached=reached))


async def opening(at: AtWork, url: str = URL) -> AsyncGenerator[bytes, None]:
    """The lines of a document."""
    answer = await post(at, msgspec.json.encode({"url": url}))
    assert answer.status == 200
    assert isinstance(answer.body, AsyncGenerator)
    return answer.body


async def line(lines: AsyncGenerator[bytes, None]) -> AnyLine:
    """The next line that says anything."""
    while (raw := await anext(lines)) == b"\n":
        pass
    assert raw.endswith(b"\n")
    found: AnyLine = decoder.decode(raw)
    return found


def files(folder: Path) -> set[str]:
    """All that are kept."""
    return {str(path) for path in folder.rglob("*")}


def test_only_programs_of_this_device_that_know_the_token_open_anything(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept") as at:
            body = msgspec.json.encode({"url": URL})
            for answer in (
                await post(at, body, reached=None),
                await post(at, body, reached=("192.168.1.7", 8118)),
                await post(at, body, ours=lambda request: False),
            ):
                assert answer.status == 403
            assert at.remote.asked == []

    run(main())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"not json",
        b'{"url":7}',
        b'{"url":"http://\xff/"}',
        NESTED_JSON,
        b'{"url":"file:///etc/passwd"}',
        b'{"url":"http://"}',
        b'{"url":"http://["}',
        b'{"url":"' + b"x" * MAX_BODY + b'"}',
    ],
)
def test_what_names_no_address_of_the_web_is_refused(tmp_path: Path, body: bytes) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept") as at:
            answer = await post(at, body)
            assert answer.status == 400
            assert isinstance(answer.body, bytes)
            assert "problem" in msgspec.json.decode(answer.body)
            assert at.remote.asked == []

    run(main())


def test_a_document_in_parts_is_told_of_as_it_comes_and_closes_with_its_reader(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", begun) as at:
            lines = await opening(at)
            first = await line(lines)
            assert isinstance(first, Begun)
            assert (first.url, first.name, first.length) == (URL, "deck.pptx", len(DECK))
            assert first.directory == START
            assert first.path in files(tmp_path)
            names = {*first.pages[0], *first.texts, *first.others}
            seen: set[str] = set()
            news = await line(lines)
            while isinstance(news, News) and news.received < START // 2:
                assert not seen & set(news.here)
                seen |= set(news.here)
                news = await line(lines)
            part = at.remote.asked[0]
            assert seen < names
            at.remote.send(2, DECK[START // 2 : START])
            at.remote.send(4, DIGEST)
            while isinstance(news, News):
                assert not seen & set(news.here)
                seen |= set(news.here)
                news = await line(lines)
            assert news == Ended(DIGEST.hex())
            assert seen == names
            assert await anext(lines) == b"\n"  # finds out whether anybody reads
            await lines.aclose()
            assert first.path not in files(tmp_path)
            assert at.closed == [part.document]

    run(main())


def test_a_view_of_texts_is_told_piece_by_piece(tmp_path: Path) -> None:
    record = b"\x1f\x1f\x1f\x1f<draw:page/>\x1e"

    def viewed(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
        slices = [
            Slice(Kind.TEXT, [], [1, 1], view=2 * len(record)),
            Slice(Kind.TEXT, [0, START], [1, 2]),
        ]
        remote.say(m.Package(request.component, len(DECK), START, "odp", 2, 2, slices))
        remote.head(request.component)
        remote.send(request.component, DIRECTORY.raw)
        remote.send(2, record, last=False)

    async def main() -> None:
        async with documents(tmp_path / "kept", viewed) as at:
            lines = await opening(at)
            assert isinstance(await line(lines), Begun)
            told = await line(lines)
            while isinstance(told, News) and not told.text:
                told = await line(lines)
            assert isinstance(told, News)
            assert (told.text, told.text_at, told.text_ends) == (record, 0, False)
            at.remote.send(2, record)
            told = await line(lines)
            assert isinstance(told, News)
            assert (told.text, told.text_at, told.text_ends) == (record, len(record), True)
            await lines.aclose()

    run(main())


def test_a_file_that_comes_whole_is_told_of(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", plain) as at:
            lines = await opening(at, "http://a.test/notes.txt")
            first = await line(lines)
            assert isinstance(first, WholeBegun)
            assert (first.name, first.length) == ("notes.txt", 10)
            told = [await line(lines)]
            while isinstance(told[-1], News):
                told.append(await line(lines))
            assert told[-2] == News(10)
            assert isinstance(told[-1], Ended)
            assert told[-1].failure == ""
            await lines.aclose()

    run(main())


def test_a_document_that_can_not_be_had_is_refused_in_one_line(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", link=False, patience=1.0) as at:
            lines = await opening(at)
            refusal = await line(lines)
            assert isinstance(refusal, DocumentRefused)
            assert refusal.status == 504
            assert [one async for one in lines] == []

    run(main())


def test_where_a_person_is_reaches_the_document_of_that_number(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", begun) as at:
            lines = await opening(at)
            first = await line(lines)
            assert isinstance(first, Begun)
            at.heard.clear()
            answer = await post(at, b'{"page":1}', path=f"{PATH}/{first.number}/focus")
            assert answer.status == 200
            assert at.heard
            for path in ("/99/focus", "/x/focus", f"/{first.number}/other", f"/{first.number}"):
                answer = await post(at, b'{"page":1}', path=PATH + path)
                assert answer.status == 404
            answer = await post(at, b'{"page":"one"}', path=f"{PATH}/{first.number}/focus")
            assert answer.status == 400
            await lines.aclose()

    run(main())


def test_a_file_that_comes_whole_has_no_pages_to_look_at(tmp_path: Path) -> None:
    async def main() -> None:
        async with documents(tmp_path / "kept", plain) as at:
            number, _ = await at.packages.open("http://a.test/notes.txt")
            answer = await post(at, b'{"page":1}', path=f"{PATH}/{number}/focus")
            assert answer.status == 404
            assert at.remote.of(m.Raise) == []

    run(main())
