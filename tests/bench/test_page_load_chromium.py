"""A real load of a sample page, unshaped: Chromium where there is one; the scripted client."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from bench.browsers.capture import INTERVAL, interval
from bench.browsers.cdp import BrowserError, arguments, find_chromium, launch
from bench.browsers.visual import PictureState, reached
from bench.origins.endpoint import PageAccess, no_link
from bench.origins.scripted import Resource, resources_of
from bench.origins.scripted import load as load_by_script
from bench.origins.site import Address, spawn
from bench.pages.page_load import load, study
from bench.pages.page_result import PageLoad
from bench.reports.har import encode
from bench.scenarios.pages.page_load import SITE

needs_chromium = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")


def straight(origin: Address) -> PageAccess:
    """The origin under a host name of its own, with no link between."""
    return PageAccess(
        "http://site.test/", no_link, resolve={"site.test": f"{origin[0]}:{origin[1]}"}
    )


@needs_chromium
def test_the_article_loads_and_every_figure_is_there() -> None:
    async def go() -> PageLoad:
        async with spawn(SITE) as origin:
            endpoint = straight(origin)
            known = await study(endpoint, "article/index.html")
            assert len(known.scene.boxes) == 4
            assert known.text_length > 20_000
            return await load(endpoint, known, peer="direct", quiet=0.3)

    result = asyncio.run(go())
    figures = result.as_json()
    assert 0 < figures["text_s"] < 60
    assert 0 < figures["load_s"] < 60
    assert figures["painted_s"] <= figures["good_s"] <= figures["final_s"] < 60
    assert reached(result.moments, PictureState.FINAL) == pytest.approx(
        figures["final_s"], abs=0.001
    )
    assert 0 < figures["speed_index_s"] < 60
    assert 0 < figures["first_paint_s"] <= figures["final_s"]
    # Of the page's texts too: no earlier than the first paint, but maybe after the last picture.
    assert figures["first_paint_s"] <= figures["pixels_90_s"] < 60
    assert result.moments[-1].pixels > 0.99
    assert figures["pictures_over_time"][-1][1:] == [1.0, 1.0, 1.0]
    assert figures["chatter"]["through_proxy"] == 0
    archive = json.loads(encode([result.requests]))["log"]
    urls = [entry["request"]["url"] for entry in archive["entries"]]
    assert urls[0] == "http://site.test/article/index.html"
    assert sum(url.endswith(".jpg") for url in urls) == 4
    assert all(entry["response"]["content"]["size"] > 0 for entry in archive["entries"])


@needs_chromium
def test_the_caller_s_own_exception_comes_through_and_chromium_is_gone() -> None:
    async def go() -> None:
        async with launch() as browser:
            tab = await browser.new_tab()
            assert await tab.evaluate("1 + 1") == 2
            with pytest.raises(BrowserError, match="boom"):
                await tab.evaluate("(() => { throw new Error('boom') })()")
            with pytest.raises(BrowserError, match="wasn't found"):
                await tab.call("No.suchMethod")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(go())


@needs_chromium
def test_chromium_gets_no_more_of_the_processors_than_a_user_s() -> None:
    """Root's would draw at nice -8."""

    async def go() -> list[int]:
        async with launch() as browser:
            tab = await browser.new_tab()
            await tab.evaluate("document.body.append('drawn')")
            known = await browser.call("SystemInfo.getProcessInfo")
            tasks = [Path("/proc", str(one["id"]), "task") for one in known["processInfo"]]
            threads = [int(one.name) for folder in tasks for one in folder.iterdir()]
            return [os.getpriority(os.PRIO_PROCESS, thread) for thread in threads]

    nice = asyncio.run(go())
    assert len(nice) > 20
    assert min(nice) >= os.getpriority(os.PRIO_PROCESS, 0)


def test_a_browser_that_does_not_start_says_why(tmp_path: pytest.TempPathFactory) -> None:
    async def go(path: str) -> None:
        async with launch(executable=path):
            pass

    with pytest.raises(BrowserError, match="did not start"):
        asyncio.run(go("/bin/false"))


def test_a_proxy_gets_loopback_but_not_the_vendor_s_hosts() -> None:
    flags = arguments(profile="/p", proxy="http://127.0.0.1:1", resolve={}, root=False)
    assert "--proxy-server=http://127.0.0.1:1" in flags
    bypass = next(flag for flag in flags if flag.startswith("--proxy-bypass-list="))
    assert "<-loopback>" in bypass
    assert "*.googleapis.com" in bypass
    assert "start.duckduckgo.com" in bypass
    assert "--no-sandbox" not in flags


def test_names_resolve_to_what_was_said_and_nothing_else() -> None:
    flags = arguments(profile="/p", proxy=None, resolve={"site.test": "127.0.0.1:9"}, root=True)
    rules = next(flag for flag in flags if flag.startswith("--host-resolver-rules="))
    assert "MAP site.test 127.0.0.1:9,MAP * ~NOTFOUND" in rules
    assert {"--no-proxy-server", "--no-sandbox"} <= set(flags)


def test_frames_of_a_long_load_are_further_apart() -> None:
    assert interval(0) == INTERVAL
    assert interval(60) == pytest.approx(0.9)


def test_the_scripted_client_measures_the_news_page() -> None:
    async def go() -> dict[str, object]:
        async with spawn(SITE) as origin:
            endpoint = straight(origin)
            return await load_by_script(
                endpoint, endpoint, "news/index.html", peer="direct", policy=""
            )

    figures = asyncio.run(go())
    assert figures["peer"] == "direct"
    assert figures["final_s"] is not None
    assert figures["good_s"] is None
    assert 0 < figures["text_s"] <= figures["load_s"]  # type: ignore[operator]
    assert figures["painted_s"] <= figures["final_s"]  # type: ignore[operator]


def test_a_page_s_resources_come_in_document_order_once() -> None:
    page = b"""<link rel=icon href=i.svg><link rel="STYLESHEET" href=/s.css><img src=a.jpg>
        <img src="data:image/gif;base64,R0"><img><script src=x.js></script><img src=a.jpg>"""
    assert resources_of(page, "http://h/d/") == [
        Resource("style", "http://h/s.css"),
        Resource("image", "http://h/d/a.jpg"),
        Resource("script", "http://h/d/x.js"),
    ]
    assert resources_of(b"", "http://h/") == []
