"""Photos cross the link arithmetic-coded; whoever asks gets them Huffman-coded, pixel for pixel."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from local_proxy.link.components import Component
from tests.end_to_end.pair import (
    Answer,
    Browser,
    Pair,
    all_three,
    run,
    slow_three,
    until,
)
from tests.end_to_end.test_page_load import PHOTO, refined, same_pixels, site_of
from transcoders.formats.scans import parse
from wire.abilities import ARITHMETIC

JPEGTRAN = shutil.which("jpegtran")
pytestmark = pytest.mark.skipif(JPEGTRAN is None, reason="jpegtran is not installed")
ARITHMETIC_FRAME, HUFFMAN_FRAME, SEQUENTIAL = 0xCA, 0xC2, 0xC0
SHOWN = {SEQUENTIAL, HUFFMAN_FRAME}
"""Frames of what a device hands out: an enlarged sketch, then prefixes."""


class Recorder(Browser):
    """Keeps the pictures that it was given."""

    def __init__(self, both: Pair) -> None:
        super().__init__(both.address)
        self.pictures: list[bytes] = []

    async def image(self, url: str, page: str) -> Answer:
        answer = await super().image(url, page)
        self.pictures.append(answer.body)
        return answer


def on_the_link(both: Pair, url: str) -> Component:
    """The promised component, its bytes as they came."""
    (found,) = (c for c in both.local.components.of(1) if c.url == url and c.promised)
    return found


def own(component: Component) -> bytes:
    """The picture itself as it came, without the sketch in front of it."""
    assert component.levels[0].sketch
    return bytes(component.data[component.levels[-1].start :])


async def started(both: Pair, browser: Browser, page: str, base: str) -> None:
    """The page is loaded and its driver runs."""
    html = (await browser.navigate(page)).body
    tag = html.split(b'<script src="')[1].split(b'"')[0].decode()
    await browser.script(base + tag, page)


async def refined_over_a_slow_link(**settings: Any) -> tuple[Recorder, Component]:
    async with slow_three(**settings) as (origin, _, both):
        page = site_of(origin)
        browser = Recorder(both)
        html = (await browser.navigate(page)).body
        final, levels = await refined(browser, origin.base, page, html)
        assert levels >= 2
        assert same_pixels(final, PHOTO.read_bytes())
        assert origin.counts()["/a.jpg"] == 1
        return browser, on_the_link(both, origin.base + "/a.jpg")


def test_a_swapped_picture_is_arithmetic_on_the_link_and_huffman_in_hand() -> None:
    async def go() -> None:
        browser, component = await refined_over_a_slow_link()
        assert component.coding == ARITHMETIC
        assert parse(own(component)).frame == ARITHMETIC_FRAME
        assert len(own(component)) < 0.95 * PHOTO.stat().st_size
        assert len(component.data) < PHOTO.stat().st_size
        assert {parse(file).frame for file in browser.pictures} == SHOWN

    run(go())


def test_a_device_without_the_tool_gets_huffman_over_the_link() -> None:
    async def go() -> None:
        browser, component = await refined_over_a_slow_link(jpegtran=None)
        assert component.coding == ""
        assert parse(own(component)).frame == HUFFMAN_FRAME
        assert {parse(file).frame for file in browser.pictures} == SHOWN

    run(go())


def test_a_page_whose_driver_never_comes_gets_one_response() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = site_of(origin)
            await both.browser.navigate(page)
            answer = await both.browser.image(origin.base + "/a.jpg", page)
            assert on_the_link(both, origin.base + "/a.jpg").coding == ARITHMETIC
            assert parse(answer.body).frame == HUFFMAN_FRAME
            assert same_pixels(answer.body, PHOTO.read_bytes())
            assert origin.counts()["/a.jpg"] == 1

    run(go())


@pytest.mark.parametrize("export", ["stream", "auto"])
def test_pictures_that_are_streamed_stay_huffman(export: str) -> None:
    """All of them, or those that no script can swap."""

    async def go() -> None:
        async with all_three(export=export) as (origin, both):
            page = site_of(origin)
            origin.serve("/s.css", b"body { background: url(/c.jpg) }", "text/css")
            origin.serve("/c.jpg", PHOTO.read_bytes(), "image/jpeg")
            await both.browser.navigate(page)
            name = "/a.jpg" if export == "stream" else "/c.jpg"
            await until(lambda: both.local.components.find(1, origin.base + name))
            answer = await both.browser.image(origin.base + name, page)
            component = on_the_link(both, origin.base + name)
            assert component.levels
            assert component.coding == ""
            assert answer.body == bytes(component.data[: component.levels[-1].end])  # then a recipe

    run(go())


def test_multipart_carries_huffman_parts() -> None:
    async def go() -> None:
        async with all_three(export="multipart") as (origin, both):
            page = site_of(origin)
            await both.browser.navigate(page)
            answer = await both.browser.image(origin.base + "/a.jpg", page)
            assert on_the_link(both, origin.base + "/a.jpg").coding == ARITHMETIC
            files = [answer.body]
            if answer.header("content-type").startswith("multipart/"):
                parts = answer.body.split(b"\r\n\r\n")[1:]
                files = [part.split(b"\r\n--sluice-level")[0] for part in parts]
            assert {parse(file).frame for file in files} <= SHOWN
            assert same_pixels(files[-1], PHOTO.read_bytes())

    run(go())


def test_a_tool_that_fails_later_costs_a_fetch_and_no_picture(tmp_path: Path) -> None:
    """It works on the tiny picture of the probe and on no other."""
    tool = tmp_path / "jpegtran"
    tool.write_text(
        "#!/bin/sh\n"
        f"cat > {tmp_path}/input.$$\n"
        f"[ $(wc -c < {tmp_path}/input.$$) -lt 1000 ] || exit 1\n"
        f'exec {JPEGTRAN} "$@" < {tmp_path}/input.$$\n'
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)

    async def go() -> None:
        async with all_three(jpegtran=str(tool)) as (origin, both):
            page = site_of(origin)
            await started(both, both.browser, page, origin.base)
            component = on_the_link(both, origin.base + "/a.jpg")
            await until(lambda: component.complete)  # before, its sketch would be the answer
            answer = await both.browser.image(origin.base + "/a.jpg", page)
            assert component.coding == ARITHMETIC
            assert answer.body == PHOTO.read_bytes()
            assert origin.counts()["/a.jpg"] == 2

    run(go())


@pytest.mark.parametrize("coarse", [False, True], ids=["begun", "coarse"])
def test_a_picture_goes_on_after_the_remote_was_restarted(coarse: bool) -> None:
    """The rest is asked for with the digest of what is here: it is made the same again."""

    async def go() -> None:
        async with slow_three(patience=10.0) as (origin, remote, both):
            page = site_of(origin)
            await both.browser.navigate(page)
            component = on_the_link(both, origin.base + "/a.jpg")
            await until(component.reached if coarse else lambda: component.received)
            assert component.levels[0].sketch
            assert not component.complete
            await remote.stop()
            await remote.start()
            answer = await both.browser.image(origin.base + "/a.jpg", page)
            await until(lambda: component.complete)  # its recipe was made the same again, too
            assert component.restorable
            assert component.coding == ARITHMETIC
            assert parse(answer.body).frame == HUFFMAN_FRAME
            assert same_pixels(answer.body, PHOTO.read_bytes())
            assert origin.counts()["/a.jpg"] == 2

    run(go())
