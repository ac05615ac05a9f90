"""The verdicts on a page that comes over two paths."""

from __future__ import annotations

from typing import Any

from bench.scenarios.rcp.r2cp_page import judge

SIZE = 600_000
ALONE: dict[str, dict[str, float | None]] = {
    "first": {"text_s": 1.0, "painted_s": 6.0, "final_s": 12.5, "bytes_down": SIZE},
    "second": {"text_s": 2.0, "painted_s": 5.0, "final_s": 6.0, "bytes_down": SIZE},
}


def rows(**both: float | None) -> list[dict[str, Any]]:
    measured = {"text_s": 1.05, "painted_s": 4.0, "final_s": 4.0, "bytes_down": SIZE, **both}
    return [{"peer": name, **one} for name, one in {**ALONE, "both": measured}.items()]


def verdicts(**both: float | None) -> list[bool]:
    return [check.ok for check in judge(rows(**both), "384k + satellite").values()]


def test_text_pictures_and_all_of_it_are_judged_apart() -> None:
    assert verdicts() == [True, True, True]
    assert verdicts(text_s=1.11) == [False, True, True]
    assert verdicts(painted_s=4.3) == [True, False, True]  # .86 of the satellite's
    # 600 kB at 176 kB/s, and .6 s: 4.0 s; 4.6 are allowed.
    assert verdicts(final_s=4.7) == [True, True, False]


def test_what_did_not_happen_is_no_success() -> None:
    assert verdicts(text_s=None, painted_s=None, final_s=None) == [False, False, False]
