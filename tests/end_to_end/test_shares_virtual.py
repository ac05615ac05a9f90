"""A scheduler reacts to the link itself: in a running pair, in virtual time, the link fades and the
page that needs bandwidth keeps it. Nobody tells the scheduler but the session that measures."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from bench.origins.synthetic import Shelf, page, prepared
from bench.pairs.pair import Pair, memory_pair
from emulation.memory.memory import LinkModel, MemoryLink
from emulation.memory.virtual_time import run
from policies.api import Command, DocumentOpened, Event, SessionView, SetScheduler
from policies.builtin.original import Original
from remote_proxy.jobs.services import Services

RATE = 100_000.0
"""Bytes/second towards the device."""
NEED = 30_000
FLOOR = 0.1
LINK = LinkModel(rate_up=50_000, rate_down=RATE, delay=0.04)


class FirstNeeds:
    """The first document needs bandwidth, the others get what is left."""

    name = "first-needs"

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, DocumentOpened):
            needs = {"needs": {str(min(view.documents)): NEED}, "floor": FLOOR}
            yield SetScheduler(("browser",), "bandwidth_shares", needs)


async def rates(pair: Pair, seconds: float) -> list[float]:
    """Bytes/second that each document got meanwhile, of what crossed the link."""
    before = len(pair.tap.arrivals)
    await asyncio.sleep(seconds)
    got = dict.fromkeys(pair.witness.documents.values(), 0)
    for arrival in pair.tap.arrivals[before:]:
        owner = pair.witness.document_of.get(arrival.component)
        if owner in got:
            got[owner] += arrival.size
    return [nbytes / seconds for nbytes in got.values()]


def test_a_page_keeps_what_it_needs_when_the_link_fades_and_shares_when_it_is_back() -> None:
    pages = [page(f"http://{name}.test/", text=6_000, large=4_000_000) for name in "abc"]
    made = prepared(pages)

    async def go() -> tuple[list[float], ...]:
        services = Services(Shelf(pages), made)
        async with memory_pair(LINK, services, [Original(), FirstNeeds()]) as pair:
            for one in pages:
                await pair.load(one.url)
            await asyncio.sleep(3.0)
            link = pair.remote.link
            assert isinstance(link, MemoryLink)
            found = []
            for rate in (RATE, 0.4 * RATE, 0.2 * RATE, RATE):
                link.outgoing.set_rate(rate)
                await asyncio.sleep(6.0)
                found.append(await rates(pair, 5.0))
            return tuple(found)

    wide, narrow, less, again = run(go())
    for first, *others in (wide, again):  # a third of the link is more than it needs
        assert 0.28 * RATE < first < 0.38 * RATE
        assert all(0.25 * RATE < other < 0.38 * RATE for other in others)
    assert 0.85 * NEED < narrow[0] < 1.1 * NEED  # a third by weight would be 13 KB/s
    assert all(3_000 < other < 6_500 for other in narrow[1:])
    assert 0.8 < less[0] / sum(less) < 0.95  # all that there is, but for the floor
    assert all(other > 500 for other in less[1:])
