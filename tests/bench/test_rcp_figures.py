"""Tests of the RCP paper's figures in small."""

from __future__ import annotations

from statistics import mean

import pytest

from bench.scenarios.rcp import (
    r2cp_paths,
    r2cp_pulled_out,
    rcp_friendly,
    rcp_sleep,
    rcp_wireless,
)
from bench.scenarios.rcp.r2cp_handoff import HANDOFFS, B
from bench.scenarios.rcp.r2cp_handoff import observe as observe_handoff
from bench.scenarios.rcp.rcp_friendly import FlowMix, observe
from bench.scenarios.rcp.rcp_wireless import LossyRun, throughput
from emulation.dumbbell.flows import PACKET
from transport.rcp.settings import RcpSettings

FAIR = 1_250_000 / 4 * 1_160 / PACKET
"""Bytes/second of data that each of four flows may have."""


def test_a_mix_is_looked_at_at_each_time_that_it_reaches() -> None:
    short, long = (observe(FlowMix(2, 2, 0, 1, seconds)) for seconds in (10.0, 60.0))
    assert (len(short.means), len(long.means)) == (1, 2)
    assert long.means[1] == pytest.approx(FAIR, rel=0.05)
    assert 0 < long.spreads[1] < 1
    assert long.dropped == 0
    assert observe(FlowMix(2, 2, 0, 1, 10.0)) == short
    assert observe(FlowMix(2, 2, 0, 2, 10.0)) != short


def test_bursts_take_from_the_way_back_what_they_need() -> None:
    mixed = [observe(FlowMix(0, 4, 100, seed, 20.0)) for seed in range(1, 7)]
    assert all(0.3 < one.dropped < 0.5 for one in mixed)
    assert mean(one.means[0] for one in mixed) > 0.85 * FAIR, "one differs by .05 from the next"


def test_checks_are_those_of_the_figures() -> None:
    found = rcp_friendly.run(
        runs=2, seconds=10.0, proportions=(0, 20), bursts=(0,), say=lambda _: None
    )
    assert [name[:2] for name in found["checks"]] == ["4a", "4b", "4c"]
    assert [row.get("rcp") for row in found["runs"][:2]] == [0, 20]
    assert found["runs"][2]["ratio"] == pytest.approx(
        found["runs"][1]["mean"] / found["runs"][0]["mean"], rel=0.02
    )


def test_notices_help_where_the_air_loses() -> None:
    rates = {kind: throughput(LossyRun(kind, 0.05, 1, 30.0)) for kind in rcp_wireless.KINDS}
    assert rates["RCP-ELN"] > rates["TCP-ELN"] > rates["TCP"]
    assert throughput(LossyRun("RCP", 0.0001, 1, 30.0)) > 2 * rates["RCP"]


def test_one_loss_has_a_row_and_two_checks() -> None:
    found = rcp_wireless.run(runs=1, seconds=10.0, losses=(0.05,), say=lambda _: None)
    (row,) = found["runs"]
    assert row["loss"] == 0.05 and row["RCP-ELN"] > row["TCP"]
    goals = {name: check.goal for name, check in found["checks"].items()}
    assert goals == {"5a: 5.00% lost, RCP-ELN": "> 1", "5a: 5.00% lost, RCP": ">= 1"}


def test_two_paths_are_held_against_the_sum_and_the_better_one() -> None:
    first, *_ = r2cp_paths.cases((1,), (0.21,))
    row = r2cp_paths.measure(first, seconds=24.0, seed=1)
    assert row["R2CP"] > 0.95 > row["best_alone"] > 0.7 > row["turns"]
    assert {case.part for case in r2cp_paths.cases((1,), (0.21,))} == {"9a", "9b", "beyond"}


def test_a_download_goes_on_over_another_network() -> None:
    bare = observe_handoff(HANDOFFS[1], at=6.0, seconds=15.0)
    assert 0 < bare.gap <= 2 * bare.round_trip + 0.1
    assert bare.after == pytest.approx(B.rate * RcpSettings().size / PACKET, rel=0.05)
    times = [at for at, _ in bare.curve]
    assert times == sorted(times) and times[-1] == pytest.approx(15.0)


def test_over_two_at_once_nothing_comes_twice() -> None:
    both = observe_handoff(HANDOFFS[3], at=6.0, seconds=15.0)
    assert both.twice == 0
    assert both.after > 1.8 * observe_handoff(HANDOFFS[0], at=6.0, seconds=15.0).after


def test_each_kind_of_going_has_a_row_and_two_checks() -> None:
    found = r2cp_pulled_out.run(runs=1, size=300_000, say=lambda _: None)
    assert len(found["runs"]) == 4
    assert [row["whole"] for row in found["runs"]] == [1] * 4
    assert len(found["checks"]) == 8
    # Who says that it goes costs less than who swallows all.
    stalls = [row["stall_s"] for row in found["runs"]]
    assert stalls[0] < stalls[2] < 1.0


def test_who_sleeps_saves_energy_and_the_report_shows_both_axes() -> None:
    found = rcp_sleep.run(runs=2, seconds=40.0, bad=(1.0, 6.0), say=lambda _: None)
    assert [row["bad_s"] for row in found["runs"]] == [1.0, 6.0]
    power = [found["checks"][f"5c: bad for {length} s, power"] for length in (1, 6)]
    assert all(check.ok for check in power)
    assert power[1].value < power[0].value, "the longer it sleeps, the more it saves"
    assert [chart.title[:9] for chart in found["exhibits"]] == ["Figure 5c"] * 2
