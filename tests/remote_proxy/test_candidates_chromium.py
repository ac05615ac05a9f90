"""The candidate that is chosen is the one that a real Chromium takes, at any density."""

from __future__ import annotations

import asyncio
import json
import random

import pytest

from bench.browsers.cdp import find_chromium, launch
from remote_proxy.import_drivers.candidates import choose
from remote_proxy.import_drivers.found import BrowserTraits

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
DENSITIES = (0.75, 1.0, 1.25, 1.5, 2.0, 2.625, 3.0)
TAKEN = """(async () => {
  const images = %s.map(([src, srcset, sizes]) =>
    Object.assign(new Image(), { sizes, srcset, src }));
  await Promise.all(images.map((one) => new Promise((done) => {
    one.onload = one.onerror = done;
  })));
  return JSON.stringify(images.map((one) => one.currentSrc));
})()"""


def offers(random: random.Random) -> list[tuple[str, str, str]]:
    """`src`, `srcset` and `sizes` of some <img>."""
    made = []
    for number in range(40):
        base = f"http://127.0.0.1:9/{number}/"
        if number % 2:
            many = random.sample(range(1, 80), 3)
            srcset = ", ".join(f"{base}{one} {one / 20}x" for one in many)
        else:
            many = random.sample(range(100, 2400), 4)
            srcset = ", ".join(f"{base}{one} {one}w" for one in many)
        made.append((base + "src", srcset, random.choice(("100vw", "50vw", "300px", "20em"))))
    return made


def test_the_one_is_chosen_that_chromium_takes() -> None:
    images = offers(random.Random(7))

    async def go() -> dict[float, list[str]]:
        taken = {}
        async with launch() as browser:
            for density in DENSITIES:
                tab = await browser.new_tab()
                await tab.viewport(width=412, height=800, scale=density)
                said = await tab.evaluate(TAKEN % json.dumps(images))
                taken[density] = json.loads(said)
        return taken

    for density, urls in asyncio.run(go()).items():
        browser = BrowserTraits(width=412, height=800, dpr=density)
        assert urls == [choose(*image, browser) for image in images], density
