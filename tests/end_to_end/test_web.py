"""Pages rely on more than pages: bytes that are checked, words that forbid changes, logins."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os

import pytest

from tests.end_to_end.pair import Asked, all_three, run, until
from tests.end_to_end.test_page_load import PHOTO
from wire.fields import Headers

PAGE = b"<!doctype html><html><head><title>t</title></head><body>hello</body></html>"
NO_TRANSFORM = ("cache-control", "max-age=60, no-transform")


def test_a_page_that_may_not_be_transformed_stays_as_it_is() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/free", PAGE)
            origin.serve("/bound", PAGE, headers=[NO_TRANSFORM])
            origin.serve("/saved", PAGE, headers=[("content-disposition", "attachment")])
            base, browser = origin.base, both.browser
            assert b"<script" in (await browser.navigate(base + "/free")).body
            for path in ("/bound", "/saved"):
                answer = await browser.navigate(base + path)
                assert answer.body == PAGE
            asked = await browser.get(
                base + "/free", [*browser.navigation(), ("cache-control", "no-transform")]
            )
            assert asked.body == PAGE
            assert origin.asked[-1].header("cache-control") == "no-transform"

    run(go())


def test_a_picture_that_may_not_be_transformed_has_no_levels() -> None:
    photo = PHOTO.read_bytes()

    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/", b'<img src="/bound.jpg"><img src="/free.jpg">')
            origin.serve("/bound.jpg", photo, "image/jpeg", headers=[NO_TRANSFORM])
            origin.serve("/free.jpg", photo, "image/jpeg")
            page, browser = origin.base + "/", both.browser
            await browser.navigate(page)
            assert (await browser.image(origin.base + "/bound.jpg", page)).body == photo
            wanted = [*browser.picture(page), ("cache-control", "no-transform")]
            for target in ("/free.jpg", "/free.jpg?2"):
                assert (await browser.get(origin.base + target, wanted)).body == photo

    run(go())


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfvar a = '\xe4\xff\x00';\r\n\r\n",
        os.urandom(100_000),
        b"",
        b"x" * 200_000,
        b"<!-- <script> -->\n" * 1000,
    ],
)
def test_what_pages_check_by_hash_comes_bit_by_bit(data: bytes) -> None:
    """Subresource Integrity of scripts and styles, asked for and promised."""

    async def go() -> None:
        async with all_three() as (origin, both):
            digest = base64.b64encode(hashlib.sha384(data).digest()).decode()
            origin.serve(
                "/",
                f'<link rel="stylesheet" href="/s.css" integrity="sha384-{digest}">'
                f'<script src="/s.js" integrity="sha384-{digest}"></script>'.encode(),
            )
            origin.serve("/s.css", data, "text/css")
            origin.serve("/s.js", data, "text/javascript; charset=utf-16")
            origin.serve("/worker.js", data, "text/javascript")
            page, browser = origin.base + "/", both.browser
            await browser.navigate(page)
            assert (await browser.style(origin.base + "/s.css", page)).body == data
            assert (await browser.script(origin.base + "/s.js", page)).body == data
            worker = await browser.get(
                origin.base + "/worker.js", [*browser.part(page), ("service-worker", "script")]
            )
            assert worker.body == data
            assert origin.asked[-1].header("service-worker") == "script"

    run(go())


@pytest.mark.parametrize(
    ("kept", "asks"),
    [([], []), ([("cache-control", "no-cache")], []),
     ([("cache-control", "max-age=60")], [("cache-control", "no-cache")])],
)  # fmt: skip
def test_who_asks_again_hears_what_has_changed(kept: Headers, asks: Headers) -> None:
    """A promise is for one request; what it brought answers others only where a cache might."""

    async def go() -> None:
        async with all_three() as (origin, both):
            states = [b"first", b"second", b"third"]
            origin.serve("/", b'<script src="/state.js"></script>')

            async def state(asked: Asked) -> None:
                await asked.answer(states.pop(0), "text/javascript", headers=kept)

            origin.paths["/state.js"] = state
            page, url, browser = origin.base + "/", origin.base + "/state.js", both.browser
            await browser.navigate(page)
            assert (await browser.script(url, page)).body == b"first"
            for expected in (b"second", b"third"):
                again = await browser.get(url, [*browser.part(page), *asks])
                assert again.body == expected

    run(go())


def test_logins_are_passed_on_and_not_shared() -> None:
    """A promise that was fetched without a login does not answer a request that has one."""

    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/", b'<script src="/mine.js"></script>')

            async def mine(asked: Asked) -> None:
                user = asked.header("authorization")
                if not user:
                    challenge = [("www-authenticate", 'Digest realm="x", nonce="y", qop="auth"'),
                                 ("www-authenticate", 'Basic realm="x"')]  # fmt: skip
                    await asked.answer(b"who?", "text/plain", status=401, headers=challenge)
                else:
                    await asked.answer(user.encode(), "text/javascript")

            origin.paths["/mine.js"] = mine
            page, browser = origin.base + "/", both.browser
            await browser.navigate(page)
            url = origin.base + "/mine.js"
            refused = await browser.script(url, page)
            assert (refused.status, refused.body) == (401, b"who?")
            assert refused.header("www-authenticate").count("realm") == 2
            for user in ("Basic bWU6eA==", "Basic eW91Ong="):
                answer = await browser.get(url, [*browser.part(page), ("authorization", user)])
                assert (answer.status, answer.body) == (200, user.encode())
            assert (await browser.script(url, page)).status == 401

    run(go())


def test_a_long_poll_is_answered_when_there_is_news_and_hinders_nobody() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            news = asyncio.Event()

            async def poll(asked: Asked) -> None:
                await news.wait()
                await asked.answer(b'{"news": 1}', "application/json")

            origin.paths["/poll"] = poll
            origin.serve("/other", b"other", "text/plain")
            waiting = asyncio.ensure_future(both.client.get(origin.base + "/poll"))
            await until(lambda: origin.counts()["/poll"] == 1)
            assert (await both.client.get(origin.base + "/other")).body == b"other"
            assert not waiting.done()
            news.set()
            assert (await waiting).body == b'{"news": 1}'

    run(go())


def test_a_video_is_sought_in_by_ranges() -> None:
    async def go() -> None:
        film = os.urandom(3 << 20)
        async with all_three() as (origin, both):

            async def part(asked: Asked) -> None:
                first = int(asked.header("range").removeprefix("bytes=").partition("-")[0])
                span = f"bytes {first}-{len(film) - 1}/{len(film)}"
                await asked.answer(
                    film[first:], "video/mp4", status=206, headers=[("content-range", span)]
                )

            origin.paths["/film.mp4"] = part
            for at in (0, 2 << 20, 1 << 20, len(film) - 1):
                fields = [("accept", "*/*"), ("range", f"bytes={at}-"), ("sec-fetch-dest", "video")]
                async with both.client.open(origin.base + "/film.mp4", fields) as answer:
                    assert answer.status == 206
                    assert answer.header("content-range").startswith(f"bytes {at}-")
                    assert film[at:].startswith(await anext(answer.stream))
            await until(lambda: both.session.statistics().deliveries == 0)

    run(go())
