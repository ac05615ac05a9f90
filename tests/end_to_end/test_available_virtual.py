"""Policies and people are told what others leave of a link, through both proxies over UDP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from bench.origins.synthetic import Shelf, page, prepared
from bench.pairs.udp_pair import steady, udp_pair
from emulation.lines.profiles import profile
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
from remote_proxy.jobs.services import Services

BIG = page("http://big.test/", text=3_000, large=3_000_000)
MADE = prepared([BIG])
LINK = profile("384k")
BYTES = 0.93
"""Of the line's, that are a link's: the others are headers."""


class Told:
    """A policy that hears what the bandwidth is, and what others leave of it."""

    name = "told"

    def __init__(self) -> None:
        self.heard: list[tuple[float, float | None]] = []

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, BandwidthChanged):
            self.heard.append((event.rate, event.available))
        if isinstance(event, BandwidthChanged | SessionOpened):
            yield WatchBandwidth(low=1e12)


async def loaded(
    seconds: float, *, others: float, measures: bool, since: float = 0.0
) -> tuple[float, Told, int]:
    """Bytes/second that others leave, as the device has it after so many seconds of a page that is
    too large; 0: it was not told. With what a policy heard, and the bytes that came.

    `others`: of the line, from `since` on.
    """
    told = Told()
    services = Services(Shelf([BIG]), MADE)
    async with udp_pair(LINK, services, [Default(), told], measures=measures) as (pair, path):
        loading = asyncio.create_task(pair.load(BIG.url))
        await asyncio.sleep(since)
        beside = None
        if others:
            beside = asyncio.create_task(steady(path.down, rate=others * LINK.rate_down))
        await asyncio.sleep(seconds - since)
        session = pair.local.uplink.session
        assert session is not None
        now = asyncio.get_running_loop().time()
        available = session.available(now)
        shown = pair.local.overview.snapshot().link.available
        assert (shown is None) == (available is None)
        came = pair.tap.received
        for task in (loading, beside):
            if task is not None:
                task.cancel()
    return 0.0 if available is None else available.rate, told, came


@pytest.mark.parametrize("others", [0.0, 0.3, 0.6])
def test_policies_and_people_are_told_what_others_leave(others: float) -> None:
    available, told, _ = run(loaded(40.0, others=others, measures=True))
    left = BYTES * (1 - others) * LINK.rate_down
    assert available == pytest.approx(left, rel=0.2)
    assert told.heard[-1][1] is not None


def test_it_costs_less_than_a_hundredth_and_nothing_is_said_without_it() -> None:
    _, _, with_it = run(loaded(40.0, others=0.0, measures=True))
    available, told, without = run(loaded(40.0, others=0.0, measures=False))
    assert with_it >= 0.99 * without
    assert available == 0.0
    assert told.heard
    assert all(left is None for _, left in told.heard)


def test_others_that_begin_are_found_within_seconds() -> None:
    available, _, _ = run(loaded(32.0, others=0.6, measures=True, since=20.0))
    assert available == pytest.approx(BYTES * 0.4 * LINK.rate_down, rel=0.25)
