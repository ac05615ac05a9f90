"""Plays sound and a film in Chromium while two pages load, directly and through Sluice.

    sound   64 kbit/s        film   500 kbit/s        link   1.6 Mbit/s, 150 ms

Both are sound files of that rate: headless machines have few decoders, and what is measured is
whether bytes are there in time. A player stands still when its time does not move for a quarter of
a second once it has begun. Pages are loaded alone as well, for what the film costs them.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import shutil
import statistics
import wave
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.browsers.cdp import Tab
from bench.origins.endpoint import PageAccess
from bench.pages.page_load import PageStudy, load, opened, study
from bench.pairs.peers import DirectPeer, SluicePeer, in_world
from bench.reports.report import Check
from bench.scenarios.pages.page_load import FAST, SITE
from emulation.lines.profiles import profile

LINK: Final = "1.6M"
RATES: Final = {"sound": 8_000, "film": 62_500}
"""Bytes/second."""
SECONDS: Final = 60
"""That each plays."""
PAGES: Final = ("news", "article")
PAGE_LIMIT: Final = 24.0
"""Seconds for which each page is watched, beside a link that never gets quiet."""
BEGUN: Final = 3.0
"""Seconds after which the first page is asked for."""
TEXT: Final = 1.1
SLACK: Final = 0.05
"""Text beside the film: so many times that of the page alone, or so many seconds more."""
MORE: Final = 1.15
"""Pictures: so many times as long as what is left of the link makes them."""
MARGIN: Final = 1.25
"""Of a film's rate, that is promised to it (remote_proxy/playing/played.py)."""
_PLAYER: Final = """<!doctype html><title>Player</title>
<audio id=sound src=sound.wav autoplay></audio><video id=film src=film.wav autoplay></video>
<script>
window.said = {};
for (const one of document.querySelectorAll("audio, video")) {
  const of = said[one.id] = {began: null, stalls: 0, stood: 0, ended: false, played: 0};
  let last = 0, moved = performance.now(), still = false;
  setInterval(() => {
    const now = performance.now();
    of.played = one.currentTime;
    of.ended = one.ended;
    if (one.ended) return;
    if (one.currentTime > last) {
      if (of.began === null) of.began = now / 1000;
      else if (still) of.stood += (now - moved) / 1000;
      [last, moved, still] = [one.currentTime, now, false];
    } else if (of.began !== null && !still && now - moved > 250) {
      still = true;
      of.stalls += 1;
    }
  }, 50);
}
</script>
"""


async def run(*, runs: int = 3, link: str = LINK) -> dict[str, Any]:
    """The scenario. Raises OSError."""
    rows: list[dict[str, Any]] = []
    ways = {"direct": DirectPeer, "sluice": SluicePeer}
    with _site() as site:
        async with in_world(DirectPeer(), site, FAST, backend="relay") as fast:
            known = [await study(fast, f"{page}/index.html") for page in PAGES]
        for _ in range(runs):
            for (name, peer), plays in product(ways.items(), (False, True)):
                async with in_world(peer(), site, profile(link), backend="relay") as access:
                    row = await _row(access, known, peer=name, plays=plays)
                rows.append(row)
                print(_line(row))
    return {"runs": rows, "checks": judge(rows, profile(link).rate_down)}


@contextlib.contextmanager
def _site() -> Iterator[Path]:
    """The pages, and a player with what it plays."""
    with TemporaryDirectory(prefix="sluice-media-") as name:
        folder = Path(name)
        for page in PAGES:
            shutil.copytree(SITE / page, folder / page)
        player = folder / "player"
        player.mkdir()
        (player / "index.html").write_text(_PLAYER)
        for what, rate in RATES.items():
            width = 1 if rate < 16_000 else 2
            with wave.open(str(player / f"{what}.wav"), "wb") as sound:
                sound.setparams((1, width, rate // width, 0, "NONE", ""))
                sound.writeframes(bytes([128 * (width == 1)]) * rate * SECONDS)
        yield folder


async def _row(
    access: PageAccess, known: Sequence[PageStudy], *, peer: str, plays: bool
) -> dict[str, Any]:
    """Both pages after one another, while the player plays or not."""
    row: dict[str, Any] = {"peer": peer, "plays": plays}
    async with contextlib.AsyncExitStack() as stack:
        tab = None
        if plays:
            browser = await stack.enter_async_context(
                opened(access, "--autoplay-policy=no-user-gesture-required")
            )
            tab = await browser.new_tab()
            await tab.call("Page.navigate", url=access.base + "player/index.html")
            await asyncio.sleep(BEGUN)
        for one in known:
            found = (await load(access, one, peer=peer, limit=PAGE_LIMIT)).as_json()
            page = one.page.partition("/")[0]
            row[page] = {name: found[name] for name in ("text_s", "painted_s", "final_s")}
        if tab is not None:
            row["player"] = await _played(tab)
    return row


async def _played(tab: Tab) -> dict[str, Any]:
    """What the player has to say once all is played, or stands still for good."""
    for _ in range(SECONDS):
        said: dict[str, Any] = await tab.evaluate("window.said")
        if all(one["ended"] for one in said.values()):
            break
        await asyncio.sleep(1.0)
    return said


def _line(row: dict[str, Any]) -> str:
    pages = "  ".join(f"{page} {row[page]['text_s']} {row[page]['painted_s']}" for page in PAGES)
    said = row.get("player", {})
    players = "  ".join(
        f"{name} {one['stalls']} stalls {one['stood']:.1f} s, played {one['played']:.0f} s"
        for name, one in said.items()
    )
    return f"{row['peer']:<8}{pages}  {players}"


def judge(rows: Sequence[dict[str, Any]], rate: float) -> dict[str, Check]:
    """The verdicts; `rate`: bytes/second of the link."""
    checks = {}
    for name in RATES:
        ours, direct = (
            [row["player"][name] for row in rows if row["peer"] == peer and row["plays"]]
            for peer in ("sluice", "direct")
        )
        stalls = max((one["stalls"] for one in ours), default=math.inf)
        whole = all(one["ended"] for one in ours)
        least = min((one["stood"] for one in direct), default=0.0)
        most = max((one["stood"] for one in direct), default=0.0)
        checks[f"{name}: stands still"] = Check(
            stalls, f"times at most (directly for {least:.1f} to {most:.1f} s)", "0, and it is "
            "played to its end", stalls == 0 and whole,
        )  # fmt: skip
    left = rate - MARGIN * sum(RATES.values())
    for page in PAGES:
        (text, painted), (alone, seen) = (
            (_median(rows, page, "text_s", plays), _median(rows, page, "painted_s", plays))
            for plays in (True, False)
        )
        limit = max(TEXT * alone, alone + SLACK)
        checks[f"{page}: text beside it"] = Check(
            round(text, 3), f"s (alone {alone:.2f})", f"at most {limit:.2f}", text <= limit
        )
        most = seen * rate / left * MORE
        checks[f"{page}: pictures beside it"] = Check(
            round(painted, 2), f"s (alone {seen:.2f})", f"at most {most:.2f}", painted <= most
        )
    return checks


def _median(rows: Sequence[dict[str, Any]], page: str, name: str, plays: bool) -> float:
    """Seconds through Sluice; infinite where it did not happen."""
    found = [row[page][name] for row in rows if row["peer"] == "sluice" and row["plays"] is plays]
    return statistics.median(math.inf if value is None else value for value in found)
