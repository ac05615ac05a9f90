"""A picture that was stopped at a coarse level becomes fine in the page that shows it."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat
from PIL.Image import Resampling

from bench.browsers.cdp import Tab, find_chromium, launch
from local_proxy.link.components import Component
from tests.end_to_end.pair import FakeOrigin, Pair, all_three, run, until
from tests.end_to_end.test_levels import ALL_OF_IT, NOTHING, PAGE, PHOTO, STOPS, policy

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
REST = 4.0
"""Seconds after which a page's driver has long closed its event channel, if nothing is to come."""


@asynccontextmanager
async def stopped(names: Sequence[str]) -> AsyncIterator[tuple[FakeOrigin, Pair, Tab, Component]]:
    """A page in a window whose picture has come as far as the plan lets it."""
    async with all_three(policy=names) as (origin, both):
        await until(lambda: len(both.local.runtime.rules) > 0)
        origin.serve("/", PAGE)
        origin.serve("/a.jpg", PHOTO, "image/jpeg")
        async with launch(proxy=f"http://{both.address[0]}:{both.address[1]}") as browser:
            tab = await browser.new_tab()
            await tab.call("Page.navigate", url=origin.base + "/")
            async with asyncio.timeout(60):
                while not await tab.evaluate("document.images[0]?.complete"):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            yield origin, both, tab, both.known(origin.base + "/a.jpg")


async def error(tab: Tab) -> float:
    """How far the picture as it is shown is from the original, 0 to 255 in the mean."""
    box = {"x": 8, "y": 8, "width": 640, "height": 480, "scale": 1}
    shot = await tab.call("Page.captureScreenshot", format="png", clip=box)
    shown = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    original = Image.open(io.BytesIO(PHOTO)).convert("RGB").resize((640, 480), Resampling.BOX)
    return sum(ImageStat.Stat(ImageChops.difference(shown, original)).mean) / 3


async def becomes_fine(tab: Tab, before: float) -> None:
    async with asyncio.timeout(60):
        while await error(tab) > before / 3:  # noqa: ASYNC110 - the page tells nobody
            await asyncio.sleep(0.2)


def test_a_policy_lets_it_go_on_after_a_rest(tmp_path: Path) -> None:
    names = policy(tmp_path, plan=STOPS, later=ALL_OF_IT, after=REST + 2)

    async def go() -> None:
        async with stopped(names) as (_, _, tab, component):
            coarse = await error(tab)
            await asyncio.sleep(REST)
            assert component.stopped
            await becomes_fine(tab, coarse)
            assert component.carried == component.received
            assert component.levels[-1].name == "original"

    run(go())


def test_a_reader_has_its_original_by_a_click(tmp_path: Path) -> None:
    async def go() -> None:
        async with stopped(policy(tmp_path, plan=STOPS, later=NOTHING)) as (origin, _, tab, one):
            coarse = await error(tab)
            await asyncio.sleep(REST)
            assert await error(tab) == coarse
            at = {"x": 100, "y": 100, "button": "left", "clickCount": 1, "modifiers": 1 | 8}
            await tab.call("Input.dispatchMouseEvent", type="mousePressed", **at)
            await tab.call("Input.dispatchMouseEvent", type="mouseReleased", **at)
            await becomes_fine(tab, coarse)
            assert one.carried == one.received  # what was coarse of it was not sent again
            assert origin.counts()["/a.jpg"] == 2

    run(go())
