"""A report's film is played in step by styles alone, in Chromium, which is told where it stands."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bench.browsers.cdp import find_chromium, launch
from bench.reports import report_html
from bench.reports.exhibits import of_loads
from tests.bench.loads import both, data

needs_chromium = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
AT = """(() => {
  const images = [...document.querySelectorAll('.player .screen')].map(one =>
    [...one.querySelectorAll('img')].filter(img => getComputedStyle(img).opacity === '1').length);
  return JSON.stringify(images);
})()"""
"""How many frames of each side are on the screen by now."""


@needs_chromium
@pytest.mark.parametrize(("pace", "seconds"), [(1, 1.0), (4, 4.0)])
def test_both_sides_show_what_they_showed_at_that_time(
    tmp_path: Path, pace: int, seconds: float
) -> None:
    """The direct side painted at 3, 6 and 12 s, ours at 1, 2 and 4."""
    loads = both()
    file = tmp_path / "index.html"
    file.write_text(report_html.page([(data(loads), of_loads(loads))]))

    async def go() -> None:
        async with launch() as browser:
            tab = await browser.new_tab()
            loaded = asyncio.Event()
            tab.on("Page.loadEventFired", lambda _: loaded.set())
            await tab.call("Page.enable")
            await tab.call("Page.navigate", url=file.as_uri())
            await loaded.wait()
            assert json.loads(await tab.evaluate(AT)) == [3, 3], "its end, until it is played"
            assert await tab.evaluate("document.getAnimations().length") == 0
            await tab.evaluate(f"document.querySelector('.pace.x{pace}').checked = true")
            await tab.evaluate("document.querySelector('.play + label').click()")
            shown_at = {0.5: [0, 0], 1.5: [0, 1], 3.5: [1, 2], 7.0: [2, 3], 13.0: [3, 3]}
            for at, shown in shown_at.items():
                seek = "for (const one of document.getAnimations()) { one.pause();"
                seek += f" one.currentTime = {1000 * at / seconds} }}"
                await tab.evaluate(seek)
                assert json.loads(await tab.evaluate(AT)) == shown, at
            await tab.evaluate("document.querySelector('.play + label').click()")
            assert json.loads(await tab.evaluate(AT)) == [3, 3]

    asyncio.run(go())
