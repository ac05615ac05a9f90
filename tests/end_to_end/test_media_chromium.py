"""A film that plays in Chromium has its rate, one that is only there has not, and the status page
says so."""

from __future__ import annotations

import io
import wave

import pytest

from bench.browsers.cdp import Tab, launch
from tests.end_to_end.pair import Pair, all_three, run, until
from tests.local_proxy.chromium import EXECUTABLE

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no chromium on this machine")

RATE = 60_000
"""Bytes/second."""


def film(seconds: int) -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as sound:
        sound.setparams((1, 2, RATE // 2, 0, "NONE", ""))
        sound.writeframes(bytes(RATE * seconds))
    return made.getvalue()


def shown(both: Pair) -> list[tuple[float, bool]]:
    """The rates of films on the status page, and whether they are guaranteed."""
    return [
        (part.rate, part.guaranteed)
        for document in both.local.overview.snapshot().documents
        for part in document.components
        if part.rate
    ]


async def told(tab: Tab) -> str:
    text = "[...document.querySelectorAll('.document p')].map((one) => one.textContent).join()"
    return str(await tab.evaluate(text))


def test_a_film_that_plays_has_its_rate_and_one_that_does_not_has_none() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/film.wav", film(400), "audio/wav")
            html = b"<!doctype html><title>A film</title><video id=v muted src=/film.wav></video>"
            origin.serve("/", html, "text/html")
            async with launch(proxy="http://{}:{}".format(*both.address)) as browser:
                tab = await browser.new_tab()
                await tab.call("Page.navigate", url=origin.base + "/")
                await until(lambda: origin.counts().get("/film.wav"))
                assert shown(both) == []
                await tab.evaluate("v.play().then(() => 1)")
                await until(lambda: shown(both) == [(1.25 * RATE, True)])
                status = await browser.new_tab(background=True)
                await status.call("Page.navigate", url="http://sluice.local/")
                while "film.wav: 75.0 KB/s guaranteed" not in (said := await told(status)):
                    assert "guaranteed" not in said
                await tab.evaluate("v.pause(), 1")
                await until(lambda: shown(both) == [])

    run(go())
