"""Links to office files in a real Firefox: a preview where a window is sure to wait for it."""

from __future__ import annotations

import asyncio

import pytest

from bench.browsers.bidi import EXECUTABLE, launched
from tests.end_to_end.pair import run, slow_three
from tests.end_to_end.test_previews import served

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no firefox on this machine")


def test_an_address_that_is_typed_has_a_preview_and_a_link_that_may_be_kept_has_none() -> None:
    async def main() -> None:
        async with (
            slow_three() as (origin, _, both),
            launched(proxy="{}:{}".format(*both.address)) as browser,
            browser.tab() as tab,
        ):
            await tab.go(served(origin))
            async with asyncio.timeout(60):
                while not await tab.evaluate(  # noqa: ASYNC110 - the page tells nobody
                    "document.documentElement.dataset.end === 'complete' && "
                    "[...document.images].every((one) => one.naturalWidth)"
                ):
                    await asyncio.sleep(0.05)
            text = await tab.evaluate("document.querySelector('main').innerText")
            assert "First of three slides" in text
            assert await tab.evaluate("document.images.length") == 3
            assert [asked.target for asked in origin.asked if "deck" in asked.target] == [
                "/deck.pptx"
            ]
            origin.serve("/", b"<title>t</title><a href=/deck.pptx?2 download>keep</a>")
            await tab.go(origin.base + "/")
            before = len(both.local.previews)
            await tab.evaluate("document.querySelector('a').click()")
            async with asyncio.timeout(60):
                while "/deck.pptx?2" not in origin.counts():  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.05)
            fields = next(one for one in origin.asked if one.target == "/deck.pptx?2")
            assert fields.header("sec-fetch-dest") == "document"  # as if it were to be shown
            assert len(both.local.previews) <= before

    run(main(), timeout=60)
