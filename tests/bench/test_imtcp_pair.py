"""The bench of what others leave of a link: a small run, and what its checks say."""

from __future__ import annotations

import pytest

from bench.scenarios.imtcp.imtcp_pair import run


def test_a_small_run_says_what_was_found_and_what_it_costs() -> None:
    report = run(lines=("384k",), shares=(0.4,), seconds=25.0)
    (row,) = report["runs"]
    assert row["results"] >= 3
    assert row["least_kbytes"] <= row["found_kbytes"] <= row["most_kbytes"]
    assert row["found_kbytes"] == pytest.approx(row["left_kbytes"], rel=0.15)
    assert abs(row["cost_pct"]) <= 1.0
    assert row["wait_ms"] <= row["wait_99_ms"]
    assert all(check.ok for check in report["checks"].values())
    assert not any("ping" in name for name in report["checks"])


def test_a_line_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match="no-such"):
        run(lines=("no-such",))
