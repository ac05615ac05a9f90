"""PNGs of <img> cross the link as lossless WebP; whoever is not shown a picture gets the PNG."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from local_proxy.components import Component
from tests.end_to_end.client import _PAGES
from tests.end_to_end.pair import Pair, all_three, run, until

SCREEN = Path(__file__).parents[2] / "demo" / "site" / "news" / "img" / "screen.png"
PAGE = b"<!doctype html><link rel=stylesheet href=/s.css><p>Text<img src=/a.png>"
STYLE = b"body { background: url(/b.png) }"


def rgba(data: bytes) -> bytes:
    return Image.open(io.BytesIO(data)).convert("RGBA").tobytes()


async def found(both: Pair, url: str) -> Component:
    """The promised component, all of it here."""
    await until(lambda: both.local.components.find(1, url))
    component = both.local.components.find(1, url)
    assert component is not None
    await until(lambda: component.complete)
    return component


@pytest.mark.parametrize("export", ["auto", "multipart"])
def test_a_picture_of_an_img_is_webp_on_the_link_and_all_others_get_the_png(export: str) -> None:
    async def go() -> None:
        async with all_three(export=export) as (origin, both):
            png = SCREEN.read_bytes()
            origin.serve("/page", PAGE, "text/html; charset=utf-8")
            origin.serve("/s.css", STYLE, "text/css")
            for name in ("/a.png", "/b.png"):
                origin.serve(name, png, "image/png", headers=[("cache-control", "max-age=60")])
            page = origin.base + "/page"
            await both.browser.navigate(page)
            component = await found(both, origin.base + "/a.png")
            assert component.levels[-1].content_type == "image/webp"
            assert component.received < 0.8 * len(png)
            behind = await found(both, origin.base + "/b.png")
            assert behind.file(behind.levels[-1]) == png

            answer = await both.browser.image(origin.base + "/a.png", page)
            assert answer.header("content-type") == "image/webp"
            assert answer.header("cache-control") == "max-age=60"
            assert rgba(answer.body) == rgba(png)
            assert origin.counts()["/a.png"] == 1
            assert (await both.browser.image(origin.base + "/b.png", page)).body == png
            # A script that reads it, a program that keeps it.
            asked = await both.browser.get(origin.base + "/a.png", both.browser.part(page))
            kept = await both.client.get(origin.base + "/a.png")
            assert asked.body == kept.body == png
            assert asked.header("content-type") == kept.header("content-type") == "image/png"

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
            accept = _PAGES.replace("image/webp,", "") if why == "not taken" else _PAGES
            fields = [(n, accept if n == "accept" else v) for n, v in both.browser.navigation()]
            await both.browser.get(page, fields)
            component = await found(both, origin.base + "/a.png")
            whole = component.levels[-1] if component.levels else None
            assert (component.file(whole) if whole else bytes(component.data)) == png

    run(go())
