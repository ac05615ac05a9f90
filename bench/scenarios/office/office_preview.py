"""An office document that Chromium follows a link to: when its text and its pictures are seen.

Both proxies as processes, TLS between them, over the emulated link; a fresh browser each time. What
a reader sees is asked of the page itself, ten times a second.

text_1    the first page has text
text      all pages have what they have
coarse    every picture of the pages shows something
complete  the file is here, and is the origin's
"""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.browsers.cdp import Tab, launch
from bench.pairs.peers import SluicePeer, in_world
from bench.reports.report import Check
from emulation.lines.profiles import profile

ROOT: Final = Path(__file__).resolve().parents[3]
DECK: Final = ROOT / "tests" / "data" / "office" / "deck.pptx"
LIMIT: Final = 900.0
"""Seconds after which a load is given up."""
GOAL: Final = 2.0
"""Seconds to the first page's text of a presentation at 56 kbit/s."""
_LOOK_EVERY: Final = 0.1
_SETTLING: Final = 1.5
"""Seconds a new browser is left alone."""
_STATE: Final = """(() => {
  const sections = [...document.querySelectorAll("section")];
  const images = [...document.querySelectorAll("img[data-m]")];
  return JSON.stringify({
    text_1: Boolean(sections[0]?.innerText.trim()),
    filled: sections.filter((one) => one.children.length).length,
    pages: sections.length,
    coarse: images.filter((one) => one.naturalWidth).length,
    pictures: images.length,
    progress: document.getElementById("progress")?.textContent ?? "",
    end: document.documentElement?.dataset.end ?? "",
  });
})()"""


async def run(
    *,
    page: Path = DECK,
    profile_name: str = "56k",
    runs: int = 1,
    whole: bool = False,
) -> dict[str, Any]:
    """The scenario. `page`: a document. `whole`: until it is complete, not only coarse."""
    rows = [await load(page, profile_name, whole=whole) for _ in range(runs)]
    first = sorted(row["text_1_s"] or LIMIT for row in rows)[len(rows) // 2]
    checks = {"text of the first page": Check(first, "s", f"{GOAL:g}", first <= GOAL)}
    return {"runs": rows, "checks": checks}


async def load(document: Path, profile_name: str, *, whole: bool) -> dict[str, Any]:
    """One load: its figures, seconds from the navigation."""
    with TemporaryDirectory(prefix="preview-") as folder:
        shutil.copyfile(document, Path(folder, document.name))
        async with (
            in_world(
                SluicePeer(), Path(folder), profile(profile_name), backend="relay"
            ) as endpoint,
            launch(proxy=endpoint.proxy) as browser,
        ):
            tab = await browser.new_tab()
            await asyncio.sleep(_SETTLING)
            endpoint.rewind()
            before = endpoint.statistics().bytes_down
            row = await _watch(tab, endpoint.base + document.name, whole=whole)
            row["bytes_down"] = endpoint.statistics().bytes_down - before
    row = {"document": document.name, **row}
    print(row)
    return row


async def _watch(tab: Tab, url: str, *, whole: bool) -> dict[str, Any]:
    clock = asyncio.get_running_loop().time
    seen: dict[str, Any] = dict.fromkeys(("text_1_s", "text_s", "coarse_s", "complete_s"))
    began = clock()
    going = asyncio.ensure_future(tab.call("Page.navigate", url=url))
    while clock() - began < LIMIT:
        state = json.loads(await tab.evaluate(_STATE))
        texts = state["pages"] and state["filled"] == state["pages"]
        texts = texts and "still coming" not in state["progress"]
        found = {
            "text_1_s": state["text_1"],
            "text_s": texts,
            "coarse_s": texts and state["coarse"] == state["pictures"],
            "complete_s": state["end"] == "complete",
        }
        for name, there in found.items():
            if there and seen[name] is None:
                seen[name] = round(clock() - began, 2)
        if seen["complete_s"] or state["end"] or (seen["coarse_s"] and not whole):
            break
        await asyncio.sleep(_LOOK_EVERY)
    await going
    return {**seen, "pages": state["pages"], "pictures": state["pictures"]}
