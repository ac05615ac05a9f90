"""Text is read before its fonts are here, in a real Chromium over a slow link."""

from __future__ import annotations

import asyncio
import io
import random
from pathlib import Path

import pytest
from PIL import Image

from bench.browsers.cdp import Tab, find_chromium
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_programs_in_pages import slow

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")

FACE = "@font-face { font-family: %s; src: url(/%s.ttf); %s }"
PAGE = """<!doctype html><style>%s body { font-size: 60px; margin: 0 }</style>
<p style="font-family: own">own <p style="font-family: said">said"""
FACES = FACE % ("own", "own", "") + FACE % ("said", "said", "font-display: block")
STATES = "[...document.fonts].map(one => [one.family, one.status, one.display].join()).join(';')"


@pytest.mark.parametrize("protocol", ["http", "https over HTTP/2"])
def test_text_is_shown_in_another_font_until_its_own_is_here(protocol: str, tmp_path: Path) -> None:
    """Unless the page has said what is to be done meanwhile."""

    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, _, tab):
            origin.serve("/", (PAGE % FACES).encode())
            for name in ("own", "said"):
                origin.serve(
                    f"/{name}.ttf", random.Random(len(name)).randbytes(400_000), "font/ttf"
                )
            await tab.call("Page.navigate", url=origin.base + "/")
            await becomes(tab, f"{STATES} == 'own,loading,swap;said,loading,block'")
            while not await _is_written(tab):
                assert await tab.evaluate(STATES) == "own,loading,swap;said,loading,block"

    asyncio.run(asyncio.wait_for(go(), 60))


async def _is_written(tab: Tab) -> bool:
    """Whether anything but white is drawn in the page's first line."""
    shot = Image.open(io.BytesIO(await tab.screenshot())).convert("L")
    return any(shot.crop((0, 0, 400, 130)).histogram()[:128])
