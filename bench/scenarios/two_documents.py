"""Two tabs of one browser: a page is opened over one that is still loading, then focus goes back.

What a reader feels: how soon the second page can be read although the first one's pictures are
under way, against how soon it can be alone; and who has the link once the first is in front again.
Without adaptation the second page's text waits behind the first one's pictures, and focus changes
nothing. Bytes by document are the local proxy's own count (status.json); without one, what the
browser received for each tab.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from bench.exhibits import Bands, Mark, of_documents
from bench.har import Recorder
from bench.origin import Address, spawn
from bench.page_load import LIMIT, QUIET, Endpoint, PageStudy, opened, study, until_quiet
from bench.peers import DirectPeer, Peer, peers
from bench.profiles import Profile, profile
from bench.report import Check, seconds
from bench.scenarios.page_load import PAGES, SITE
from bench.watch import Watch
from local_proxy.status.client import NoAnswer, fetch
from local_proxy.status.snapshot import StatusSnapshot

AFTER: Final = 1.5
"""Seconds after the first navigation that the second begins."""
READING: Final = 1.0
"""Seconds from the second page's text until its reader goes back to the first."""
MOST_LATER: Final = 1.3
"""Times its time alone that the second page's text may take."""
SHARE: Final = 80.0
"""Percent of the link for the document in front."""
TOLERANCE: Final = 3.0
SETTLED: Final = 0.5
"""Seconds after a change of focus from which on the share is taken."""
LEAST_WINDOW: Final = 1.0
"""Seconds of both documents loading below which there is no share to take."""
BUCKET: Final = 0.5
"""Seconds of one step of the curves; the local proxy's is the same."""
_COLUMNS: Final = (
    "second_text_alone_s",
    "second_text_s",
    "second_load_s",
    "first_load_s",
    "front_percent",
    "first_hidden",
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of two documents in equal buckets."""

    first: Sequence[int]
    second: Sequence[int]
    offset: float = 0.0
    """Seconds from the first navigation until the first bucket began; at most 0."""

    def front_percent(self, switch: float) -> float | None:
        """Of the first document, of both, from SETTLED after `switch` while both still load.

        `switch`: seconds when it came to the front. None: they do not load together long enough.
        """
        begin = math.ceil((switch + SETTLED - self.offset) / BUCKET)
        end = min(self._end(self.first), self._end(self.second))
        if (end - begin) * BUCKET < LEAST_WINDOW:
            return None
        first, second = sum(self.first[begin:end]), sum(self.second[begin:end])
        return round(100 * first / (first + second), 1)

    @property
    def end(self) -> float:
        """Seconds from the first navigation until nothing more came."""
        return self.offset + BUCKET * (1 + max(self._end(self.first), self._end(self.second)))

    @staticmethod
    def _end(buckets: Sequence[int]) -> int:
        """The last bucket with bytes in it, which is not whole."""
        return max((number for number, size in enumerate(buckets) if size), default=0)


async def run(
    *,
    profile_name: str = "384k",
    runs: int = 1,
    peer_names: Sequence[str] = ("direct", "sluice"),
) -> dict[str, Any]:
    """The scenario, on the sample site: the news page first, the article over it."""
    link, found = profile(profile_name), []
    shown: dict[str, tuple[dict[str, Any], Traffic]] = {}
    print(f"{'':<16}{''.join(f'{name:>21}' for name in _COLUMNS)}")
    async with spawn(SITE) as origin:
        async with DirectPeer().start(origin, profile("fast")) as fast:
            first, second = [await study(fast, page) for page in PAGES]
        for peer in [peer for _ in range(runs) for peer in peers(peer_names)]:
            figures, traffic = await _load(peer, origin, link, first, second)
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
    peer: Peer, origin: Address, link: Profile, first: PageStudy, second: PageStudy
) -> tuple[dict[str, Any], Traffic]:
    async with peer.start(origin, link) as endpoint:
        alone = await _alone(endpoint, second)
    async with peer.start(origin, link) as endpoint:
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


async def _alone(endpoint: Endpoint, page: PageStudy) -> float | None:
    """Seconds until the page's text is there when nothing else loads."""
    async with opened(endpoint) as browser:
        tab = await browser.new_tab()
        watch = await Watch.on(tab, text_length=page.text_length)
        await watch.navigate(endpoint.base + page.page)
        await watch.until("text", limit=LIMIT)
    return watch.times.get("text")


async def two_tabs(
    endpoint: Endpoint, first: PageStudy, second: PageStudy
) -> tuple[dict[str, Any], Traffic]:
    """Seconds since each page's own navigation; None: it did not happen within the limit.

    `switched_s` is since the first page's.
    """
    async with opened(endpoint) as browser:
        one = await browser.new_tab()
        watch_one = await Watch.on(one, text_length=first.text_length)
        hears_one = await Recorder.on(one)
        await watch_one.navigate(endpoint.base + first.page)
        began = time.time()  # noqa: TID251  # the browser's events bear wall-clock times
        await asyncio.sleep(AFTER)
        two = await browser.new_tab()
        watch_two = await Watch.on(two, text_length=second.text_length)
        hears_two = await Recorder.on(two)
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
        traffic = await _traffic(endpoint, began, first, second)
        traffic = traffic or Traffic(_buckets(heard[0], began), _buckets(heard[1], began))
    return {
        "first_page": first.page,
        "second_page": second.page,
        "second_text_s": watch_two.times.get("text"),
        "second_load_s": watch_two.times.get("load"),
        "first_load_s": watch_one.times.get("load"),
        "first_hidden": hidden,
        "switched_s": round(switched - began, 3),
    }, traffic


def _buckets(arrivals: Sequence[tuple[float, int]], began: float) -> list[int]:
    """`arrivals` in seconds since the epoch, as `began` is."""
    found = [0] * (1 + max((int((at - began) / BUCKET) for at, _ in arrivals), default=0))
    for at, size in arrivals:
        found[max(0, int((at - began) / BUCKET))] += size
    return found


async def _traffic(
    endpoint: Endpoint, began: float, first: PageStudy, second: PageStudy
) -> Traffic | None:
    """What the endpoint's local proxy counted; None: it is none of ours."""
    address = urlsplit(endpoint.proxy or "")
    if address.scheme != "http" or not address.hostname or not address.port:
        return None
    try:
        answer = await fetch(address.hostname, address.port)
        status = msgspec.json.decode(answer, type=StatusSnapshot)
    except (NoAnswer, msgspec.DecodeError):
        return None
    return counted(status, first.page, second.page, age=time.time() - began)  # noqa: TID251


def counted(status: StatusSnapshot, first: str, second: str, *, age: float) -> Traffic:
    """Of two pages, by the ends of their addresses; `age`: seconds since the first navigation."""
    history = status.history
    began = status.uptime - age
    skipped = max(0, int(began / history.bucket) - history.first)
    offset = (history.first + skipped) * history.bucket - began

    def of(page: str) -> list[int]:
        own = [history.series[d] for d, url in history.labels.items() if url.endswith(page)]
        return [sum(sizes) for sizes in zip(*own, strict=True)][skipped:]

    return Traffic(of(first), of(second), offset)


def _bands(figures: dict[str, Any], traffic: Traffic, *, end: float) -> Bands:
    """Who had the link until `end`, with what the reader did and saw."""
    curves = {
        figures["first_page"].split("/")[0]: _rates(traffic.first, traffic, end),
        figures["second_page"].split("/")[0]: _rates(traffic.second, traffic, end),
    }
    marks = [Mark(AFTER, "second opened")]
    if figures["second_text_s"] is not None:
        marks.append(Mark(AFTER + figures["second_text_s"], "its text is there"))
    marks.append(Mark(figures["switched_s"], "back to the first"))
    return of_documents(f"Who had the link: {figures['peer']}", curves, marks)


def _rates(sizes: Sequence[int], traffic: Traffic, end: float) -> list[tuple[float, float]]:
    """Bytes/second from the beginning of each bucket, 0 from the last one's end until `end`."""
    begins = [max(0.0, traffic.offset + BUCKET * number) for number in range(len(sizes) + 1)]
    rates = [size / BUCKET for size in sizes] + [0.0]
    found = [one for one in zip(begins, rates, strict=True) if one[0] < end]
    return [(round(at, 3), rate) for at, rate in [*found, (end, 0.0)]]


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
