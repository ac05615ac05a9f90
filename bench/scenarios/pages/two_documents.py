"""Two tabs of one browser: a page is opened over one that is still loading, then focus goes back.

What a reader feels: how soon the second page can be read although the first one's pictures are
under way, against how soon it can be alone; and who has the link once the first is in front again.
Without adaptation the second page's text waits behind the first one's pictures, and focus changes
nothing.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import Any, Final

from bench.browsers.watch import PageWatch
from bench.origins.endpoint import PageAccess
from bench.origins.site import spawn
from bench.pages.page_load import LIMIT, QUIET, PageStudy, opened, study, until_quiet
from bench.pages.traffic import Traffic, buckets, of_proxy
from bench.pairs.peers import DirectPeer, Peer, in_world, peers
from bench.reports.exhibits import Bands, Mark, of_documents
from bench.reports.har import HarRecorder
from bench.reports.report import Check, seconds
from bench.scenarios.pages.page_load import PAGES, SITE
from emulation.lines.profiles import Profile, profile

AFTER: Final = 1.5
"""Seconds after the first navigation that the second begins."""
READING: Final = 1.0
"""Seconds from the second page's text until its reader goes back to the first."""
MOST_LATER: Final = 1.3
"""Times its time alone that the second page's text may take."""
SHARE: Final = 80.0
"""Percent of the link for the document in front."""
TOLERANCE: Final = 3.0
_COLUMNS: Final = (
    "second_text_alone_s",
    "second_text_s",
    "second_load_s",
    "first_load_s",
    "front_percent",
    "first_hidden",
)


async def run(
    *,
    profile_name: str = "384k",
    runs: int = 1,
    peer_names: Sequence[str] = ("direct", "sluice"),
    backend: str = "relay",
) -> dict[str, Any]:
    """The scenario, on the sample site: the news page first, the article over it."""
    link, found = profile(profile_name), []
    shown: dict[str, tuple[dict[str, Any], Traffic]] = {}
    print(f"{'':<16}{''.join(f'{name:>21}' for name in _COLUMNS)}")
    async with spawn(SITE) as origin, DirectPeer().start(origin, profile("fast")) as fast:
        first, second = [await study(fast, page) for page in PAGES]
    for peer in [peer for _ in range(runs) for peer in peers(peer_names)]:
        figures, traffic = await _load(peer, link, first, second, backend=backend)
        found.append(figures)
        shown.setdefault(peer.name, (figures, traffic))
        cells = (figures[name] for name in _COLUMNS)
        print(f"{peer.name:<16}{''.join(f'{_cell(value):>21}' for value in cells)}")
    end = max((traffic.end for _, traffic in shown.values()), default=0.0)
    return {
        "runs": found,
        "checks": checks(found),
        "exhibits": [_bands(figures, traffic, end=end) for figures, traffic in shown.values()],
    }


def _cell(value: float | bool | None) -> str:
    return str(value) if isinstance(value, bool) else seconds(value)


async def _load(
    peer: Peer, link: Profile, first: PageStudy, second: PageStudy, *, backend: str
) -> tuple[dict[str, Any], Traffic]:
    async with in_world(peer, SITE, link, backend=backend) as endpoint:
        alone = await _alone(endpoint, second)
    async with in_world(peer, SITE, link, backend=backend) as endpoint:
        figures, traffic = await two_tabs(endpoint, first, second)
    switch = figures.pop("switched_s")
    return {
        "peer": peer.name,
        "policy": peer.policy,
        "second_text_alone_s": alone,
        **figures,
        "switched_s": switch,
        "front_percent": None if switch is None else traffic.front_percent(switch),
    }, traffic


async def _alone(endpoint: PageAccess, page: PageStudy) -> float | None:
    """Seconds until the page's text is there when nothing else loads."""
    async with opened(endpoint) as browser:
        tab = await browser.new_tab()
        watch = await PageWatch.on(tab, text_length=page.text_length)
        await watch.navigate(endpoint.base + page.page)
        await watch.until("text", limit=LIMIT)
    return watch.times.get("text")


