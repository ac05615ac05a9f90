"""Peers against each other, and which loads count."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.reports.comparison import checks, compared, table
from bench.reports.conditions import Conditions, Watched, processor_time, until_fit

IDLE = (0.0001, 0.001, 0.004)


def run(peer: str, text: float, painted: float | None, final: float | None) -> dict[str, Any]:
    times = {"text_s": text, "painted_s": painted, "final_s": final}
    return {"page": "news", "peer": peer, "bytes_down": 1000, **times}


RUNS = [
    *(run("direct", text, 10.0, 12.0) for text in (0.9, 0.5, 0.7)),
    run("direct-h2", 1.4, 12.0, 12.0),
    *(run("ziproxy", 0.8, painted, None) for painted in (4.0, 5.0)),
    *(run("sluice", text, 1.8, 12.0) for text in (0.7, 0.8, 0.6)),
]


def test_rows_have_median_range_and_ratios_to_direct_and_ours() -> None:
    direct, http2, ziproxy, ours = compared(RUNS)
    assert direct["text"] == {"median": 0.7, "least": 0.5, "most": 0.9}
    assert ziproxy["painted"]["median"] == 4.5
    assert ziproxy["to_direct"]["painted"] == 0.45
    assert ziproxy["to_sluice"]["painted"] == 2.5
    assert http2["to_direct"]["text"] == 2.0
    assert (ours["runs"], ours["kb_down"]) == (3, 1.0)


def test_what_never_happens_has_no_ratio() -> None:
    ziproxy = compared(RUNS)[2]
    assert ziproxy["final"] is None
    assert ziproxy["to_direct"]["final"] is None
    alone = compared([run("squid", 1.0, 2.0, 3.0)])[0]
    assert alone["to_direct"] == alone["to_sluice"] == dict.fromkeys(("text", "painted", "final"))


def test_the_table_shows_spread_where_there_is_one() -> None:
    lines = table(compared(RUNS)).splitlines()
    assert [line.split()[0] for line in lines] == [
        "news", "direct", "direct-h2", "ziproxy", "sluice"
    ]  # fmt: skip
    assert "0.70 (0.50-0.90)" in lines[1]
    assert "1.40 " in lines[2]


def test_promises_are_kept_or_not_each_where_both_sides_ran() -> None:
    found = checks(compared(RUNS), profile="384k")
    assert {name.partition(": ")[2]: (check.value, check.ok) for name, check in found.items()} == {
        "painted against ziproxy": (0.4, True),
        "painted against direct": (0.18, False),
        "text against direct": (1.0, True),
        "final against direct-h2": (1.0, True),
    }
    only = checks(compared([one for one in RUNS if one["peer"] != "ziproxy"]), profile="384k")
    assert "news, ours: painted against ziproxy" not in only
    for also in ("56k", "1.6M"):
        assert checks(compared(RUNS), profile=also) == found
    assert checks(compared(RUNS), profile="5M") == {}


def test_a_late_link_spoils_a_load() -> None:
    assert Conditions(9.0, 1.0, IDLE).unfit == ""
    assert Conditions(9.0, 1.0, (0.0, 0.019, 0.2)).unfit == ""
    assert "21.0 ms at the 99th" in Conditions(0.1, 0.1, (0.0, 0.021, 0.022)).unfit
    assert "300 ms once" in Conditions(0.1, 0.1, (0.0, 0.001, 0.3)).unfit
    assert Conditions(0.1, 0.1, None).unfit == ""


def test_conditions_are_written_down() -> None:
    watched = Watched.begin()
    found = watched.end(lambda: SimpleNamespace(lateness=IDLE)).as_json()
    assert found["lateness"] == {"p50_s": 0.0001, "p99_s": 0.001, "most_s": 0.004}
    assert found["load_average"] >= 0
    assert found["busy"] is None or 0 <= found["busy"] <= 1
    assert watched.end(object).as_json()["lateness"] is None


@pytest.mark.parametrize(
    "text, expected",
    [
        ("cpu  10 1 5 80 4 0 0 0 3 0\ncpu0 1", (16, 100)),
        ("cpu  10 1 5", None),
        ("cpu a b c d e", None),
        ("", None),
    ],
)
def test_processor_time_counts_what_was_not_idle(
    tmp_path: Path, text: str, expected: tuple[int, int] | None
) -> None:
    (tmp_path / "stat").write_text(text)
    assert processor_time(tmp_path / "stat") == expected
    assert processor_time(tmp_path / "absent") is None


def test_spoiled_loads_are_repeated_and_kept_apart_until_it_is_enough() -> None:
    late, fit = Conditions(1.0, 1.0, (0.0, 0.5, 0.5)), Conditions(1.0, 1.0, IDLE)

    def series(*conditions: Conditions) -> tuple[int | None, list[int]]:
        answers = iter(enumerate(conditions))

        async def measure() -> tuple[int, Conditions]:
            return next(answers)

        outcome = asyncio.run(until_fit(measure, again=2))
        return outcome.kept, [number for number, _ in outcome.discarded]

    assert series(fit, late) == (0, [])
    assert series(late, fit, fit) == (1, [0])
    assert series(late, late, late, fit) == (None, [0, 1, 2])
