"""Policies hear of the link in a running pair, in virtual time: what it carries, not what was
said over it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

import pytest

from bench.origins.synthetic import Shelf, page, prepared
from bench.pairs.pair import memory_pair
from emulation.lines.profiles import profile
from emulation.memory.memory import LinkModel, MemoryLink
from emulation.memory.virtual_time import run
from policies.api import (
    BandwidthChanged,
    Command,
    Event,
    SessionOpened,
    SessionView,
    WatchBandwidth,
)
from policies.builtin.default import Default
from policies.builtin.modal import Modal
from remote_proxy.jobs.services import Services

RATE = 200_000.0
"""Bytes/second towards the device."""
LINK = LinkModel(rate_up=50_000, rate_down=RATE, delay=0.04)


class Listening:
    """Hears of every change by a tenth."""

    name = "listening"

    def __init__(self) -> None:
        self.heard: list[float] = []

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield WatchBandwidth(low=1e9)
        if isinstance(event, BandwidthChanged):
            self.heard.append(event.rate)
            yield WatchBandwidth(low=0.9 * event.rate, high=1.1 * event.rate)


@pytest.mark.parametrize("rest", [1.0, 60.0, 600.0])
def test_a_small_answer_after_a_rest_does_not_make_the_link_slow(rest: float) -> None:
    large = page("http://page.test/", text=6_000, large=600_000)
    small = page("http://small.test/", text=60, large=0)
    policy, made = Listening(), prepared([large])

    async def go() -> None:
        services = Services(Shelf([large, small]), made)
        async with memory_pair(LINK, services, [Default(), policy]) as pair:
            await pair.load(large.url)
            for _ in range(3):
                await asyncio.sleep(rest)
                await pair.load(small.url)

    run(go())
    assert policy.heard, "nothing was said of the link"
    assert min(policy.heard) > 0.85 * RATE
    assert max(policy.heard) < 1.15 * RATE


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_a_change_of_the_link_is_heard_of_within_two_seconds_of_use(factor: float) -> None:
    pages = [page(f"http://{name}.test/", text=6_000, large=900_000) for name in "ab"]
    policy, made = Listening(), prepared(pages)

    async def go() -> float:
        async with memory_pair(LINK, Services(Shelf(pages), made), [Default(), policy]) as pair:
            await pair.load(pages[0].url)
            await asyncio.sleep(60)
            link = pair.remote.link
            assert isinstance(link, MemoryLink)
            link.outgoing.set_rate(factor * RATE)
            loading = asyncio.ensure_future(pair.load(pages[1].url))
            await asyncio.sleep(2.0)
            heard = policy.heard[-1]
            loading.cancel()
            return heard

    assert run(go()) == pytest.approx(factor * RATE, rel=0.15)


def test_a_fade_over_a_modem_is_heard_to_its_end() -> None:
    """What is under way fills the line for seconds, in which nothing is sent that would tell."""
    modem = LinkModel(rate_up=4_200, rate_down=7_000, delay=0.05)
    pages = [page(f"http://{name}.test/", text=6_000, large=60_000) for name in "ab"]
    policy, made = Listening(), prepared(pages)

    async def go() -> float:
        async with memory_pair(modem, Services(Shelf(pages), made), [Default(), policy]) as pair:
            await pair.complete(await pair.load(pages[0].url))
            await asyncio.sleep(60)
            link = pair.remote.link
            assert isinstance(link, MemoryLink)
            link.outgoing.set_rate(700)
            loading = asyncio.ensure_future(pair.load(pages[1].url))
            await asyncio.sleep(5.0)
            loading.cancel()
            return policy.heard[-1]

    assert run(go()) == pytest.approx(700, rel=0.15)


def test_a_policy_that_leaves_pictures_out_lets_them_come_again() -> None:
    """The mode of a link on which only a word was said stays that of the link (ATP, 4.2)."""
    large = page("http://page.test/", text=6_000, large=300_000)
    small = page("http://small.test/", text=60, large=0)
    made = prepared([large])

    async def go() -> int:
        services = Services(Shelf([large, small]), made)
        async with memory_pair(LINK, services, [Default(), Modal()]) as pair:
            await pair.load(large.url)
            for _ in range(3):
                await asyncio.sleep(60)
                await pair.load(small.url)
            before = pair.remote.link.statistics().sent
            await pair.load(large.url)
            await asyncio.sleep(10)
            return pair.remote.link.statistics().sent - before

    assert run(go()) > 250_000, "its pictures came"


@pytest.mark.parametrize("name", ["56k", "384k", "1.6M", "satellite"])
def test_what_is_heard_in_minutes_of_browsing_is_what_the_link_carries(name: str) -> None:
    """Pages of all sizes, small answers and rests: never below half of it or above 1.3 times it for
    more than three seconds."""
    link = profile(name)
    share = link.rate_down / 200_000
    pages = [
        page(f"http://p{n}.test/", text=3_000 * (1 + n % 3), large=int(share * 150_000 * (n % 4)))
        for n in range(6)
    ]
    policy, made, rng = Listening(), prepared(pages), random.Random(1)
    model = LinkModel(rate_up=link.rate_up, rate_down=link.rate_down, delay=link.delay)
    told: list[tuple[float, float]] = []

    async def go() -> float:
        loop = asyncio.get_running_loop()
        services = Services(Shelf(pages), made)
        async with memory_pair(model, services, [Default(), policy]) as pair:
            began, known = loop.time(), 0
            while loop.time() < began + 240.0:
                await pair.load(rng.choice(pages).url)
                await asyncio.sleep(rng.expovariate(1 / rng.choice((1, 5, 30))))
                told.extend((loop.time(), rate) for rate in policy.heard[known:])
                known = len(policy.heard)
            return loop.time()

    run(go())
    assert policy.heard
    # Each is looked at when the next page is here, so several may be heard of at a time: of those
    # the last one holds.
    held = dict(told)
    assert all(0.5 * link.rate_down <= rate <= 1.3 * link.rate_down for rate in held.values())


@pytest.mark.parametrize("seed", range(5))
def test_modal_is_never_left_in_a_mode_that_the_link_has_left(seed: int) -> None:
    """Whatever the link did, pictures come once it carries them (ATP, 4.2). A mode with few
    pictures does not fill the link, so that each page may only find out about the next mode."""
    rng = random.Random(seed)
    pages = [page(f"http://p{n}.test/", text=6_000, large=250_000, seed=n + 1) for n in range(3)]
    small = page("http://small.test/", text=60, large=0)
    made = prepared(pages)

    async def go() -> int:
        services = Services(Shelf([*pages, small]), made)
        async with memory_pair(LINK, services, [Default(), Modal()]) as pair:
            link = pair.remote.link
            assert isinstance(link, MemoryLink)
            for _ in range(6):
                link.outgoing.set_rate(rng.choice((2_000, 10_000, 40_000, RATE)))
                await pair.load(rng.choice((*pages, small)).url)
                await asyncio.sleep(rng.choice((0.5, 5, 60)))
            link.outgoing.set_rate(RATE)
            for known in pages:
                before = link.statistics().sent
                await pair.load(known.url)
                await asyncio.sleep(20)
            return link.statistics().sent - before

    assert run(go()) > 200_000, "its pictures came"
