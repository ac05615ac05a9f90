"""Pages one after another in one browser, as a reader visits them, caches and connections warm.

Any page directory, any list of URLs, any policies. Each peer gets its own browser and visits all
pages in order, `runs` times round, so that the second round shows what caches are worth. Measured
is what page_load.py measures of a cold load.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from bench.origins.endpoint import PageAccess
from bench.origins.site import Address, spawn
from bench.pages.page_load import PageStudy, TabView, opened, study
from bench.pages.page_result import PageLoad
from bench.pairs.peers import DirectPeer, Peer, SluicePeer
from bench.reports.report import Check, table
from bench.rivals.registry import line_up
from bench.scenarios.pages.page_load import PAGES, SITE
from emulation.lines.profiles import profile

ROUNDS: Final = 2
NOWHERE: Final[Address] = ("127.0.0.1", 9)
"""In place of an origin where URLs name their own."""


@dataclass(frozen=True, slots=True)
class Itinerary:
    """Where to go. Pages are paths below `site`, or whole URLs where that is None."""

    pages: Sequence[str]
    site: Path | None

    @asynccontextmanager
    async def origin(self) -> AsyncIterator[Address]:
        if self.site is None:
            yield NOWHERE
        else:
            async with spawn(self.site) as address:
                yield address

    def known_by(self, endpoint: PageAccess) -> PageAccess:
        """The endpoint as these pages need it: URLs are whole already."""
        return endpoint if self.site is not None else replace(endpoint, base="")


def itinerary(page: Path | None, urls: Path | None) -> Itinerary:
    """The addresses in a page folder, a folder of those, or a file of URLs; without any, the sample
    site's.

    Raises ValueError that says what is wrong with it, OSError.
    """
    if page is not None and urls is not None:
        raise ValueError("--page and --urls exclude each other")
    if urls is not None:
        return Itinerary(read_urls(urls), None)
    if page is None:
        return Itinerary(PAGES, SITE)
    if (page / "index.html").is_file() and not any(page.glob("*/index.html")):
        return Itinerary((f"{page.resolve().name}/index.html",), page.resolve().parent)
    found = [f"{file.parent.name}/index.html" for file in sorted(page.glob("*/index.html"))]
    if not found:
        raise ValueError(f"{page}: neither a page nor a folder of pages: no index.html")
    return Itinerary(found, page)


def read_urls(file: Path) -> list[str]:
    """One a line; empty lines and those that begin with # are left out. Raises ValueError."""
    lines = [line.strip() for line in file.read_text().splitlines()]
    urls = [line for line in lines if line and not line.startswith("#")]
    for url in urls:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise ValueError(f"{file}: {url!r} is no http or https address")
    if not urls:
        raise ValueError(f"{file}: no address in it")
    return urls


def travellers(
    names: Sequence[str] | None, policies: Sequence[str], where: Itinerary
) -> list[Peer]:
    """The peers by name, then the pair once under each policy. Raises ValueError."""
    if names is None:  # Nothing but a proxy reaches many hosts over one link.
        names = ["direct"] if where.site else []
        policies = policies or ("default",)
    if where.site is None and (direct := [name for name in names if name.startswith("direct")]):
        raise ValueError(f"{direct[0]} reaches one host over the link: leave it out of --peers")
    pairs = [SluicePeer(name=f"sluice, {policy}", policy=policy) for policy in policies]
    found = [*(line_up(names, site=where.site or SITE).peers if names else ()), *pairs]
    if not found:
        raise ValueError("nobody is to browse: name --peers or --policy")
    return found


async def run(
    *,
    profile_name: str = "384k",
    page: Path | None = None,
    urls: Path | None = None,
    runs: int = ROUNDS,
    peer_names: Sequence[str] | None = None,
    policies: Sequence[str] = (),
) -> dict[str, Any]:
    """The scenario: `runs` rounds of all pages by each of `peer_names` and under each policy."""
    where, link = itinerary(page, urls), profile(profile_name)
    peers = travellers(peer_names, policies, where)
    loads: list[tuple[int, PageLoad]] = []
    async with where.origin() as origin:
        known = await _studies(where, origin)
        for peer in peers:
            async with peer.start(origin, link) as endpoint:
                found = await tour(where.known_by(endpoint), known, peer, rounds=runs)
            loads += found
    rows = [{"visit": _visit(round), **load.as_json()} for round, load in loads]
    for number in range(runs):
        print(f"\n{_visit(number)}")
        print(table([row for row in rows if row["visit"] == _visit(number)]))
    return {
        "runs": rows,
        "checks": checks(rows),
        "loads": [load for _, load in loads],
    }


def _visit(number: int) -> str:
    return "first visit" if number == 0 else f"visit {number + 1}"


async def _studies(where: Itinerary, origin: Address) -> list[PageStudy]:
    """What each page ends up as, over no slow link."""
    reference: Peer = DirectPeer() if where.site else SluicePeer()
    async with reference.start(origin, profile("fast")) as fast:
        return [await study(where.known_by(fast), page) for page in where.pages]


async def tour(
    endpoint: PageAccess, known: Sequence[PageStudy], peer: Peer, *, rounds: int
) -> list[tuple[int, PageLoad]]:
    """All pages in one tab, `rounds` times; each load with its round's number, from 0."""
    found = []
    async with opened(endpoint) as browser:
        view = await TabView.on(await browser.new_tab())
        for number in range(rounds):
            for page in known:
                load = await view.visit(endpoint, page, peer=peer.name, policy=peer.policy)
                found.append((number, load))
                print(f"{peer.name}, {page.page}, {_visit(number)}: {_said(load)}", flush=True)
                await asyncio.sleep(0)
    return found


def _said(load: PageLoad) -> str:
    row = load.as_json()
    times = (f"{name} {row[f'{name}_s'] or '-'}" for name in ("text", "painted", "final"))
    return ", ".join([*times, f"{load.bytes_down / 1000:.0f} kB down"])


def checks(rows: Sequence[dict[str, Any]]) -> dict[str, Check]:
    """Every page is whole at each visit, and another visit costs no more than the first."""
    found: dict[str, Check] = {}
    for name in dict.fromkeys(row["peer"] for row in rows):
        own = [row for row in rows if row["peer"] == name]
        whole = sum(row["final_s"] is not None for row in own)
        found[f"{name}: visits that end with every final pixel"] = Check(
            whole, f"of {len(own)}", f"at least {len(own)}", whole == len(own)
        )
        first = sum(row["bytes_down"] for row in own if row["visit"] == _visit(0))
        second = sum(row["bytes_down"] for row in own if row["visit"] == _visit(1))
        if any(row["visit"] == _visit(1) for row in own):
            share = round(100 * second / first, 1) if first else None
            found[f"{name}: bytes down of the second visits"] = Check(
                share, "% of the first", "at most 20", share is not None and share <= 20
            )
    return found
