"""Opens a news page again after a third of its items have changed, and others of its site.

In Chromium through the pair's own commands, with the browser's cache as the first visit left it,
then emptied; and a page of the site that was never opened, beside a cold load of the same. What
text costs is counted on the same pages without pictures. Each sequence has a browser, a pair and an
origin of its own.
"""

from __future__ import annotations

import re
import shutil
import statistics
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.origins.endpoint import PageAccess
from bench.origins.site import spawn
from bench.pages.page_load import PageStudy, TabView, opened, study
from bench.pairs.peers import DirectPeer, SluicePeer, in_world
from bench.reports.report import Check
from bench.scenarios.pages.page_load import FAST, SITE
from emulation.lines.profiles import profile
from emulation.worlds.world import emulate

_STORY: Final = re.compile(r'<article class="story prose" id="[^"]+">.*?</article>', re.DOTALL)
_PARAGRAPH: Final = re.compile(r"<p>.*?</p>", re.DOTALL)
_PICTURE: Final = re.compile(r"<img[^>]*>|<link rel=\"icon\"[^>]*>")
_MAIN: Final = re.compile(r'(<main id="main"[^>]*>).*(</main>)', re.DOTALL)
NEW: Final = 1 / 3
"""Of the page's stories that another edition has anew, in front of the others; as many go."""
STORY_BYTES: Final = 2700
"""As long as a story of the page is."""
LIMITS: Final = {"kept": 0.15, "emptied": 0.3, "never seen": 0.6}
"""Bytes of text, as a share of the first visit's; of a page never seen, of its cold load's."""
COMPLETE: Final = 0.15
"""Bytes of all, with the browser's cache kept, as a share of the first visit's."""
PAINTED: Final = 0.4
"""Seconds until the text of a second visit can be read."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One step: what is opened, and what the browser has."""

    name: str
    edition: int
    page: str = "index.html"
    emptied: bool = False


VISITS: Final = (
    Visit("first", 0),
    Visit("kept", 1),
    Visit("emptied", 2, emptied=True),
    Visit("never seen", 2, page="story.html"),
)
COLD: Final = (Visit("cold", 2, page="story.html"),)


async def run(*, runs: int = 3, profile_name: str = "384k") -> dict[str, Any]:
    """The scenario. Raises OSError."""
    rows: list[dict[str, Any]] = []
    for pictures in (False, True):
        for _ in range(runs):
            for visits in (VISITS, COLD):
                rows += await _sequence(visits, profile_name, pictures=pictures)
    return {"runs": rows, "checks": judge(rows)}


async def _sequence(
    visits: Sequence[Visit], profile_name: str, *, pictures: bool
) -> list[dict[str, Any]]:
    """One reader's visits in their order."""
    rows = []
    with _editions(pictures=pictures) as folder:
        known = {visit.name: await _studied(folder, visit) for visit in visits}
        live = folder / "live"
        async with _pair(live, profile_name) as access, opened(access) as browser:
            tab = await browser.new_tab()
            view = await TabView.on(tab)
            for visit in visits:
                shutil.copytree(folder / str(visit.edition), live, dirs_exist_ok=True)
                if visit.emptied:
                    await tab.call("Network.clearBrowserCache")
                found = await view.visit(access, known[visit.name], peer="sluice")
                row = {"visit": visit.name, "pictures": pictures, **found.as_json()}
                rows.append(row)
                print(
                    f"{visit.name:<11}{'all' if pictures else 'texts':<6} text "
                    f"{row['text_s']} s  {row['bytes_down']} bytes down, {row['bytes_up']} up"
                )
    return rows


@asynccontextmanager
async def _pair(live: Path, profile_name: str) -> AsyncIterator[PageAccess]:
    """Both proxies, and the origin that serves what is in the folder now."""
    async with (
        emulate(profile(profile_name), backend="relay") as world,
        spawn(live, host=world.far, live=True) as origin,
        SluicePeer().over(world, origin) as access,
    ):
        yield access


async def _studied(folder: Path, visit: Visit) -> PageStudy:
    async with in_world(DirectPeer(), folder, FAST, backend="relay") as fast:
        known = await study(fast, f"{visit.edition}/{visit.page}")
    return replace(known, page=visit.page)


@contextmanager
def _editions(*, pictures: bool) -> Iterator[Path]:
    """A folder with the editions of the site, and one that is served."""
    page = (SITE / "news" / "index.html").read_text()
    with TemporaryDirectory(prefix="sluice-editions-") as name:
        folder = Path(name)
        (folder / "live").mkdir()
        for edition in sorted({visit.edition for visit in VISITS}):
            there = folder / str(edition)
            shutil.copytree(SITE / "news", there)
            for file, text in (
                ("index.html", another(page, edition)),
                ("story.html", alone(another(page, edition))),
            ):
                shown = text if pictures else _PICTURE.sub("", text)
                (there / file).write_text(shown)
        yield folder


def another(page: str, edition: int) -> str:
    """The page so many editions later: NEW of its stories are new, the oldest are gone."""
    stories = [found.group() for found in _STORY.finditer(page)]
    count = round(NEW * len(stories))
    fresh = _written(count * edition)
    after = [*reversed(fresh), *stories][: len(stories)]
    begin, end = page.index(stories[0]), page.index(stories[-1]) + len(stories[-1])
    return page[:begin] + "\n".join(after) + page[end:]


def alone(page: str) -> str:
    """A page of the same site with one story in its middle, which no other page has."""
    story = _written(40)[-1]
    return _MAIN.sub(lambda main: f"{main.group(1)}{story}{main.group(2)}", page)


def _written(count: int) -> list[str]:
    """Stories of another page's prose, each as long as those of this one."""
    prose = _PARAGRAPH.findall((SITE / "article" / "index.html").read_text())
    stories: list[str] = []
    text = ""
    for paragraph in prose:
        text += paragraph
        if len(text) > STORY_BYTES:
            number = len(stories)
            head = f'<article class="story prose" id="n{number}"><h2>New: {number}</h2>'
            stories.append(f"{head}{text}</article>")
            text = ""
    return stories[:count]


def judge(rows: Sequence[dict[str, Any]]) -> dict[str, Check]:
    """The verdicts."""
    checks = {}
    for name, limit in LIMITS.items():
        base = "cold" if name == "never seen" else "first"
        share = _median(rows, name, "bytes_down") / _median(rows, base, "bytes_down")
        checks[f"{name}: bytes of text"] = Check(
            round(share, 3), f"of the {base} visit's", f"at most {limit:g}", share <= limit
        )
    share = _median(rows, "kept", "bytes_down", pictures=True)
    share /= _median(rows, "first", "bytes_down", pictures=True)
    checks["kept: all bytes"] = Check(
        round(share, 3), "of the first visit's", f"at most {COMPLETE:g}", share <= COMPLETE
    )
    for name in ("kept", "emptied"):
        text = _median(rows, name, "text_s", pictures=True)
        checks[f"{name}: text"] = Check(
            round(text, 3), "s", f"at most {PAINTED:g}", text <= PAINTED
        )
    return checks


def _median(
    rows: Sequence[dict[str, Any]], name: str, what: str, *, pictures: bool = False
) -> float:
    """Infinite where it did not happen."""
    mine = (row[what] for row in rows if row["visit"] == name and row["pictures"] is pictures)
    return statistics.median(float("inf") if value is None else value for value in mine)
