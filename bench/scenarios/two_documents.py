"""Two tabs of one browser: a page is opened over one that is still loading, then focus goes back.

What a reader feels: how soon the second page can be read although the first one's pictures are
under way, and how soon the first is done once it is in front again. Without adaptation the second
page's text waits behind the first one's pictures, and focus changes nothing.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from typing import Any, Final

from bench.links.world import AUTO
from bench.origin import spawn
from bench.page_load import LIMIT, Endpoint, PageStudy, Watch, opened, study
from bench.peers import DirectPeer, in_world, peers
from bench.profiles import profile
from bench.report import Check, seconds
from bench.scenarios.page_load import PAGES, SITE

AFTER: Final = 1.5
"""Seconds after the first navigation that the second begins."""
READING: Final = 1.0
"""Seconds from the second page's text until its reader goes back to the first."""
_COLUMNS: Final = ("second_text_s", "second_load_s", "first_load_s", "first_hidden")


async def run(
    *,
    profile_name: str = "384k",
    runs: int = 1,
    peer_names: Sequence[str] = ("direct", "sluice"),
    backend: str = AUTO,
) -> dict[str, Any]:
    """The scenario, on the sample site: the news page first, the article over it."""
    link, found = profile(profile_name), []
    print(f"{'':<16}{''.join(f'{name:>15}' for name in _COLUMNS)}")
    async with spawn(SITE) as origin, DirectPeer().start(origin, profile("fast")) as fast:
        first, second = [await study(fast, page) for page in PAGES]
    for peer in [peer for _ in range(runs) for peer in peers(peer_names)]:
        async with in_world(peer, SITE, link, backend=backend) as endpoint:
            figures = await two_tabs(endpoint, first, second)
        found.append({"peer": peer.name, "policy": peer.policy, **figures})
        cells = (found[-1][name] for name in _COLUMNS)
        print(f"{peer.name:<16}{''.join(f'{_cell(value):>15}' for value in cells)}")
    return {"runs": found, "checks": checks(found)}


def _cell(value: float | bool | None) -> str:
    return str(value) if isinstance(value, bool) else seconds(value)


async def two_tabs(endpoint: Endpoint, first: PageStudy, second: PageStudy) -> dict[str, Any]:
    """Seconds since each page's own navigation; None: it did not happen within the limit."""
    async with opened(endpoint) as browser:
        one = await browser.new_tab()
        watch_one = await Watch.on(one, text_length=first.text_length)
        endpoint.rewind()
        await watch_one.navigate(endpoint.base + first.page)
        await asyncio.sleep(AFTER)
        two = await browser.new_tab()
        watch_two = await Watch.on(two, text_length=second.text_length)
        await two.bring_to_front()
        hidden = await one.evaluate("document.visibilityState === 'hidden'")
        await watch_two.navigate(endpoint.base + second.page)
        await watch_two.until("text", limit=LIMIT)
        await asyncio.sleep(READING)
        await one.bring_to_front()
        await watch_one.until("load", limit=LIMIT)
        await watch_two.until("load", limit=LIMIT)
    return {
        "first_page": first.page,
        "second_page": second.page,
        "second_text_s": watch_two.times.get("text"),
        "second_load_s": watch_two.times.get("load"),
        "first_load_s": watch_one.times.get("load"),
        "first_hidden": hidden,
    }


def checks(runs: Sequence[dict[str, Any]]) -> dict[str, Check]:
    """Every other peer against the direct load."""
    found: dict[str, Check] = {}
    base = _median(runs, "direct")
    for name in dict.fromkeys(run["peer"] for run in runs if run["peer"] != "direct"):
        own = _median(runs, name)
        ratio = round(base / own, 2) if base and own else None
        found[f"{name}: text of a page opened over a loading one"] = Check(
            ratio, "times as soon as direct", "at least 2.0", ratio is not None and ratio >= 2.0
        )
    return found


def _median(runs: Sequence[dict[str, Any]], peer: str) -> float | None:
    """Of the second page's text, seconds; None when there is no run, or one without text."""
    times = [run["second_text_s"] for run in runs if run["peer"] == peer]
    return statistics.median(times) if times and None not in times else None
