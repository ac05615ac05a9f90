"""Tests of how links of streams, and those of virtual time, are measured against their profiles."""

from __future__ import annotations

import asyncio

import pytest

from emulation.accuracy import stream_accuracy
from emulation.accuracy.accuracy import Spread, altered, link
from emulation.accuracy.stream_accuracy import BusyLink, added_delay, busy, in_memory
from emulation.memory.virtual_time import run as run_virtually
from emulation.worlds.cables import Cable
from emulation.worlds.world import emulate
from tests.watched import run


@pytest.mark.parametrize("rate_bits", [64e3, 1e6, 20e6])
def test_a_link_in_memory_has_its_rate_and_its_delay(rate_bits: float) -> None:
    profile = link(rate_bits, delay=0.05)
    rate, late = run_virtually(in_memory(profile, seconds=1.0))
    assert rate == pytest.approx(profile.rate_down, rel=0.02)
    assert late == pytest.approx(0.0, abs=1e-6)


def test_jitter_shows_as_lateness() -> None:
    profile = altered(link(1e6, delay=0.05), jitter=0.04)
    _, late = run_virtually(in_memory(profile, seconds=1.0))
    assert 0 < late <= 0.04


def test_a_link_that_is_later_or_sooner_than_its_profile_is_found_out() -> None:
    async def measured(said: float) -> Spread:
        async with emulate(link(8e6, delay=0.02), backend="relay") as world:
            said_cable = Cable("near", "far", link(8e6, delay=said))
            return await added_delay(Told(world, said_cable), count=3)  # type: ignore[arg-type]

    late = run(measured(0.005))
    assert late.median >= 0.0149
    assert late.percentile_99 >= late.median
    assert run(measured(0.02)).median >= -1e-3  # nothing is there before the link brings it
    assert run(measured(5.0)).median < -4.0


def test_a_busy_link_tells_its_rate_and_what_its_relay_hides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_accuracy, "SETTLE", 0.02)

    async def measured() -> BusyLink:
        async with emulate(link(8e5, delay=0.001, queue=65_536), backend="relay") as world:
            return await busy(world, seconds=0.15)

    rate, hidden = asyncio.run(measured())
    assert 0 < rate < 500_000  # a link of 100 000 bytes/s, and a loop that others hold up
    assert 10_000 < hidden < 200_000


class Told:
    """A world whose cable claims to be another one."""

    def __init__(self, world: object, cable: Cable) -> None:
        self.world = world
        self.cables = [cable]

    def __getattr__(self, name: str) -> object:
        return getattr(self.world, name)
