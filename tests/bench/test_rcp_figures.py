"""Tests of the RCP paper's figures in small."""

from __future__ import annotations

import pytest

from bench.scenarios.rcp import rcp_friendly, rcp_wireless
from bench.scenarios.rcp.rcp_friendly import FlowMix, observe
from bench.scenarios.rcp.rcp_wireless import LossyRun, throughput
from emulation.dumbbell.flows import PACKET

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
    mixed = observe(FlowMix(0, 4, 100, 1, 20.0))
    assert 0.3 < mixed.dropped < 0.5
    assert mixed.means[0] > 0.85 * FAIR


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
