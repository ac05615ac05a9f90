"""A saver's films in a real browser: nothing of one comes before a tap on it."""

from __future__ import annotations

import asyncio
import io
import wave
from pathlib import Path

import pytest

from bench.browsers.bidi import EXECUTABLE, BidiTab, certificates_can_be_added
from bench.browsers.cdp import Tab, find_chromium
from local_proxy.sites.sites import Mode
from tests.end_to_end.pair import until
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_page_load import PHOTO
from tests.end_to_end.test_programs_in_pages import slow
from tests.end_to_end.test_standing_in import firefox

PAGE = b"""<!doctype html><title>films</title><body style="margin:0">
<div style="position:relative;width:400px;height:300px">
<video id=film autoplay muted loop poster=/poster.jpg width=400 height=300>
<source src=/film.wav type="audio/wav"></video>
<div style="position:absolute;inset:0">the page's own button</div></div>
<audio id=sound controls preload=auto src=/sound.wav></audio>
<script>fetch("/read.wav").then(answer => answer.arrayBuffer()).then(data => {
  window.read = data.byteLength; });</script>"""
FILMS = ("/film.wav", "/sound.wav")


def sound() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as made:
        made.setnchannels(1)
        made.setsampwidth(2)
        made.setframerate(8000)
        made.writeframes(bytes(16_000 * 2))
    return file.getvalue()


async def tap(tab: Tab, x: int, y: int) -> None:
    for kind in ("mousePressed", "mouseReleased"):
        await tab.call(
            *("Input.dispatchMouseEvent",), type=kind, x=x, y=y, button="left", clickCount=1
        )


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("protocol", ["http", "https over HTTP/2"])
def test_none_comes_before_a_tap_on_it(protocol: str, tmp_path: Path) -> None:
    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            both.local.sites.choose("127.0.0.1", Mode.SAVER)
            origin.serve("/", PAGE)
            origin.serve("/poster.jpg", PHOTO.read_bytes(), "image/jpeg")
            for path in (*FILMS, "/read.wav", "/click.wav"):
                origin.serve(path, sound(), "audio/wav")
            await tab.call("Page.navigate", url=origin.base + "/")
            await becomes(tab, "document.readyState === 'complete' && window.read > 0")
            assert await tab.evaluate("window.read") == len(sound())  # a program's, whatever it is
            await becomes(tab, "film.networkState === 3 && sound.networkState === 3")
            assert not any(origin.counts()[path] for path in FILMS)
            await tap(tab, 200, 150)
            await becomes(tab, "film.currentTime > 0")
            assert origin.counts()["/film.wav"] and not origin.counts()["/sound.wav"]
            await tab.evaluate("onclick = () => { new Audio('/click.wav').play(); }, 1")
            await tap(tab, 20, 450)  # a button of the page's that makes a sound
            await until(lambda: origin.counts()["/click.wav"])
            await tap(tab, 20, 320)  # the sound's own button, which can't begin it
            await becomes(tab, "sound.readyState > 0")

    asyncio.run(asyncio.wait_for(go(), 60))


@pytest.mark.skipif(EXECUTABLE is None, reason="no firefox on this machine")
@pytest.mark.skipif(not certificates_can_be_added(), reason="no certutil (libnss3-tools)")
def test_in_firefox_too(tmp_path: Path) -> None:
    async def tapped(tab: BidiTab, x: int, y: int) -> None:
        moves = [{"type": "pointerMove", "x": x, "y": y}]
        presses = [{"type": f"pointer{way}", "button": 0} for way in ("Down", "Up")]
        pointer = {"type": "pointer", "id": "mouse", "actions": [*moves, *presses]}
        await tab.browser.call("input.performActions", context=tab.context, actions=[pointer])

    async def go() -> None:
        async with firefox(tmp_path) as (origin, both, tab):
            both.local.sites.choose("localhost", Mode.SAVER)
            origin.serve("/", PAGE)
            origin.serve("/poster.jpg", PHOTO.read_bytes(), "image/jpeg")
            for path in (*FILMS, "/read.wav"):
                origin.serve(path, sound(), "audio/wav")
            await tab.viewport(width=800, height=600)
            await tab.go(origin.base + "/")
            while not await tab.evaluate("film.networkState === 3 && sound.networkState === 3"):
                await tab.painted()
            assert not any(origin.counts()[path] for path in FILMS)
            await tapped(tab, 200, 150)
            while not await tab.evaluate("film.currentTime > 0"):
                await tab.painted()
            assert not origin.counts()["/sound.wav"]
            await tapped(tab, 20, 320)
            while not await tab.evaluate("sound.readyState > 0"):
                await tab.painted()

    asyncio.run(asyncio.wait_for(go(), 60))
