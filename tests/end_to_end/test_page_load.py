"""The main job: a page and its parts through both proxies."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from bench.origins.site import serve
from tests.end_to_end.pair import (
    Asked,
    Browser,
    FakeOrigin,
    all_three,
    pair,
    run,
    slow_three,
    until,
)
from tests.local_proxy.export_world import driver_in

SITE = Path(__file__).parents[2] / "demo" / "site"
FILES = sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*") if path.is_file())
PHOTO = SITE / "news" / "img" / "01-skylight.jpg"
PAGE = b"<!doctype html><html><head><link rel=stylesheet href=/s.css></head><body>Text"


def pixels(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def same_pixels(one: bytes, other: bytes) -> bool:
    return ImageChops.difference(pixels(one), pixels(other)).getbbox() is None


def site_of(origin: FakeOrigin) -> str:
    """A page with a sheet, a script and two pictures; its URL."""
    origin.serve(
        "/page",
        b"<!doctype html><html><head><link rel=stylesheet href=/s.css><script src=/x.js></script>"
        b"</head><body>Text<img src=/a.jpg><img src=/b.jpg></body></html>",
        "text/html; charset=utf-8",
    )
    origin.serve("/s.css", b"body { color: red; background: url(/c.png) }", "text/css")
    origin.serve("/x.js", b"let x = 1", "text/javascript")
    origin.serve("/a.jpg", PHOTO.read_bytes(), "image/jpeg")
    origin.serve("/b.jpg", (SITE / "news/img/03-space.jpg").read_bytes(), "image/jpeg")
    origin.serve("/c.png", (SITE / "news/img/screen.png").read_bytes(), "image/png")
    return origin.base + "/page"


def test_a_navigation_gets_the_driver_and_a_plain_client_does_not() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = site_of(origin)
            plain = await both.client.get(page)
            shown = await both.browser.navigate(page)
            assert b"sluice" not in plain.body
            assert b"/.well-known/sluice/" in shown.body
            injected = shown.body.index(b'<script src="/.well-known')
            end = shown.body.index(b"</script>", injected) + len(b"</script>")
            assert shown.body[:injected] + shown.body[end:] == plain.body

    run(go())


def test_what_is_promised_is_asked_for_once() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = site_of(origin)
            browser = both.browser
            await browser.navigate(page)
            sheet = await browser.style(origin.base + "/s.css", page)  # names /c.png
            answers = await asyncio.gather(
                browser.script(origin.base + "/x.js", page),
                browser.image(origin.base + "/a.jpg", page),
                browser.image(origin.base + "/b.jpg", page),
                browser.image(origin.base + "/c.png", page + "/../s.css"),
            )
            assert [answer.status for answer in (sheet, *answers)] == [200] * 5
            assert set(origin.counts().values()) == {1}
            assert len(origin.counts()) == 6

    run(go())


def test_a_picture_is_coarse_at_first_and_the_origin_s_pixels_at_last() -> None:
    """As the driver does it: the tag in the page, the event channel, each level by its address."""

    async def go() -> None:
        async with slow_three() as (origin, _, both):
            page = site_of(origin)
            html = (await both.browser.navigate(page)).body
            final, levels = await refined(both.browser, origin.base, page, html)
            assert levels >= 2
            assert same_pixels(final, PHOTO.read_bytes())
            (photo,) = (c for c in both.local.components.of(1) if c.url.endswith("/a.jpg"))
            assert photo.levels[0].end < PHOTO.stat().st_size / 8  # what it took to be coarse
            assert origin.counts()["/a.jpg"] == 1

    run(go())


def test_what_nothing_can_take_the_place_of_is_not_shown_coarse() -> None:
    """A PNG in a style sheet over http: a version of it would be sent for nothing."""

    async def go() -> None:
        async with slow_three() as (origin, _, both):
            page = site_of(origin)
            await both.browser.navigate(page)
            sheet = origin.base + "/s.css"
            await both.browser.style(sheet, page)
            answer = await both.browser.image(origin.base + "/c.png", sheet)
            picture = (SITE / "news/img/screen.png").read_bytes()
            assert answer.body == picture
            known = both.known(origin.base + "/c.png")
            assert (known.levels, known.carried) == ((), len(picture))

    run(go())


def natural_size(file: bytes) -> tuple[int, int]:
    """As browsers have it (HTML, "density-corrected natural width and height")."""
    image = Image.open(io.BytesIO(file))
    exif = image.getexif()
    claimed = tuple(exif.get_ifd(0x8769).get(tag, 0) for tag in (0xA002, 0xA003))
    dots = [72 / float(exif.get(tag, 72)) for tag in (0x011A, 0x011B)]
    corrected = round(image.width * dots[0]), round(image.height * dots[1])
    return corrected if exif.get(0x0128) == 2 and corrected == claimed else image.size


async def refined(browser: Browser, base: str, page: str, html: bytes) -> tuple[bytes, int]:
    """The last level of /a.jpg and how many there were, the first one in the response itself."""
    tag = html.split(b'<script src="')[1].split(b'"')[0].decode()
    driver = await browser.script(base + tag, page)
    given = driver_in(driver.body)
    assert given is not None
    first = await browser.image(base + "/a.jpg", page)
    assert (first.status, first.header("cache-control")) == (200, "no-store")
    assert natural_size(first.body) == pixels(PHOTO.read_bytes()).size
    assert not same_pixels(first.body, PHOTO.read_bytes())
    shown, levels = first, 1
    events_at, said = f"{base}/.well-known/sluice/events", given.key.encode()
    async with browser.open(events_at, browser.part(page), method="POST", body=said) as events:
        async for line in lines(events.stream):
            step = json.loads(line[6:]) if line.startswith(b"data: {") else {}
            if step.get("u") == base + "/a.jpg":
                mark = f"sluice-level={given.name}.{step['c']}.{step['l']}"
                shown = await browser.image(f"{base}/a.jpg?{mark}", page)
                assert shown.status == 200
                levels += 1
                if step["l"] == "original":
                    break
    return shown.body, levels


async def lines(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in stream:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line


@pytest.mark.parametrize("policy", ["original", "default"])
@pytest.mark.parametrize("packed", [True, False])
def test_plain_clients_get_the_origin_s_bytes(policy: str, packed: bool) -> None:
    async def go() -> None:
        async with serve(SITE, packed=packed) as (host, port), pair(policy=[policy]) as both:
            base = f"http://{host}:{port}/"
            for name in FILES:
                answer = await both.client.get(
                    base + name, [("accept", "*/*"), ("accept-encoding", "gzip")]
                )
                body = answer.body
                if answer.header("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                wanted = (SITE / name).read_bytes()
                assert answer.status == 200
                assert hashlib.sha256(body).digest() == hashlib.sha256(wanted).digest(), name
                if not answer.header("transfer-encoding"):
                    assert int(answer.header("content-length")) == len(answer.body)

    run(go())


@pytest.mark.parametrize(
    "extra",
    [
        [("accept", "*/*")],
        [("accept", "image/avif,image/*"), ("sec-fetch-dest", "empty")],
        [("accept", "image/avif,image/*"), ("range", "bytes=0-")],
    ],
)
@pytest.mark.parametrize("settings", [{}, {"jpegtran": None}], ids=["coded", "plain"])
def test_who_does_not_render_gets_a_promised_picture_s_own_bytes(
    extra: Any, settings: dict[str, Any]
) -> None:
    async def go() -> None:
        async with all_three(**settings) as (origin, both):
            page = site_of(origin)
            await both.browser.navigate(page)
            headers = [*both.browser.part(page)[:1], ("referer", page), *extra]
            answer = await both.client.get(origin.base + "/a.jpg", headers)
            assert answer.body == PHOTO.read_bytes()

    run(go())


def test_a_promise_that_became_304_can_be_had_whole_afterwards() -> None:
    """The browser had it in its cache, the promised bytes were called off, and then it asks."""

    async def go() -> None:
        async with all_three() as (origin, both):
            page = site_of(origin)
            slow = asyncio.Event()

            async def sheet(asked: Asked) -> None:
                await asked.send(
                    b'HTTP/1.1 200 X\r\ncontent-type: text/css\r\netag: "1"\r\n'
                    b"content-length: 4\r\n\r\n"
                )
                if origin.counts()["/s.css"] == 1:
                    await slow.wait()
                await asked.send(b"a {}")

            origin.paths["/s.css"] = sheet
            browser = both.browser
            await browser.navigate(page)
            part = browser.part(page, "text/css,*/*;q=0.1")
            cached = await browser.get(origin.base + "/s.css", [*part, ("if-none-match", '"1"')])
            assert cached.status == 304
            async with asyncio.timeout(60):
                assert (await browser.style(origin.base + "/s.css", page)).body == b"a {}"
            slow.set()

    run(go())


def test_a_cookie_that_the_page_set_goes_with_the_promise() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            site_of(origin)
            origin.serve("/page", PAGE, headers=[("set-cookie", "seen=1; Path=/")])
            page = origin.base + "/page"
            answer = await both.browser.navigate(page)
            assert answer.header("set-cookie") == "seen=1; Path=/"
            sheet = [*both.browser.part(page, "text/css,*/*;q=0.1"), ("cookie", "seen=1")]
            assert (await both.browser.get(origin.base + "/s.css", sheet)).status == 200
            assert origin.counts()["/s.css"] == 1
            (asked,) = (asked for asked in origin.asked if asked.target == "/s.css")
            assert asked.header("cookie") == "seen=1"

    run(go())


def test_another_cookie_or_a_varying_field_is_asked_for_anew() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = site_of(origin)

            async def sheet(asked: Asked) -> None:
                text = f"/* {asked.header('cookie')} {asked.header('x-mine')} */"
                await asked.answer(text.encode(), "text/css", headers=[("vary", "x-mine")])

            origin.paths["/s.css"] = sheet
            browser, url = both.browser, origin.base + "/s.css"
            await browser.navigate(page)
            await until(lambda: origin.counts()["/s.css"] == 1)
            mine = await browser.get(url, [*browser.part(page), ("cookie", "me=1")])
            other = await browser.get(url, [*browser.part(page), ("x-mine", "2")])
            assert (mine.body, other.body) == (b"/* me=1  */", b"/*  2 */")

    run(go())


def test_a_document_that_is_left_frees_both_sides() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = site_of(origin)
            stalled = asyncio.Event()

            async def never(asked: Asked) -> None:
                await asked.send(b"HTTP/1.1 200 X\r\ncontent-type: image/jpeg\r\n\r\n")
                await asked.send(PHOTO.read_bytes()[:2000])
                await stalled.wait()

            origin.paths["/a.jpg"] = never
            await both.browser.navigate(page)
            await until(lambda: origin.counts()["/a.jpg"])
            documents = list(both.local.documents)
            await until(lambda: both.session.statistics().deliveries == 1)
            both.local.events.close(documents[0].id)
            await until(lambda: both.session.statistics().deliveries == 0)
            assert both.session.budget.used == 0
            assert both.session.statistics().documents == 0
            stalled.set()

    run(go())


def test_a_download_outlives_the_page_that_began_it() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = site_of(origin)
            more = asyncio.Event()

            async def download(asked: Asked) -> None:
                await asked.send(
                    b"HTTP/1.1 200 X\r\ncontent-type: application/zip\r\n"
                    b"content-length: 6\r\n\r\nabc"
                )
                await more.wait()
                await asked.send(b"def")

            origin.paths["/d.zip"] = download
            browser = both.browser
            await browser.navigate(page)
            async with browser.open(origin.base + "/d.zip", browser.part(page)) as answer:
                assert await anext(answer.stream) == b"abc"
                for document in both.local.documents:
                    both.local.events.close(document.id)
                await asyncio.sleep(0.05)
                more.set()
                assert await anext(answer.stream) == b"def"
            await until(lambda: both.session.statistics().documents == 0)

    run(go())
