"""Animations in a real browser: still and coarse at first, and then they move."""

from __future__ import annotations

import asyncio
import hashlib
import io
from pathlib import Path

import pytest
from PIL import Image

from bench.browsers.cdp import Tab, find_chromium
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_page_load import PHOTO
from tests.end_to_end.test_programs_in_pages import slow

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
COUNT = 3
PAGE = b"<!doctype html><body style='margin:0'>" + b"".join(
    b"<img src=/%d width=200 height=150 style='display:block'>" % number for number in range(COUNT)
)
DIGEST = """fetch("/0").then(answer => answer.arrayBuffer())
  .then(data => crypto.subtle.digest("SHA-256", data))
  .then(sum => [...new Uint8Array(sum)].map(byte => byte.toString(16).padStart(2, "0")).join(""))"""


def animation(name: str, number: int) -> bytes:
    """A photo that goes by."""
    file = io.BytesIO()
    with Image.open(PHOTO) as photo:
        whole = photo.convert("RGB").resize((240, 160)).rotate(number)
    frames = [whole.crop((at, 0, at + 200, 150)) for at in range(0, 40, 4)]
    frames[0].save(
        file, name, save_all=True, append_images=frames[1:], duration=60, loop=0, quality=90
    )
    return file.getvalue()


async def shown(tab: Tab, number: int) -> bytes:
    """The pixels that a picture shows now."""
    scale = float(str(await tab.evaluate("devicePixelRatio")))
    box = tuple(round(side * scale) for side in (0, 150 * number, 200, 150 * number + 150))
    with Image.open(io.BytesIO(await tab.screenshot())) as shot:
        return shot.convert("RGB").crop(box).tobytes()


async def appears(tab: Tab, number: int) -> None:
    """Until a picture is there, of many colours."""
    while len(set(await shown(tab, number))) < 30:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("protocol", ["http", "https over HTTP/2", "https"])
@pytest.mark.parametrize("name", ["GIF", "WEBP"])
def test_all_stand_still_before_any_moves(protocol: str, name: str, tmp_path: Path) -> None:
    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            files = [animation(name, number) for number in range(COUNT)]
            origin.serve("/", PAGE)
            for number, file in enumerate(files):
                assert len(file) > 80_000
                origin.serve(f"/{number}", file, f"image/{name.lower()}")
            await tab.call("Page.navigate", url=origin.base + "/")
            for number in range(COUNT):
                await appears(tab, number)
            pictures = [both.known(f"{origin.base}/{number}") for number in range(COUNT)]
            assert not any(picture.complete for picture in pictures[1:])
            for number, picture in enumerate(pictures):
                await picture.wait(lambda one=picture: one.complete)
                seen = {await shown(tab, number)}
                while len(seen) < 4:  # coarse, and three of its frames
                    seen.add(await shown(tab, number))
            await becomes(tab, "document.readyState === 'complete'")
            assert await tab.evaluate(DIGEST) == hashlib.sha256(files[0]).hexdigest()

    asyncio.run(asyncio.wait_for(go(), 60))
