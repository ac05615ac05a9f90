"""Tests of ImTCP's figures on shorter runs: what holds already there, and that all is said."""

from __future__ import annotations

import pytest

from bench.scenarios.imtcp import (
    imtcp_background,
    imtcp_flow,
    imtcp_full_speed,
    imtcp_share,
    imtcp_web,
)

BackgroundCase = imtcp_background.BackgroundCase


def silent(_: str) -> None:
    """Nobody listens."""


def test_a_connection_that_measures_knows_more_than_its_own_rate() -> None:
    found = imtcp_flow.run(lines=("1.6M",), seconds=110.0, say=silent)
    rows = {row["shape"]: row for row in found["runs"]}
    for row in rows.values():
        assert row["error"] <= 0.2
        assert row["of_reno"] >= 0.95
        assert row["measurements"] > 200
    assert len(found["exhibits"]) == 4
    assert set(found["checks"]) >= {"1.6M, steps: error in the median", "1.6M, slopes: throughput"}


def test_what_is_behind_is_not_noticed_in_front() -> None:
    found = imtcp_background.run(seconds=60.0, kinds=("ImTCP",), say=silent)
    assert all(check.ok for check in found["checks"].values()), found["checks"]
    (ours,) = (row for row in found["runs"] if row["beside"] == "ping")
    reno = imtcp_background.ping_beside(BackgroundCase("Reno", "ping", 20.0, 1))
    assert reno["median"] > 5 * ours["median"]
    (front, behind) = found["exhibits"][-1].lines
    assert (front.label, behind.label) == ("in front", "behind: ImTCP")


def test_the_airs_losses_cost_little_at_full_speed() -> None:
    found = imtcp_full_speed.run(seconds=40.0, runs=1, losses=(0.05,), fast=False, say=silent)
    shares = {row["kind"]: row["share"] for row in found["runs"]}
    assert shares["ImTCP"] > shares["Westwood"]
    assert shares["ImTCP"] > 1.5 * shares["Reno"]
    (chart,) = found["exhibits"]
    assert chart.groups == ["5.00%"]


def test_connections_that_measure_share_a_line() -> None:
    found = imtcp_share.run(runs=1, seconds=12.0, counts=(2,), pauses=("0", "adaptive"), say=silent)
    kinds = [row["kind"] for row in found["runs"] if row["figure"] == "18"]
    assert kinds == ["Reno", "ImTCP"]
    ratios = {row["pause"]: row["ratio"] for row in found["runs"] if row["figure"] == "20"}
    assert set(ratios) == {"0", "adaptive"}
    assert all(ratio > 0.2 for ratio in ratios.values())
    assert len(found["exhibits"]) == 3


def test_jains_index_is_one_where_all_have_the_same() -> None:
    assert imtcp_share.fairness([3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert imtcp_share.fairness([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)


def test_readers_notice_a_transfer_less_that_is_in_the_background() -> None:
    found = imtcp_web.run(runs=1, seconds=24.0, clients=150, say=silent)
    rows = {row["transfer"]: row for row in found["runs"]}
    assert rows["none"]["transfer_mbit"] == 0
    assert rows["none"]["pages"] > 100
    assert rows["background"]["transfer_mbit"] > 3
    assert rows["background"]["page_mean_s"] < rows["Reno"]["page_mean_s"] * 1.1
    assert len(found["exhibits"]) == 3
    assert len(found["checks"]) == 5
