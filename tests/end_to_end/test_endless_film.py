"""A film that plays behind a page's words, and that the link does not carry: a real browser."""

from __future__ import annotations

import asyncio
import io
import wave
from pathlib import Path
from random import Random

import pytest

from bench.browsers.cdp import find_chromium
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_page_load import PHOTO
from tests.end_to_end.test_programs_in_pages import slow

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
PAGE = b"""<!doctype html><body>
<video autoplay muted loop src=/film.wav poster=/poster.jpg width=400 height=300></video>
<img src=/one.jpg width=400 height=300><img src=/two.jpg width=400 height=300>"""
SECONDS = 60


def film() -> bytes:
    """3 Mbit/s, six times what the link carries."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(2)
        sound.setsampwidth(2)
        sound.setframerate(96_000)
        sound.writeframes(Random(5).randbytes(4 * 96_000 * SECONDS))
    return file.getvalue()


@pytest.mark.parametrize("protocol", ["http", "https over HTTP/2"])
def test_all_pictures_are_fine_and_the_page_has_loaded_long_before_it_is_here(
    protocol: str, tmp_path: Path
) -> None:
    pictures = {"/poster.jpg", "/one.jpg", "/two.jpg"}

    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            origin.serve("/", PAGE)
            origin.serve("/film.wav", film(), "audio/wav")
            for number, path in enumerate(sorted(pictures)):
                origin.serve(path, PHOTO.read_bytes() + bytes(number), "image/jpeg")
            await tab.call("Page.navigate", url=origin.base + "/")
            await becomes(tab, "document.readyState === 'complete'")
            for path in pictures:
                one = both.known(origin.base + path)
                await one.wait(lambda one=one: one.complete)
            playing = both.known(origin.base + "/film.wav")
            assert 0 < playing.received < 4 * 96_000 * SECONDS / 5

    asyncio.run(asyncio.wait_for(go(), 60))
