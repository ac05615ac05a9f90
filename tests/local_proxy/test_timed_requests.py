"""A time that a program says crosses the link as a timer, and comes back as a level."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from emulation.memory.virtual_time import run
from local_proxy.http.model import WITHIN, Request, Response
from local_proxy.requests.asked_time import LEVEL
from tests.local_proxy.ends import DATA, END, JPEG, LEVELS, text_of
from tests.local_proxy.proxy_at_work import HTML, NAVIGATION, AtWork, at_work, finish
from tests.local_proxy.scripted_remote import ACCEPTS, Answer, ScriptedRemote, moment
from transport.link.interface import LinkError
from wire import messages as m
from wire.abilities import GOES_ON, Takes
from wire.fields import Headers, header
from wire.skeleton import Level

URL = "http://a.test/p.jpg"
TIMED = (WITHIN, "5")
FIELDS: Headers = [
    *(("content-type", JPEG), ("etag", '"1"'), ("cache-control", "max-age=60")),
    *(("set-cookie", "a=b"), ("sluice-level", "high; late=7")),
]
BOTH = (*ACCEPTS, GOES_ON)


def picture(upto: int, *, identical: bool = True) -> Answer:
    """Answers by a picture of which so many bytes come."""

    def answer(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
        levels = m.Levels(request.component, list(LEVELS), len(DATA), identical=identical)
        remote.say(levels)
        remote.head(request.component, 200, FIELDS)
        remote.send(request.component, DATA[:upto], last=upto >= len(DATA))

    return answer


def file(body: bytes, *, whole: bool = True) -> Answer:
    def answer(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
        remote.head(request.component, 200, FIELDS[1:])
        remote.send(request.component, body, last=whole)

    return answer


def silent(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
    """It says nothing."""


async def asked_of(
    at: AtWork, *fields: tuple[str, str], method: str = "GET", trailers: bool = False
) -> Response:
    takes = Takes.TRAILERS if trailers else Takes.NOTHING
    return await at.proxy.core.handle(Request(method, URL, list(fields), takes=takes))


def test_behind_the_request_goes_a_timer_and_the_field_does_not() -> None:
    async def main() -> None:
        async with at_work(file(b"x"), accepts=BOTH) as at:
            await asked_of(at, ("accept", "*/*"), TIMED)
            (request,) = at.remote.asked
            assert at.remote.fields[request.component] == [("accept", "*/*")]
            assert request.levels and Takes(request.takes) & Takes.LEVEL
            (fetch,) = at.remote.of(m.Fetch)
            assert (fetch.component, fetch.level, fetch.goes_on) == (
                request.component,
                "original",
                True,
            )
            assert 4.9 < fetch.timer <= 5.0
            order = [type(one) for one in at.remote.heard]
            assert order.index(m.Request) < order.index(m.Fetch)

    run(main())


@pytest.mark.parametrize(
    ("fields", "method", "levels", "timed"),
    [
        ([TIMED], "HEAD", False, True),
        ([TIMED], "POST", False, True),
        ([TIMED, ("range", "bytes=0-3")], "GET", False, True),
        ([TIMED, ("cache-control", "no-transform")], "GET", False, True),
        ([], "GET", False, False),
        ([TIMED, ("sec-fetch-dest", "empty")], "GET", False, False),
    ],
)
def test_what_is_asked_of_the_remote(
    fields: list[tuple[str, str]], method: str, levels: bool, timed: bool
) -> None:
    async def main() -> None:
        async with at_work(file(b"x"), accepts=BOTH) as at:
            await asked_of(at, *fields, method=method)
            (request,) = at.remote.asked
            assert request.levels is levels
            assert bool(Takes(request.takes) & Takes.LEVEL) is levels
            assert bool(at.remote.of(m.Fetch)) is timed
            assert header(at.remote.fields[request.component], WITHIN) == ""

    run(main())


def test_an_older_remote_is_told_no_timer_which_it_would_hold_what_is_late_by() -> None:
    async def main() -> None:
        async with at_work(picture(3), accepts=ACCEPTS) as at:
            answer = await asked_of(at, TIMED)
            assert header(answer.headers, LEVEL) == "low; late=0"
            assert at.remote.of(m.Fetch) == []

    run(main())


def test_a_navigation_hands_its_time_on_and_asks_as_ever() -> None:
    async def main() -> None:
        async with at_work(accepts=BOTH) as at:

            def page(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
                remote.respond(request, b"<!doctype html>", HTML)

            at.remote.answer = page
            answer = await at.navigate("http://a.test/", TIMED)
            assert answer.status == 200
            assert header(answer.headers, LEVEL) == ""
            (request,) = at.remote.asked
            assert not request.levels
            assert at.remote.of(m.Fetch) == []
            names = {name for name, _ in at.remote.fields[request.component]}
            assert names == {name for name, _ in NAVIGATION}

    run(main())


@pytest.mark.parametrize("fields", [[(WITHIN, "soon")], [TIMED, TIMED], [(WITHIN, "0")]])
def test_a_time_that_is_none_is_a_bad_request(fields: Sequence[tuple[str, str]]) -> None:
    async def main() -> None:
        async with at_work(file(b"x")) as at:
            answer = await asked_of(at, *fields)
            assert answer.status == 400
            assert b"0.1 to 3600" in await text_of(answer)
            assert at.remote.asked == []
            script = await asked_of(at, *fields, ("sec-fetch-site", "same-origin"))
            assert script.status == 200

    run(main())


def test_a_page_that_is_open_can_not_say_it_whatever_it_leaves_out() -> None:
    async def main() -> None:
        async with at_work(picture(3), accepts=BOTH) as at:

            def page(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
                remote.respond(request, b"<!doctype html>", HTML)

            at.remote.answer = page
            await at.navigate("http://a.test/")
            await asked_of(at, ("referer", "http://a.test/"), TIMED)
            assert not at.remote.asked[-1].levels
            assert at.remote.of(m.Fetch) == []
            assert header(at.remote.fields[at.remote.asked[-1].component], WITHIN) == ""

    run(main())


def test_a_coarse_picture_is_kept_by_nobody_and_the_rest_is_called_off() -> None:
    async def main() -> None:
        async with at_work(picture(6), accepts=BOTH) as at:
            loop = asyncio.get_running_loop()
            began = loop.time()
            answer = await asked_of(at, TIMED)
            assert loop.time() - began == pytest.approx(5.0)
            assert await text_of(answer) == DATA[:5] + END
            assert sorted(answer.headers) == [
                ("cache-control", "no-store"),
                ("content-type", JPEG),
                ("set-cookie", "a=b"),
                (LEVEL, "medium; late=0"),
            ]
            await moment()
            assert [one.component for one in at.remote.of(m.Cancel)] == [
                at.remote.asked[0].component
            ]

    run(main())


def test_the_original_has_all_that_the_origin_said_but_what_it_said_in_our_name() -> None:
    async def main() -> None:
        async with at_work(picture(9), accepts=BOTH) as at:
            answer = await asked_of(at, TIMED)
            assert await text_of(answer) == DATA
            assert answer.headers == [*FIELDS[:-1], (LEVEL, "original; late=0")]
            await moment()
            assert at.remote.of(m.Cancel) == []

    run(main())


def test_who_leaves_while_a_picture_is_waited_for_wants_no_more_of_it() -> None:
    async def main() -> None:
        async with at_work(picture(3), accepts=BOTH) as at:
            waiting = asyncio.ensure_future(asked_of(at, TIMED))
            await moment()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await moment()
            assert len(at.remote.of(m.Cancel)) == 1

    run(main())


def test_a_link_that_breaks_meanwhile_changes_neither_the_time_nor_what_is_here() -> None:
    async def main() -> None:
        async with at_work(picture(3), accepts=BOTH) as at:
            loop = asyncio.get_running_loop()
            began = loop.time()
            waiting = asyncio.ensure_future(asked_of(at, TIMED))
            await moment()
            first = at.remote
            at.remotes.answer = silent
            first.close(LinkError("it broke"))
            answer = await waiting
            assert at.remote is not first
            assert loop.time() - began == pytest.approx(5.0)
            assert await text_of(answer) == DATA[:3] + END
            (again,) = at.remote.asked
            assert again.resume is not None and again.resume.received == 3
            assert Takes(again.takes) & Takes.LEVEL
            await moment()
            assert len(at.remote.of(m.Cancel)) == 1

    run(main())


def test_the_time_runs_from_the_request_whenever_there_is_a_link() -> None:
    async def main() -> None:
        async with at_work(picture(3), accepts=BOTH, link=False) as at:
            loop = asyncio.get_running_loop()
            began = loop.time()
            waiting = asyncio.ensure_future(asked_of(at, TIMED))
            await asyncio.sleep(2.0)
            at.remotes.refuses = False
            answer = await waiting
            assert loop.time() - began == pytest.approx(5.0)
            assert header(answer.headers, LEVEL) == "low; late=0"
            (fetch,) = at.remote.of(m.Fetch)
            assert fetch.timer < 3.0

    run(main())


def test_a_file_says_how_late_it_is_in_front_or_behind() -> None:
    async def main() -> None:
        async with at_work(file(b"abc"), accepts=BOTH) as at:
            answer = await asked_of(at, TIMED, trailers=True)
            behind = answer.trailers() if answer.trailers is not None else []
            said = [one for one in (*answer.headers, *behind) if one[0] == LEVEL]
            assert said == [(LEVEL, "original; late=0")]
            assert await text_of(answer) == b"abc"

        async with at_work(file(b"abc", whole=False), accepts=BOTH) as at:
            answer = await asked_of(at, TIMED, trailers=True)
            assert header(answer.headers, LEVEL) == ""
            (request,) = at.remote.asked
            at.remote.say(m.Trailers(request.component, b""), [("a", "b"), (LEVEL, "x")])
            asyncio.get_running_loop().call_later(7.0, at.remote.send, request.component, b"def")
            assert await text_of(answer) == b"abcdef"
            finish(answer)
            assert answer.trailers is not None
            first, (name, value) = answer.trailers()
            assert first == ("a", "b")
            assert name == LEVEL and value.startswith("original; late=2.")

    run(main())


@pytest.mark.parametrize("status", [206, 301, 304, 404, 500])
def test_what_is_no_picture_in_levels_comes_as_the_origin_has_it(status: int) -> None:
    async def main() -> None:
        def answer(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
            remote.respond(request, b"" if status == 304 else b"x", FIELDS[:-1], status=status)

        async with at_work(answer, accepts=BOTH) as at:
            answer_ = await asked_of(at, ("if-none-match", '"1"'), TIMED)
            assert answer_.status == status
            kept = [field for field in answer_.headers if field[0] != LEVEL]
            assert kept == FIELDS[:-1]
            if status == 304:
                assert header(answer_.headers, LEVEL) == "original; late=0"
            request = at.remote.asked[0]
            assert header(at.remote.fields[request.component], "if-none-match") == '"1"'

    run(main())


def test_a_failure_is_told_as_ever() -> None:
    async def main() -> None:
        def fails(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
            remote.say(m.Failed(request.component, 504, "no answer"))

        async with at_work(fails, accepts=BOTH) as at:
            answer = await asked_of(at, TIMED)
            assert answer.status == 504
            assert header(answer.headers, LEVEL) == ""

    run(main())


def test_a_picture_of_which_no_file_can_be_made_is_asked_for_as_it_is() -> None:
    async def main() -> None:
        def sketched(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
            if not request.levels:
                remote.respond(request, DATA, FIELDS)
                return
            sketch = Level("low", 0, 9, JPEG, b"", 4, 4)  # which these bytes are not
            remote.say(m.Levels(request.component, [sketch], 9))
            remote.head(request.component, 200, FIELDS)
            remote.send(request.component, DATA)

        async with at_work(sketched, accepts=BOTH) as at:
            answer = await asked_of(at, TIMED)
            assert await text_of(answer) == DATA
            first, again = at.remote.asked
            assert first.levels and not again.levels

    run(main())
