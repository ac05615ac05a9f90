"""Tests of previews: who gets one, what its window may ask for, how long it lives."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from emulation.memory.virtual_time import run
from local_proxy.export_drivers.preview.eligible_requests import may_be_previewed
from local_proxy.export_drivers.preview.previews import (
    FIRST,
    GRACE,
    MAX_BODY,
    PATH,
    NoPreview,
    Previews,
)
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component
from tests.local_proxy.export_world import stream
from tests.local_proxy.packages_at_work import (
    OUTLINE,
    URL,
    AtWork,
    documents,
    in_parts,
    outlined,
    plain,
    sliced,
)
from tests.local_proxy.proxy_at_work import finish
from tests.local_proxy.scripted_remote import Answer, ScriptedRemote, moment
from tests.malformed import NESTED_JSON
from tests.office_files import DECK
from wire import messages as m
from wire.abilities import Takes
from wire.fields import Headers, header

CHROME = ("user-agent", "Mozilla/5.0 Chrome/150.0")
FIREFOX = ("user-agent", "Mozilla/5.0 Gecko/20100101 Firefox/153.0")
HTML = ("accept", "text/html,*/*")
WINDOW = [("sec-fetch-dest", "document"), ("sec-fetch-mode", "navigate")]
NAVIGATION: Headers = [CHROME, HTML, *WINDOW]
TYPED = ("sec-fetch-site", "none")
HTTP = ("upgrade-insecure-requests", "1")


@pytest.mark.parametrize(
    ("fields", "may"),
    [
        (NAVIGATION, True),
        ([CHROME, *WINDOW], False),
        ([CHROME, HTML, ("sec-fetch-dest", "iframe"), WINDOW[1]], False),
        ([CHROME, HTML, WINDOW[0], ("sec-fetch-mode", "no-cors")], False),
        ([CHROME, HTML, HTTP], True),
        ([CHROME, HTML], False),
        ([*NAVIGATION, ("range", "bytes=0-")], False),
        ([*NAVIGATION, ("sec-purpose", "prefetch")], False),
        ([*NAVIGATION, ("purpose", "prefetch")], False),
        ([*NAVIGATION, ("cache-control", "no-transform")], False),
        ([FIREFOX, HTML, *WINDOW, TYPED], True),
        ([FIREFOX, HTML, *WINDOW, ("sec-fetch-site", "same-origin")], False),
        ([FIREFOX, HTML, HTTP], False),
    ],
)
def test_a_person_in_front_of_a_window_may_have_a_preview(fields: Headers, may: bool) -> None:
    assert may_be_previewed(Request("GET", URL, fields)) is may
    assert not may_be_previewed(Request("POST", URL, fields))
    assert not may_be_previewed(Request("GET", URL, fields, original=True))


def test_what_stands_for_fetch_metadata_counts_for_http_alone() -> None:
    fields = [CHROME, HTML, HTTP]
    assert not may_be_previewed(Request("GET", URL.replace("http:", "https:"), fields))


# -- previews --------------------------------------------------------------------------------------


@dataclass
class Previewed:
    """Previews of one proxy, and what was done for them."""

    at: AtWork
    previews: Previews
    fetched: list[Request] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)

    async def open(self, *, reached: tuple[str, int] | None = None) -> Response | None:
        """A window asks for the deck."""
        request = Request("GET", URL, list(NAVIGATION), reached=reached)
        asked = self.previews.in_parts(request)
        assert asked is not None
        session = self.at.link.session
        component = Component(session.new_id(), 0, URL)
        component.document = component.id
        self.previews.expect(component)
        session.request(component, asked.for_origin())
        await component.wait_head()
        try:
            return await self.previews.response(asked, component)
        finally:
            self.previews.forget(component)

    async def ask(
        self, base: str, what: str, *, method: str = "GET", body: bytes = b"", host: str = "a.test"
    ) -> Response:
        said = stream(body) if body else None
        answer = await self.previews.own(
            Request(method, f"http://{host}{base}{what}", [], body=said)
        )
        assert answer is not None
        return answer


@asynccontextmanager
async def previewed(folder: Path, answer: Answer = outlined) -> AsyncIterator[Previewed]:
    async with documents(folder / "kept", answer) as at:
        fetched: list[Request] = []
        closed: list[int] = []

        async def fetch(request: Request) -> Response:
            fetched.append(request)
            return Response(200, [("content-type", "x/y"), ("set-cookie", "a=1")], b"anew")

        launch = "http://sluice.local/documents/open/"
        previews = Previews(at.packages, fetch=fetch, close_document=closed.append, launch=launch)
        yield Previewed(at, previews, fetched, closed)
        previews.close()


def base_of(response: Response | None) -> str:
    """The path below which a preview asks."""
    assert response is not None
    assert isinstance(response.body, bytes)
    found = re.search(rb'data-base="([^"]+)"', response.body)
    assert found is not None
    return found[1].decode()


def test_a_window_is_given_a_page_that_nobody_else_can_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with previewed(tmp_path) as to:
            answer = await to.open(reached=("192.0.2.1", 8118))
            base = base_of(answer)
            assert answer is not None
            assert header(answer.headers, "cache-control") == "no-store"
            policy = header(answer.headers, "content-security-policy")
            assert f"connect-src http://a.test{base}" in policy
            assert isinstance(answer.body, bytes)
            assert b"/documents/open/" not in answer.body  # another device has no program here
            assert to.at.remote.asked[0].takes & Takes.INLINE
            key = base.removeprefix(PATH).strip("/")
            assert to.previews.address(key) == (URL, "deck.pptx")
            assert to.previews.address("x" * 32) is None
            local = await to.open(reached=("127.0.0.1", 8118))
            assert local is not None
            assert isinstance(local.body, bytes)
            assert b"http://sluice.local/documents/open/" in local.body
            assert len(to.previews) == 2

    run(main())


def test_what_does_not_come_in_parts_has_no_preview(tmp_path: Path) -> None:
    async def main() -> None:
        async with previewed(tmp_path, plain) as to:
            assert await to.open() is None
            assert len(to.previews) == 0
            assert to.previews.in_parts(Request("GET", URL, [])) is None

    run(main())


def test_a_document_that_can_not_be_read_is_asked_for_once_more_whole(tmp_path: Path) -> None:
    def broken(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
        outlined(remote, request, fields)
        remote.say(m.Failed(request.component, 502, "no more"))

    async def main() -> None:
        async with previewed(tmp_path, broken) as to:
            with pytest.raises(NoPreview):
                await to.open()
            assert len(to.previews) == 0

    run(main())


def test_a_window_hears_all_until_it_leaves_and_is_gone_a_moment_later(tmp_path: Path) -> None:
    async def main() -> None:
        async with previewed(tmp_path, in_parts) as to:
            base = base_of(await to.open())
            channel = await to.ask(base, "events")
            assert header(channel.headers, "content-type") == "text/event-stream"
            assert header(channel.headers, "access-control-allow-origin") == "*"
            assert isinstance(channel.body, AsyncIterator)
            assert await anext(channel.body) == b"retry: 1000\n\n"
            lines = [await anext(channel.body)]
            while b'"end"' not in lines[-1]:
                lines.append(await anext(channel.body))
            assert all(line.startswith(b"data: {") for line in lines)
            assert await anext(channel.body) == b":\n\n"
            await asyncio.sleep(2 * FIRST)
            assert len(to.previews) == 1
            finish(channel)
            await asyncio.sleep(GRACE - 0.1)
            assert len(to.previews) == 1
            await asyncio.sleep(0.2)
            assert len(to.previews) == 0
            assert to.closed == [to.at.remote.asked[0].document]
            assert to.at.packages.get(1) is None
            assert (await to.ask(base, "events")).status == 404

    run(main())


def test_a_window_whose_channel_never_comes_is_gone(tmp_path: Path) -> None:
    async def main() -> None:
        async with previewed(tmp_path) as to:
            await to.open()
            left = await to.open()
            assert left is not None
            finish(left, whole=False)
            assert len(to.previews) == 1
            await asyncio.sleep(FIRST + 0.1)
            assert len(to.previews) == 0
            assert len(to.closed) == 2

    run(main())


def test_only_the_preview_itself_is_answered(tmp_path: Path) -> None:
    async def main() -> None:
        async with previewed(tmp_path) as to:
            base = base_of(await to.open())
            other = base.replace(base.split("/")[-2], "x" * 32)
            assert (await to.ask(other, "events")).status == 404
            assert (await to.ask(base, "events", host="b.test")).status == 404
            assert (await to.ask(base, "other")).status == 404
            assert (await to.ask(base, "events", method="POST")).status == 405
            assert (await to.ask(base, "focus")).status == 405
            assert await to.previews.own(Request("GET", URL, [])) is None

    run(main())


def test_what_a_window_says_of_its_reader_is_checked(tmp_path: Path) -> None:
    async def main() -> None:
        async with previewed(tmp_path) as to:
            base = base_of(await to.open())
            before = len(to.at.heard)
            for body, status in (
                (b'{"p":2,"m":[0,99,-1]}', 204),
                (b'{"p":-5}', 204),
                (b"{}", 400),
                (b'{"p":1,"x":2}', 400),
                (b'{"p":1,"m":["\xff"]}', 400),
                (NESTED_JSON[:MAX_BODY], 400),
                (b"x" * (MAX_BODY + 1), 413),
            ):
                assert (await to.ask(base, "focus", method="POST", body=body)).status == status
            assert len(to.at.heard) == before + 2  # one page is there, and is told in two events

    run(main())


def test_pictures_come_as_what_they_are_and_run_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with previewed(tmp_path) as to:
            base = base_of(await to.open())
            assert (await to.ask(base, "picture?m=0&l=full")).status == 404
            pages = len(OUTLINE.pages)
            ((start, end),) = sliced()[pages][0]
            to.at.remote.send(2 + 2 * pages, DECK[start:end])
            await moment()
            picture = await to.ask(base, "picture?m=0&l=full")
            assert header(picture.headers, "content-type") == "image/png"
            assert isinstance(picture.body, bytes)
            assert picture.body.startswith(b"\x89PNG")
            assert "sandbox" in header(picture.headers, "content-security-policy")
            assert header(picture.headers, "x-content-type-options") == "nosniff"
            for query in ("", "?m=-1&l=full", "?m=x&l=full", "?m=" + "9" * 50, "?m=99&l=full"):
                assert (await to.ask(base, "picture" + query)).status == 404

    run(main())


def test_the_file_is_put_away_under_its_name(tmp_path: Path) -> None:
    async def main() -> None:
        async with previewed(tmp_path, in_parts) as to:
            base = base_of(await to.open())
            file = await to.ask(base, "file")
            assert file.length == len(DECK)
            disposition = header(file.headers, "content-disposition")
            assert disposition == "attachment; filename*=UTF-8''deck.pptx"
            assert isinstance(file.body, AsyncIterator)
            assert b"".join([piece async for piece in file.body]) == DECK
            assert to.fetched == []

    run(main())


def test_after_a_failure_the_file_is_fetched_as_it_is(tmp_path: Path) -> None:
    async def main() -> None:
        async with previewed(tmp_path) as to:
            base = base_of(await to.open())
            request = to.at.remote.asked[0]
            to.at.remote.say(m.Failed(2, 502, "the origin is gone"))
            await moment()
            file = await to.ask(base, "file")
            assert file.body == b"anew"
            assert [(one.url, one.original) for one in to.fetched] == [(URL, True)]
            assert header(file.headers, "set-cookie") == ""
            assert header(file.headers, "content-disposition").startswith("attachment")
            assert to.closed == [request.document]

    run(main())
