"""Roles and budgets of interfaces: what may cross when, and what a connection then does."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.memory.memory_paths import ByteLink, MemoryPaths
from tests.transport.test_multipath import QUICK, SLOW, run
from transport.multipath.duty import Duty
from transport.paths.budget import AHEAD, MonthlyBudget, byte_size, renewed
from transport.paths.terms import CONTROLS, PathTerms, all_terms
from transport.spp.congestion.bottleneck import BottleneckBased
from transport.spp.congestion.new_reno import NewReno

NOVEMBER = datetime(2026, 11, 1)
END = datetime(2026, 11, 30, 23, 59)
DATA = random.Random(4).randbytes(1_500_000)


def test_sizes_are_as_operators_count() -> None:
    assert byte_size("2 GB") == 2_000_000_000
    assert byte_size("1.5MB") == 1_500_000
    for wrong in ("", "2", "2 gb", "-1 GB", "1e9 GB", "2 GB\n", "9999999 kB"):
        with pytest.raises(ValueError, match="no size such as 2 GB"):
            byte_size(wrong)


def test_a_budget_is_spread_over_the_month_with_a_part_ahead() -> None:
    budget = MonthlyBudget(1_000)
    budget.add(99, NOVEMBER)
    assert budget.duty(NOVEMBER) is Duty.USE
    budget.add(1, NOVEMBER)
    assert budget.duty(NOVEMBER) is Duty.SPARE, "its part ahead is gone"
    assert budget.duty(NOVEMBER + timedelta(days=1)) is Duty.USE
    budget.add(499, NOVEMBER)
    assert budget.duty(datetime(2026, 11, 15)) is Duty.SPARE
    assert budget.duty(datetime(2026, 11, 16)) is Duty.USE, "half of the month, and the part ahead"
    budget.add(401, END)
    assert budget.duty(END) is Duty.NONE
    assert budget.duty(datetime(2026, 12, 1)) is Duty.USE
    assert budget.spent == 0


def test_a_clock_that_goes_back_a_month_gives_nothing_back() -> None:
    budget = MonthlyBudget(1_000, month="2026-11", spent=1_000)
    assert budget.duty(datetime(1970, 1, 1)) is Duty.NONE
    assert budget.duty(datetime(1970, 2, 1)) is Duty.USE, "months go on by the clock there is"


def test_the_year_ends_with_december() -> None:
    assert renewed(datetime(2026, 12, 31, 23)) == datetime(2027, 1, 1)
    assert renewed(datetime(2026, 11, 1)) == datetime(2026, 12, 1)


@given(st.integers(1, 10**12), st.lists(st.tuples(st.integers(0, 10**11), st.floats(0, 0.999))))
def test_a_path_is_never_used_ahead_of_its_part(
    size: int, crossings: list[tuple[int, float]]
) -> None:
    budget, month = MonthlyBudget(size), renewed(NOVEMBER) - NOVEMBER
    for crossed, part in sorted(crossings, key=lambda one: one[1]):
        now = NOVEMBER + part * month
        duty = budget.duty(now)
        assert (duty is Duty.NONE) == (budget.spent >= size)
        if duty is Duty.USE:
            assert budget.spent <= (part + AHEAD) * size + 1
        budget.add(crossed, now)


def test_terms_are_those_that_settings_have() -> None:
    terms = all_terms({"wwan0": "metered", "sat0": "spare"}, {"wwan0": "2 GB"}, {"sat0": "newreno"})
    assert isinstance(terms.of("sat0").congestion(), NewReno)
    assert isinstance(terms.of("wlan0").congestion(), BottleneckBased)
    assert set(CONTROLS) == {"bottleneck", "newreno", "background"}
    assert terms.of("wwan0").budget is terms.of("wwan0").budget is not None, "counted once"
    assert terms.of("wlan0").settings.keep_alive == 25.0
    assert (terms.of("wwan0").settings.keep_alive or 0) >= 600, "silence costs little"


class World:
    """Two paths, of which the last has terms; a download of DATA over them."""

    def __init__(self, terms: PathTerms, *, metered: int = 1) -> None:
        self.paths = MemoryPaths([])
        for place, profile in enumerate((QUICK, SLOW)):
            self.paths.open(profile, terms=terms if place == metered else None)
        self.near, self.far = ByteLink(self.paths.device), ByteLink(self.paths.remote)

    async def download(self) -> list[int]:
        """To the byte; what each path that is left has carried of it."""
        before = len(self.near.got)
        self.far.write(DATA)
        await self.near.has(before + len(DATA))
        assert bytes(self.near.got[before:]) == DATA
        return [path.carried for path in self.paths.device.statistics()]


@pytest.mark.long
def test_a_spare_path_carries_nothing_either_way_until_it_is_needed() -> None:
    async def scenario() -> None:
        world = World(PathTerms("spare"), metered=0)  # the quick one
        await asyncio.sleep(1)
        quick, slow = await world.download()
        assert (quick, slow) == (0, len(DATA))
        crossed = world.paths.wires[0].near.crossed
        world.near.write(DATA[:100_000])
        await world.far.has(100_000)
        assert world.paths.wires[0].near.crossed - crossed < 1_000
        assert [path.spare for path in world.paths.device.statistics()] == [True, False]
        world.paths.cut(1)
        await world.download()
        world.near.write(DATA[:100_000])
        await world.far.has(200_000)
        assert world.paths.device.statistics()[0].carried > 0.9 * len(DATA)

    run(scenario)


@pytest.mark.long
@pytest.mark.parametrize("metered", [0, 1])
def test_a_path_is_left_once_its_budget_is_spent_and_nothing_is_lost(metered: int) -> None:
    async def scenario() -> None:
        budget = MonthlyBudget(300_000)
        # Late in the month, so that it may be used for all of it.
        world = World(PathTerms("metered", budget, now=lambda: END), metered=metered)
        await asyncio.sleep(1)
        left = await world.download()
        assert len(left) == 1
        assert 0.97 * budget.size <= budget.spent <= 1.005 * budget.size
        await asyncio.sleep(5)
        crossed = world.paths.paths[metered].link.crossed
        assert budget.spent <= crossed < budget.spent + 200, "its goodbye"
        await world.download()
        assert world.paths.paths[metered].link.crossed == crossed, "not a byte more"

    run(scenario)


@pytest.mark.long
def test_what_is_ahead_of_its_time_is_spared_for_when_no_other_answers() -> None:
    async def scenario() -> None:
        budget = MonthlyBudget(5_000_000)
        world = World(PathTerms("metered", budget, now=lambda: NOVEMBER))
        await asyncio.sleep(1)
        await world.download()
        ahead = round(AHEAD * budget.size)
        assert budget.spent < ahead + 20_000
        assert [path.spare for path in world.paths.device.statistics()][1] == (
            budget.spent >= ahead
        )
        await world.download()
        assert budget.spent < ahead + 20_000
        assert [path.spare for path in world.paths.device.statistics()] == [False, True]
        world.paths.cut(0)
        await world.download()
        assert budget.spent > len(DATA), "better early than not at all"

    run(scenario)


class Once:
    """Says once that nothing more may cross, while something is on its way."""

    def __init__(self) -> None:
        self.due = self.said = False

    def left(self) -> None:
        return None

    def duty(self, owed: int) -> Duty:
        if self.due and owed and not self.said:
            self.said = True
            return Duty.NONE
        return Duty.USE


def test_a_path_that_was_to_be_left_is_left_though_what_stood_over_it_counts_no_more() -> None:
    """Else the only path would be open for ever, and asked for nothing."""
    meter = Once()

    class Terms(PathTerms):
        def meter(self, link: object) -> Once:
            return meter

    async def scenario() -> None:
        paths = MemoryPaths([])
        paths.open(QUICK, terms=Terms())
        near, far = ByteLink(paths.device), ByteLink(paths.remote)
        far.write(DATA[:50_000])
        await near.has(50_000)
        await asyncio.sleep(5)  # by now a window stands with the remote
        meter.due = True
        near.write(b"a turn")
        await asyncio.sleep(5)
        assert meter.said
        assert near.over.is_set()

    run(scenario)
