"""Views pages one after another within a day's budget, and then one picture more, by a tap.

In Chromium over a slow link, a seeded sequence of the site's pages, each view under an address of
its own with pictures of its own bytes. What crossed is counted at the link, whatever the device
says of its budget.
"""

from __future__ import annotations

import asyncio
import random
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.browsers.cdp import Tab
from bench.origins.endpoint import PageAccess
from bench.origins.site import spawn
from bench.origins.visits import visits
from bench.pages.page_load import opened
from bench.pairs.peers import SluicePeer
from bench.reports.report import Check
from bench.scenarios.pages.page_load import SITE
from emulation.lines.profiles import profile
from emulation.worlds.world import AUTO, emulate

KEPT: Final = 1.02
"""Of the budget, that may cross."""
USED: Final = 0.9
"""Of the budget, that is worth having: more is not held back."""
QUIET: Final = 1.5
"""Seconds without a byte on the link until a page has come to its end."""
LIMIT: Final = 90.0
"""Seconds until it has, at most."""
_SPENT: Final = re.compile(r"^sluice_day_budget_spent_bytes(?:\{[^}]*\})? (\S+)$", re.MULTILINE)
_SEEN: Final = """(() => {
  const kept = /^(?!http)|\\.svg$/;  // in the page itself, and drawings, which are little text
  const images = [...document.images].filter(
    (image) => image.getBoundingClientRect().width > 15 && !kept.test(image.currentSrc));
  const boxes = images.filter(image => getComputedStyle(image).content.includes(".0.box"));
  return [images.length, boxes.length];
})()"""
_ONE: Final = """(() => {
  for (const image of document.images) {
    if (!getComputedStyle(image).content.includes(".0.box") || image.closest("a[href]")) continue;
    image.scrollIntoView({ block: "center", behavior: "instant" });
    const { left, top, width, height } = image.getBoundingClientRect();
    window.sluiceBench = image;
    return [left + width / 2, top + height / 2];
  }
  return null;
})()"""
_CAME: Final = "getComputedStyle(window.sluiceBench).content.includes('.again')"


@dataclass(frozen=True, slots=True)
class PageView:
    """One of the day."""

    page: str
    pictures: int
    left_out: int
    """Pictures of the page, and those with a box in their place."""
    crossed: int
    """Bytes over the link since the day began, both ways."""


async def run(
    *,
    runs: int = 30,
    profile_name: str = "1.6M",
    page: Path | None = None,
    size: int = 4_000_000,
    seed: int = 25,
    backend: str = AUTO,
) -> dict[str, Any]:
    """The scenario. `runs`: views. `page`: a folder with a folder for each page, in place of ours.
    `size`: bytes of the budget. Raises OSError."""
    site = page or SITE
    pages = sorted(one.parent for one in site.glob("*/index.html"))
    chance = random.Random(seed)
    sequence = [chance.choice(pages) for _ in range(runs)]
    peer = SluicePeer(name="sluice-saver", day_budget=f"{size / 1e6:g} MB")
    with _day(sequence) as folder:
        async with (
            emulate(profile(profile_name), backend=backend) as world,
            spawn(folder, host=world.far) as origin,
            peer.over(world, origin) as access,
            opened(access) as browser,
        ):
            tab = await browser.new_tab()
            views = [await _view(tab, access, at, one.name) for at, one in enumerate(sequence)]
            told = await _spent(await browser.new_tab())
            tapped = await _tap(tab, access)
    whole = world.backend != "relay"  # which forwards bytes, and sees no packets
    return {
        "backend": world.backend,
        "budget": size,
        "views": [asdict(one) for one in views],
        "told": told,
        "tapped_bytes": tapped,
        "checks": judge(views, budget=size, told=told if whole else None, tapped=tapped),
    }


@contextmanager
def _day(sequence: Sequence[Path]) -> Iterator[Path]:
    """A site with a folder for each view."""
    with TemporaryDirectory(prefix="sluice-day-") as name:
        for page in set(sequence):
            count = len(sequence)
            with visits(page, count) as copies:
                for at, one in enumerate(sequence):
                    if one == page:
                        shutil.move(copies / str(at), Path(name, str(at)))
        yield Path(name)


async def _view(tab: Tab, access: PageAccess, at: int, page: str) -> PageView:
    await tab.call("Page.navigate", url=f"{access.base}{at}/index.html")
    await _quiet(access)
    pictures, left = await tab.evaluate(_SEEN)
    view = PageView(page, pictures, left, _crossed(access))
    print(f"{at:>3} {page:<8} {pictures - left:>3} of {pictures} pictures, {view.crossed} bytes")
    return view


def _crossed(access: PageAccess) -> int:
    count = access.statistics()
    return count.bytes_up + count.bytes_down


async def _quiet(access: PageAccess) -> None:
    """Until nothing has crossed for a while."""
    loop = asyncio.get_running_loop()
    began = last = loop.time()
    crossed = _crossed(access)
    while loop.time() - last < QUIET and loop.time() - began < LIMIT:
        await asyncio.sleep(0.1)
        if (now := _crossed(access)) != crossed:
            crossed, last = now, loop.time()


async def _spent(tab: Tab) -> int:
    """What the device says of its budget."""
    await tab.call("Page.navigate", url="http://sluice.local/metrics")
    for _ in range(50):
        text = str(await tab.evaluate("document.body?.innerText ?? ''"))
        if (found := _SPENT.search(text)) is not None:
            break
        await asyncio.sleep(0.1)
    await tab.close()
    return round(float(found[1])) if found is not None else 0


async def _tap(tab: Tab, access: PageAccess) -> int:
    """Tap on a box of the page that is open; bytes that crossed for its picture, 0 if it did not
    come."""
    place = await tab.evaluate(_ONE)
    if place is None:
        return 0
    before = _crossed(access)
    at = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
    await tab.call("Input.dispatchMouseEvent", type="mousePressed", **at)
    await tab.call("Input.dispatchMouseEvent", type="mouseReleased", **at)
    await asyncio.sleep(1.0)
    await _quiet(access)
    return _crossed(access) - before if await tab.evaluate(_CAME) else 0


def judge(
    views: Sequence[PageView], *, budget: int, told: int | None, tapped: int
) -> dict[str, Check]:
    """The verdicts. `told`: None where nobody counts the line's packets."""
    end, last = views[-1].crossed, views[-1]
    whole = sum(view.left_out == 0 for view in views)
    found = {
        "what crossed": Check(
            round(end / budget, 4),
            "of the budget",
            f"{USED:g} to {KEPT:g}",
            USED <= end / budget <= KEPT,
        ),
        "pages with all their pictures before it was gone": Check(
            whole, f"of {len(views)}", "some, not all", 0 < whole < len(views)
        ),
        "pictures of the last page with a box in their place": Check(
            last.left_out, f"of {last.pictures}", "all", 0 < last.left_out == last.pictures
        ),
        "a tap brings one": Check(tapped, "bytes", "more than 1000", tapped > 1000),
    }
    if told is not None:
        off = abs(told - end) / end
        found["what the device says has crossed"] = Check(
            round(off, 4), "off, of what did", "at most 0.02", off <= 0.02
        )
    return found
