"""The scheduler scenario in small: its form, its soundness, not its speed."""

from __future__ import annotations

from bench.scenarios.hats.scheduler import run


def test_the_scenario_reports_what_the_bench_expects() -> None:
    result = run(seed=3, operations=20_000, rounds=1, quiet=True)
    checks = result["checks"]
    assert set(checks) == {
        "pick_wf2q_plus",
        "pick_default",
        "pick_low_fidelity_first",
        "snapshot",
        "random_operations",
    }
    assert all(set(check) == {"value", "unit", "goal", "ok"} for check in checks.values())
    assert checks["random_operations"]["ok"] is True
