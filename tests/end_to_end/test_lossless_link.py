"""PNGs of <img> cross the link as lossless WebP; who is not shown one, or keeps it, has the PNG."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from local_proxy.link.components import Component
from tests.end_to_end.client import PAGES
from tests.end_to_end.pair import Answer, Pair, all_three, run, until
from tests.end_to_end.test_arithmetic_link import started
from wire.fields import Headers

SCREEN = Path(__file__).parents[2] / "demo" / "site" / "news" / "img" / "screen.png"
PAGE = b"<!doctype html><link rel=stylesheet href=/s.css><p>Text<img src=/a.png>"
STYLE = b"body { background: url(/b.png) }"


KEPT = [("cache-control", "max-age=60"), ("etag", '"1"'), ("accept-ranges", "bytes")]


def by_zlib() -> bytes:
    """The same picture in a PNG that has a recipe; the sample was written by no zlib."""
    out = io.BytesIO()
    Image.open(SCREEN).save(out, "PNG")
    return out.getvalue()


def rgba(data: bytes) -> bytes:
    return Image.open(io.BytesIO(data)).convert("RGBA").tobytes()


def assert_nobody_keeps(answer: Answer) -> None:
    """It is not called by the origin's validators, nor told that parts of it can be had."""
    assert answer.header("cache-control") == "no-store"
    assert {name for name, _ in KEPT} & {name for name, _ in answer.headers} == {"cache-control"}


async def found(both: Pair, url: str, *, document: int = 1) -> Component:
    """The promised component, all of it here."""
    await until(lambda: both.local.components.find(document, url))
    component = both.local.components.find(document, url)
    assert component is not None
    await until(lambda: component.complete)
    return component


@pytest.mark.parametrize("driver", [False, True])
@pytest.mark.parametrize("export", ["auto", "multipart"])
def test_a_picture_of_an_img_is_webp_on_the_link_and_all_others_get_the_png(
    export: str, driver: bool
) -> None:
    async def go() -> None:
        async with all_three(export=export) as (origin, both):
            png = by_zlib()
            origin.serve("/page", PAGE, "text/html; charset=utf-8")
            origin.serve("/s.css", STYLE, "text/css")
            for name in ("/a.png", "/b.png"):
                origin.serve(name, png, "image/png", headers=KEPT)
            page = origin.base + "/page"
            if driver:
                await started(both, both.browser, page, origin.base)
            else:
                await both.browser.navigate(page)
            component = await found(both, origin.base + "/a.png")
            assert component.levels[-1].content_type == "image/webp"
            assert component.received < 0.8 * len(png)
            behind = await found(both, origin.base + "/b.png")
            assert (behind.levels, bytes(behind.data)) == ((), png)

            answer = await both.browser.image(origin.base + "/a.png", page)
            if driver:  # which has the PNG kept, once its pixels are shown
                assert answer.header("content-type") == "image/webp"
                assert rgba(answer.body) == rgba(png)
                assert_nobody_keeps(answer)
            else:
                assert answer.body == png
                for name, value in (*KEPT, ("content-type", "image/png")):
                    assert answer.header(name) == value
            assert origin.counts()["/a.png"] == 1
            assert (await both.browser.image(origin.base + "/b.png", page)).body == png
            # A script that reads it, a program that keeps it.
            asked = await both.browser.get(origin.base + "/a.png", both.browser.part(page))
            kept = await both.client.get(origin.base + "/a.png")
            assert asked.body == kept.body == png
            assert asked.header("content-type") == kept.header("content-type") == "image/png"

    run(go())


@pytest.mark.parametrize("headers", [KEPT, [("cache-control", "no-store")], []])
def test_without_a_recipe_what_may_be_kept_comes_as_it_is_all_else_as_webp(
    headers: Headers,
) -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            png = SCREEN.read_bytes()
            origin.serve("/page", PAGE, "text/html; charset=utf-8")
            origin.serve("/s.css", STYLE, "text/css")
            origin.serve("/a.png", png, "image/png", headers=headers)
            page = origin.base + "/page"
            await both.browser.navigate(page)
            component = await found(both, origin.base + "/a.png")
            answer = await both.browser.image(origin.base + "/a.png", page)
            assert rgba(answer.body) == rgba(png)
            if headers == KEPT:
                assert component.identical
                assert answer.body == png
                for name, value in KEPT:
                    assert answer.header(name) == value
            else:
                assert component.levels[-1].content_type == "image/webp"
                assert not component.restorable
                assert_nobody_keeps(answer)

    run(go())


@pytest.mark.parametrize("why", ["not taken", "no-transform", "streamed"])
def test_who_may_not_have_it_gets_the_png(why: str) -> None:
    async def go() -> None:
        async with all_three(export="stream" if why == "streamed" else "auto") as (origin, both):
            png = SCREEN.read_bytes()
            headers = [("cache-control", "max-age=60, no-transform")]
            origin.serve("/page", PAGE, "text/html; charset=utf-8")
            origin.serve("/s.css", STYLE, "text/css")
            origin.serve(
                "/a.png", png, "image/png", headers=headers if why == "no-transform" else ()
            )
            page = origin.base + "/page"
            accept = PAGES.replace("image/webp,", "") if why == "not taken" else PAGES
            fields = [(n, accept if n == "accept" else v) for n, v in both.browser.navigation()]
            await both.browser.get(page, fields)
            component = await found(both, origin.base + "/a.png")
            whole = component.levels[-1] if component.levels else None
            assert (component.file(whole) if whole else bytes(component.data)) == png

    run(go())
