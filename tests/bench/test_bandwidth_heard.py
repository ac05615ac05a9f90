"""The bench of what policies hear: it judges as it says, and the pair keeps small runs of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bench.origins.synthetic import Prepared, Shelf, page, prepared
from bench.pairs.mending import mending_pair
from bench.pairs.pair import memory_pair
from bench.scenarios.bandwidth.bandwidth_heard import run
from bench.scenarios.bandwidth.hearing import EVERY, EveryChange, HeardSample, Hearing
from bench.scenarios.bandwidth.modal_sequences import (
    GOOD,
    POOR,
    REST,
    STEPS,
    ModalSequence,
    ModalWorld,
)
from bench.scenarios.bandwidth.outside import LATELY, judged
from bench.scenarios.bandwidth.rate_steps import StepPages, settled, stepped
from bench.scenarios.bandwidth.reading_tour import ReadingTour
from emulation.lines.profiles import profile
from emulation.lines.schedule import Steady
from emulation.memory.memory import LinkModel, MemoryLink
from emulation.memory.virtual_time import run as run_virtually
from policies.api import BandwidthChanged, SessionView
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from transport.link.interface import LinkError


def samples(*stretches: tuple[int, float | None, bool]) -> list[HeardSample]:
    """Makes so many of each, of a line of 100 bytes/second: what is heard, whether it is busy."""
    rows = [(heard, busy) for count, heard, busy in stretches for _ in range(count)]
    return [HeardSample(n * EVERY, heard, 100.0, busy) for n, (heard, busy) in enumerate(rows)]


def test_on_a_line_of_one_rate_rests_count_too() -> None:
    said = samples((10, None, True), (10, 100.0, True), (40, 140.0, False), (10, 60.0, False))
    verdict = judged(said, varies=False)
    assert verdict.first == pytest.approx(1.0)
    assert verdict.counted == pytest.approx(6.0)
    assert (verdict.longest, verdict.outside) == (pytest.approx(4.0), pytest.approx(4.0))
    assert verdict.longest_at == pytest.approx(2.0)
    assert verdict.share == pytest.approx(100 * 4 / 6)
    assert verdict.error == pytest.approx(40.0)


def test_on_a_line_that_varies_a_rest_stops_the_clock_and_does_not_end_a_stretch() -> None:
    said = samples((10, 100.0, True), (10, 40.0, True), (100, 40.0, False), (10, 40.0, True))
    verdict = judged(said, varies=True)
    assert verdict.longest == pytest.approx(1.0 + LATELY + 1.0, abs=0.2)
    assert verdict.counted == pytest.approx(1.0 + verdict.longest)


@pytest.mark.parametrize(
    ("heard", "outside"), [(49.0, True), (50.0, False), (130.0, False), (131.0, True)]
)
def test_the_bounds_are_half_and_a_third_more(heard: float, outside: bool) -> None:
    assert (judged(samples((5, heard, True)), varies=False).longest > 0) is outside


def test_where_nothing_was_said_nothing_counts() -> None:
    verdict = judged(samples((50, None, True)), varies=False)
    assert (verdict.first, verdict.counted, verdict.share) == (None, 0.0, 0.0)


@pytest.mark.parametrize(
    ("told", "within", "stays"),
    [
        ([(0.0, 100.0)], 0.0, 0.0),
        ([(0.0, 1000.0), (11.5, 110.0)], 1.5, 1.5),
        ([(0.0, 1000.0), (11.0, 90.0), (11.5, 200.0), (12.5, 100.0)], 1.0, 2.5),
        ([(0.0, 1000.0), (11.0, 90.0), (11.5, 200.0)], 1.0, None),
        ([(0.0, 1000.0), (16.0, 100.0)], None, None),
        ([], None, None),
    ],
)
def test_a_step_is_heard_once_what_is_told_is_close(
    told: list[tuple[float, float]], within: float | None, stays: float | None
) -> None:
    assert settled(told, 100.0, since=10.0, watched=5.0) == (within, stays)


def test_a_policy_whose_view_says_something_else_is_found_out() -> None:
    policy = EveryChange()
    assert policy.heard is None
    list(policy.react(BandwidthChanged(5.0), SessionView(now=1.0, bandwidth=5.0)))
    assert policy.heard == 5.0
    with pytest.raises(ValueError, match="the view says"):
        list(policy.react(BandwidthChanged(5.0), SessionView(bandwidth=6.0)))


def test_what_is_heard_and_what_the_line_carries_are_noted_ten_times_a_second() -> None:
    one = page("http://page.test/", text=6_000, large=200_000)
    policy, made = EveryChange(), prepared([one])
    model = LinkModel(rate_up=16_000, rate_down=48_000, delay=0.05)

    async def go() -> list[HeardSample]:
        async with memory_pair(model, Services(Shelf([one]), made), [Default(), policy]) as pair:
            assert isinstance(pair.remote.link, MemoryLink)
            async with Hearing(policy, pair.remote.link, Steady(48_000)) as hearing:
                await pair.complete(await pair.load(one.url))
                await asyncio.sleep(10.0)
            return hearing.samples

    found = run_virtually(go())
    assert found[-1].heard == pytest.approx(48_000, rel=0.1)
    assert {round(one.true) for one in found} == {48_000}
    busy = [one.busy for one in found]
    assert any(busy) and not any(busy[-80:])
    assert len(found) == pytest.approx(found[-1].at / EVERY, rel=0.02)


def test_a_tour_is_that_of_its_seed() -> None:
    one, again, other = (ReadingTour.drawn(rate=48_000, seed=seed) for seed in (1, 1, 2))
    sizes = [[page.size for page in tour.pages] for tour in (one, again, other)]
    assert sizes[0] == sizes[1] != sizes[2]
    assert len(one.messages) == 30 and len(one.files) == 2


@pytest.mark.parametrize("name", ["384k", "satellite"])
def test_a_fade_after_a_rest_is_heard_of_soon(name: str) -> None:
    link = profile(name)
    pages = StepPages.of(link.rate_down)
    made = prepared([pages.before, pages.after])
    step = stepped(link, pages, made, factor=0.1, rest=60.0)
    assert step.within is not None and step.within <= 2.0
    assert step.watched == 10.0


def test_sequences_are_drawn_within_their_bounds() -> None:
    drawn = [ModalSequence.drawn(seed) for seed in range(200)]
    assert ModalSequence.drawn(7) == drawn[7] != drawn[8]
    steps = [step for one in drawn for step in one.steps]
    assert {step.what for step in steps} == {"rate", "stop", "cut"}
    assert all(GOOD[0] <= one.good <= GOOD[1] for one in drawn)
    assert all(STEPS[0] <= len(one.steps) <= STEPS[1] for one in drawn)
    assert all(POOR <= step.amount <= GOOD[1] for step in steps if step.what == "rate")
    assert all(REST[0] <= step.rest <= REST[1] for step in steps)
    assert 60 < sum(one.reads_on for one in drawn) < 140


@pytest.mark.parametrize(
    "seed",
    [
        22,  # pictures are held back, and nobody asks for anything
        90,  # the same, with four links
        31,  # the mode has changed between two links
        56,  # the same the other way
        103,
    ],
)
def test_modal_loses_no_picture(seed: int) -> None:
    end = ModalWorld().play(ModalSequence.drawn(seed))
    assert end.ok, end.as_json()
    assert end.pictures


@pytest.mark.parametrize(
    "seed",
    [
        100059,  # a round trip of .5 s, taken for a hundredth of its rate
        100676,  # the same, which others seem to fill
    ],
)
def test_modal_hears_by_texts_alone_that_a_long_line_is_fast(seed: int) -> None:
    end = ModalWorld().play(ModalSequence.drawn(seed))
    assert end.ok, end.as_json()
    assert (end.pages or 20) <= 4


def test_a_cut_line_can_be_dialled_once_it_is_there_again() -> None:
    async def go() -> int:
        model = LinkModel(rate_up=20_000, rate_down=100_000, delay=0.05)
        async with mending_pair(model, Services(Shelf([]), Prepared({})), []) as pair:
            pair.line.cut(away=5.0)
            with pytest.raises(LinkError, match="no line"):
                await pair.line.dial()
            await asyncio.sleep(4.0)
            assert pair.local.uplink.session is None
            await asyncio.sleep(30.0)
            assert pair.local.uplink.session is not None
            return pair.line.links

    assert run_virtually(go()) == 2


def small(**more: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "seconds": 20.0, "links": ("384k",), "rests": (1.0,), "factors": (0.1,), "runs": 1,
        "say": lambda _: None,
    }  # fmt: skip
    return run(**(options | more))


def test_a_small_run_reports_each_part() -> None:
    found = small()
    assert [row["part"] for row in found["runs"]] == ["reading", "step"]
    assert len(found["checks"]) == 3
    assert all(check.ok for check in found["checks"].values())
    assert [one.title for one in found["exhibits"]] == [
        "What a policy hears, over what the line carries: 384k"
    ]
    assert small(seed=2)["runs"] != found["runs"]


def test_a_link_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no profile 'absent'"):
        small(links=("absent",))
