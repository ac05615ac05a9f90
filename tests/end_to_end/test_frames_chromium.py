"""A page with frames in a real Chromium: what they have in common crosses the link once."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from bench.browsers.cdp import find_chromium
from tests.end_to_end.pair import FakeOrigin, Pair, until
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_page_load import PHOTO
from tests.end_to_end.test_programs_in_pages import slow

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
FRAMES = 4
TAG = "<img src=/a.jpg width=200 height=150>"
SCRIPT = (
    b"parent.shown = (parent.shown || 0) + 1; //"
    + random.Random(1).randbytes(30_000).hex().encode()
)


def with_frames(origin: FakeOrigin) -> None:
    """A page, and in each of its frames the same script and the page's picture."""
    inner = "".join(f"<iframe src=/{number}.html></iframe>" for number in range(FRAMES))
    origin.serve("/", f"<!doctype html><body>{TAG}{inner}".encode())
    for number in range(FRAMES):
        frame = f"<!doctype html><body>{TAG}<script src=/ad.js></script>{number}"
        origin.serve(f"/{number}.html", frame.encode())
    fresh = [("cache-control", "max-age=600")]
    origin.serve("/ad.js", SCRIPT, "text/javascript", headers=fresh)
    origin.serve("/a.jpg", PHOTO.read_bytes(), "image/jpeg", headers=fresh)


def crossed(both: Pair, url: str) -> int:
    """Bytes of it that the device got, whoever asked for it."""
    return sum(one.received for one in both.local.components.of(1) if one.url == url)


@pytest.mark.parametrize("protocol", ["http", "https over HTTP/1.1", "https over HTTP/2"])
def test_what_frames_have_in_common_comes_once(protocol: str, tmp_path: Path) -> None:
    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            with_frames(origin)
            await tab.call("Page.navigate", url=origin.base + "/")
            await becomes(tab, f"window.shown === {FRAMES} && document.readyState === 'complete'")
            parts = both.local.components.of(1)
            await until(lambda: all(one.complete for one in parts if one.promised))
            assert crossed(both, origin.base + "/ad.js") < 1.1 * len(SCRIPT)
            assert crossed(both, origin.base + "/a.jpg") < 1.5 * PHOTO.stat().st_size
            assert origin.counts()["/ad.js"] == origin.counts()["/a.jpg"] == 1

    asyncio.run(asyncio.wait_for(go(), 60))
