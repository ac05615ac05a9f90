"""A picture that a page shows and a script fetches crosses the link once where it can."""

from __future__ import annotations

import hashlib
import io
import random

import pytest
from PIL import Image

from bench.browsers.cdp import find_chromium
from tests.end_to_end.pair import Broken, FakeOrigin, Pair, all_three, run, slow_three, until
from tests.end_to_end.test_https_chromium import picture, tab_through

FRESH = [("cache-control", "max-age=600"), ("etag", '"1"'), ("x-own", "yes")]


def painting(size: tuple[int, int] = (400, 300)) -> bytes:
    """A WebP: its low level goes in front, and its own bytes behind."""
    noise = Image.frombytes("RGB", (64, 48), random.Random(7).randbytes(64 * 48 * 3))
    out = io.BytesIO()
    noise.resize(size, Image.Resampling.BICUBIC).save(out, "WEBP", quality=90)
    return out.getvalue()


def serve(origin: FakeOrigin, file: bytes, kind: str = "image/webp") -> str:
    origin.serve("/", b"<!doctype html><img src=/a width=400 height=300><p>text")
    origin.serve("/a", file, kind, headers=FRESH)
    return origin.base + "/"


async def fetched(both: Pair, page: str, *more: tuple[str, str]) -> bytes:
    """What a script of the page gets, and as whose answer."""
    answer = await both.client.get(page + "a", [*both.browser.part(page), *more])
    assert (answer.status, answer.header("etag"), answer.header("x-own")) == (200, '"1"', "yes")
    assert answer.header("content-length") == str(len(answer.body))
    return answer.body


@pytest.mark.parametrize("shown_first", [True, False])
def test_a_script_gets_the_origins_bytes_of_what_is_here_already(shown_first: bool) -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            file = painting()
            page = serve(origin, file)
            await both.browser.navigate(page)
            if shown_first:
                await both.browser.image(page + "a", page)
            assert await fetched(both, page) == file
            await both.browser.image(page + "a", page)
            assert await fetched(both, page) == file
            assert origin.counts()["/a"] == 1

    run(go())


def test_a_script_gets_them_as_they_come_whatever_a_policy_puts_off() -> None:
    async def go() -> None:
        async with slow_three() as (origin, remote, both):
            file = painting((900, 700))
            page = serve(origin, file)
            await both.browser.navigate(page)
            async with both.client.open(page + "a", both.browser.picture(page)) as shown:
                assert shown.status == 200
                assert await fetched(both, page) == file
            assert origin.counts()["/a"] == 1
            (session,) = remote.sessions
            assert session.statistics().payload_sent < 1.2 * len(file)

    run(go())


@pytest.mark.parametrize("shown_first", [True, False])
def test_a_file_that_crosses_in_other_bytes_is_made_again_of_them(shown_first: bool) -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            file = picture()
            page = serve(origin, file, "image/jpeg")
            await both.browser.navigate(page)
            if shown_first:
                await both.browser.image(page + "a", page)
            assert await fetched(both, page) == file
            assert origin.counts()["/a"] == 1
            assert both.local.export.statistics().restored == 1

    run(go())


def test_a_file_that_can_not_be_made_again_is_asked_for_anew() -> None:
    async def go() -> None:
        async with all_three(jpegtran=None) as (origin, both):
            file = picture()
            page = serve(origin, file, "image/jpeg")
            await both.browser.navigate(page)
            await both.browser.image(page + "a", page)
            assert await fetched(both, page) == file
            assert origin.counts()["/a"] <= 2

    run(go())


def test_a_request_that_is_another_to_the_origin_is_asked_for_anew() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = serve(origin, painting())
            await both.browser.navigate(page)
            await both.browser.image(page + "a", page)
            for count, more in enumerate([("origin", page[:-1]), ("cookie", "a=1")], 2):
                await fetched(both, page, more)
                assert origin.counts()["/a"] == count
            await fetched(both, page, ("cache-control", "no-cache"))
            assert origin.counts()["/a"] == 4

    run(go())


def test_a_picture_that_breaks_off_is_never_a_whole_file() -> None:
    async def go() -> None:
        async with slow_three(patience=0.2) as (origin, remote, both):
            page = serve(origin, painting((900, 700)))
            await both.browser.navigate(page)
            with pytest.raises(Broken):
                async with both.client.open(page + "a", both.browser.part(page)) as answer:
                    assert answer.status == 200
                    await anext(aiter(answer.stream))
                    await remote.stop()
                    async for _ in answer.stream:
                        pass

    run(go())


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
def test_a_page_in_chromium_shows_and_fetches_a_picture_for_the_price_of_one() -> None:
    async def go() -> None:
        async with (
            slow_three() as (origin, remote, both),
            tab_through(both, "none") as tab,
        ):
            file = painting((900, 700))
            serve(origin, file)
            origin.serve(
                "/",
                b"""<!doctype html><img src=/a width=400 height=300><script>
                fetch("/a").then(r => r.arrayBuffer()).then(async bytes => {
                  window.size = bytes.byteLength;
                  const hash = await crypto.subtle.digest("SHA-256", bytes);
                  document.title = Array.from(new Uint8Array(hash),
                    byte => byte.toString(16).padStart(2, "0")).join("");
                })</script>""",
            )
            await tab.call("Page.enable")
            await tab.call("Page.navigate", url=origin.base + "/")
            wanted = hashlib.sha256(file).hexdigest()
            while await tab.evaluate("document.title") != wanted:
                pass
            await until(lambda: not both.local.export.statistics().coarse)
            assert origin.counts()["/a"] == 1
            (session,) = remote.sessions
            assert session.statistics().payload_sent < 1.2 * len(file)

    run(go(), timeout=60)