async def two_tabs(
    endpoint: PageAccess, first: PageStudy, second: PageStudy
) -> tuple[dict[str, Any], Traffic]:
    """Seconds since each page's own navigation; None: it did not happen within the limit.

    `switched_s` is since the first page's.
    """
    async with opened(endpoint) as browser:
        one = await browser.new_tab()
        watch_one = await PageWatch.on(one, text_length=first.text_length)
        hears_one = await HarRecorder.on(one)
        endpoint.rewind()
        await watch_one.navigate(endpoint.base + first.page)
        began = time.time()  # noqa: TID251  # the browser's events bear wall-clock times
        await asyncio.sleep(AFTER)
        two = await browser.new_tab()
        watch_two = await PageWatch.on(two, text_length=second.text_length)
        hears_two = await HarRecorder.on(two)
        await two.bring_to_front()
        hidden = await one.evaluate("document.visibilityState === 'hidden'")
        await watch_two.navigate(endpoint.base + second.page)
        await watch_two.until("text", limit=LIMIT)
        await asyncio.sleep(READING)
        await one.bring_to_front()
        switched = time.time()  # noqa: TID251
        await watch_one.until("load", limit=LIMIT)
        await until_quiet(endpoint, watch_two, limit=LIMIT, quiet=QUIET)  # pictures get finer yet
        began = watch_one.origin or began
        heard = [hears.take("").arrivals for hears in (hears_one, hears_two)]
        now = time.time()  # noqa: TID251
        traffic = await of_proxy(endpoint, first.page, second.page, now=now, began=began)
        traffic = traffic or Traffic(buckets(heard[0], began), buckets(heard[1], began))
    return {
        "first_page": first.page,
        "second_page": second.page,
        "second_text_s": watch_two.times.get("text"),
        "second_load_s": watch_two.times.get("load"),
        "first_load_s": watch_one.times.get("load"),
        "first_hidden": hidden,
        "switched_s": round(switched - began, 3),
    }, traffic


def _bands(figures: dict[str, Any], traffic: Traffic, *, end: float) -> Bands:
    """Who had the link until `end`, with what the reader did and saw."""
    curves = {
        figures["first_page"].split("/")[0]: traffic.rates(traffic.first, end),
        figures["second_page"].split("/")[0]: traffic.rates(traffic.second, end),
    }
    marks = [Mark(AFTER, "second opened")]
    if figures["second_text_s"] is not None:
        marks.append(Mark(AFTER + figures["second_text_s"], "its text is there"))
    marks.append(Mark(figures["switched_s"], "back to the first"))
    return of_documents(f"Who had the link: {figures['peer']}", curves, marks)


def checks(runs: Sequence[dict[str, Any]]) -> dict[str, Check]:
    """Every other peer against the direct load, its own time alone, and the policy's share."""
    found: dict[str, Check] = {}
    base = _median(runs, "direct", "second_text_s")
    for name in dict.fromkeys(run["peer"] for run in runs if run["peer"] != "direct"):
        own, alone = (_median(runs, name, key) for key in ("second_text_s", "second_text_alone_s"))
        ratio = round(base / own, 2) if base and own else None
        found[f"{name}: text of a page opened over a loading one"] = Check(
            ratio, "times as soon as direct", "at least 2.0", ratio is not None and ratio >= 2.0
        )
        if alone is None and not any("second_text_alone_s" in run for run in runs):
            continue
        later = round(own / alone, 2) if own and alone else None
        found[f"{name}: that text against its time alone"] = Check(
            later, "times", f"at most {MOST_LATER}", later is not None and later <= MOST_LATER
        )
        if any(run["policy"] for run in runs if run["peer"] == name):
            share = _median(runs, name, "front_percent")
            right = share is not None and abs(share - SHARE) <= TOLERANCE
            goal = f"{SHARE:g} +- {TOLERANCE:g}"
            found[f"{name}: share of the document in front"] = Check(share, "%", goal, right)
    return found


def _median(runs: Sequence[dict[str, Any]], peer: str, name: str) -> float | None:
    """None when there is no run, or one without that figure."""
    values = [run.get(name) for run in runs if run["peer"] == peer]
    known = [value for value in values if value is not None]
    return statistics.median(known) if known and len(known) == len(values) else None
