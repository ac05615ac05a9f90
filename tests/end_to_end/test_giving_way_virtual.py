"""Takes what others leave of a line, for what gives way: all of it while nobody is there.

Beside a download of somebody else's, through both proxies over UDP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

import pytest

from bench.origins.synthetic import File, Shelf, SyntheticPage, page, prepared
from bench.pairs.pair import Pair
from bench.pairs.udp_pair import udp_pair
from emulation.lines.profiles import profile
from emulation.memory.tcp_beside import TcpBeside
from emulation.memory.virtual_time import run
from local_proxy.http.model import Request
from policies.api import Command, Event, GiveWay, SessionOpened, SessionView
from policies.builtin.default import Default
from policies.builtin.polite import Polite
from remote_proxy.jobs.services import Services

ERRAND = "http://dl.gvt1.com/update"  # of a browser, for itself
BIG = page("http://big.test/", text=3_000, large=9_000_000)
UPDATE = SyntheticPage(ERRAND, {ERRAND: File("application/octet-stream", bytes(9_000_000))})
MADE = prepared([BIG])
LINK = profile("1.6M")
SECONDS = 30.0
NOTICED = 12.0
"""Seconds until who shares a queue has found out that it is his own (it is tried every 8 s)."""


class Pages:
    """A policy by which pages give way, those that are open and later ones."""

    name = "pages"

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield GiveWay(("browser", "*"))


class Shares(NamedTuple):
    """Parts of a line."""

    ours: float
    theirs: float
    alone: float
    """Ours, once they are over."""
    shown: tuple[list[str], list[str]]
    """Ways in which people are told that others use the line: then, and once they are over."""


async def fetch(pair: Pair, url: str) -> None:
    """As a browser does for itself: it is no page's."""
    response = await pair.local.core.handle(Request("GET", url, [("accept", "*/*")]))
    assert not isinstance(response.body, bytes)
    async for _ in response.body:
        pass


async def shares(*policies: Default | Pages | Polite, url: str, setting: str = "cubic") -> Shares:
    """A download, or a page that is too large, has so much beside somebody's download."""
    services = Services(Shelf([BIG, UPDATE]), MADE)
    async with udp_pair(LINK, services, [Default(), *policies], setting=setting) as (pair, path):
        loading = asyncio.create_task(pair.load(url) if url == BIG.url else fetch(pair, url))
        other = TcpBeside(path.down, delay=LINK.delay)

        def shown() -> list[str]:
            return pair.local.overview.snapshot().link.shared

        async def ours(seconds: float) -> float:
            before = pair.tap.received
            await asyncio.sleep(seconds)
            return (pair.tap.received - before) / seconds / LINK.rate_down

        await asyncio.sleep(3.0)
        other.start()
        beside = await ours(SECONDS)
        theirs = other.delivered / SECONDS / LINK.rate_down
        then = shown()
        other.stop()
        await asyncio.sleep(NOTICED)
        alone = await ours(4.0)
        told = then, shown()
        loading.cancel()
    return Shares(beside, theirs, alone, told)


def test_a_page_has_its_share() -> None:
    found = run(shares(url=BIG.url))
    assert found.ours >= 0.3
    assert found.theirs >= 0.3
    assert found.alone >= 0.85
    assert found.shown == (["down"], [])


@pytest.mark.parametrize(
    ("url", "policies", "setting"),
    [
        (BIG.url, (), "background"),
        (BIG.url, (Pages(),), "cubic"),
        (ERRAND, (), "cubic"),
    ],
    ids=["device", "pages", "errand"],
)
def test_what_gives_way_takes_what_is_left(
    url: str, policies: tuple[Pages, ...], setting: str
) -> None:
    found = run(shares(*policies, url=url, setting=setting))
    assert found.ours <= 0.1
    assert found.theirs >= 0.85
    assert found.alone >= 0.85
    assert found.shown == (["down"], [])
