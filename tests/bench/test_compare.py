"""Verdicts by medians and spread; exit codes of the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import main
from bench.reports.compare import Judgement, compare, show
from bench.reports.report import Check, report


def made(*times: float | None, name: str = "text_s", **more: Any) -> dict[str, Any]:
    """A report of runs of one page and peer."""
    runs = [{"page": "p", "peer": "sluice", name: one} for one in times]
    return report(scenario="page-load", profile="384k", runs=runs, checks={}, **more)


def verdict(before: dict[str, Any], after: dict[str, Any]) -> Judgement:
    (found,) = compare(before, after)
    return found.verdict


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((1.0, 1.1, 0.9), (1.05, 1.15, 0.95), Judgement.SAME),
        ((1.0, 1.1, 0.9), (1.5, 1.6, 1.4), Judgement.WORSE),
        ((1.5, 1.6, 1.4), (1.0, 1.1, 0.9), Judgement.BETTER),
        ((1.0, 9.0, 1.0), (3.0, 3.1, 2.9), Judgement.SAME),  # one run strayed: nothing can be said
        ((1.0, 1.0, 1.0), (1.005, 1.005, 1.005), Judgement.SAME),  # nobody calls that a difference
        ((1.0, 1.1, 0.9), (None, None, 1.0), Judgement.WORSE),  # it hardly ever happens any more
        ((None, None), (2.0, 2.0), Judgement.BETTER),
        ((None, None), (None, None), Judgement.SAME),
    ],
)
def test_a_time_is_judged_by_medians_and_spread(
    before: tuple[float | None, ...], after: tuple[float | None, ...], expected: Judgement
) -> None:
    assert verdict(made(*before), made(*after)) is expected


def test_a_single_run_has_the_spread_that_is_assumed() -> None:
    (found,) = compare(made(1.0), made(1.25))
    assert (found.verdict, found.assumed, found.spread) == (Judgement.SAME, True, 0.3)
    assert verdict(made(10.0), made(12.0)) is Judgement.WORSE


def test_virtual_time_has_no_spread() -> None:
    assert verdict(made(10.0, virtual=True), made(10.2, virtual=True)) is Judgement.WORSE
    assert verdict(made(10.0, virtual=True), made(10.0, virtual=True)) is Judgement.SAME


def test_more_is_better_of_some_and_of_others_nobody_knows() -> None:
    goodput = (made(0.9, 0.9, name="goodput"), made(0.5, 0.5, name="goodput"))
    assert verdict(*goodput) is Judgement.WORSE
    assert verdict(made(3, 3, name="segments"), made(9, 9, name="segments")) is Judgement.UNJUDGED


def test_runs_of_another_peer_are_another_figure() -> None:
    before, after = made(1.0), made(5.0)
    after["runs"][0]["peer"] = "direct"
    assert {one.verdict for one in compare(before, after)} == {Judgement.NEW, Judgement.GONE}


def test_checks_are_judged_by_the_direction_of_their_goals() -> None:
    def one(value: float, goal: str) -> dict[str, Any]:
        checks = {"c": Check(value, "%", goal, True)}
        return report(scenario="s", profile="", runs=(), checks=checks)

    assert verdict(one(50, "at least 40"), one(20, "at least 40")) is Judgement.WORSE
    assert verdict(one(50, "at most 90"), one(20, "at most 90")) is Judgement.BETTER
    assert verdict(one(80, "80 +- 3"), one(20, "80 +- 3")) is Judgement.UNJUDGED


def test_a_scenario_that_ran_in_one_report_only_is_told() -> None:
    before = {"reports": {"a": made(1.0), "b": made(1.0)}}
    after = {"reports": {"a": made(1.0), "c": made(1.0)}}
    found = {one.name: one.verdict for one in compare(before, after)}
    assert (found["b"], found["c"]) == (Judgement.GONE, Judgement.NEW)
    assert len(found) == 3


def test_noise_of_the_machine_is_no_figure() -> None:
    assert compare(made(1.0, name="attempts"), made(3.0, name="attempts")) == []


def test_the_command_s_exit_code_is_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def file(name: str, data: Any) -> str:
        path = tmp_path / name
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        return str(path)

    a, b = file("a.json", made(1.0, 1.0)), file("b.json", made(2.0, 2.0))
    assert main(["compare", a, a]) == 0
    assert main(["compare", a, b]) == 1
    assert "WORSE" in capsys.readouterr().out
    whole = [
        file(f"{n}.json", {"reports": {"page-load": made(x, x)}}) for n, x in (("c", 1), ("d", 2))
    ]
    assert main(["compare", *whole]) == 1
    assert main(["compare", *reversed(whole)]) == 0
    capsys.readouterr()
    for words in (
        [a],
        [a, file("bad.json", "{")],
        [a, file("list.json", "[1]")],
        [a, whole[0]],
        [a, str(tmp_path / "absent.json")],
        [a, file("other.json", {**made(1.0), "scenario": "gate"})],
        [a, file("link.json", {**made(1.0), "profile": "56k"})],
    ):
        assert main(["compare", *words]) == 2
        assert "bench: " in capsys.readouterr().err


def test_what_got_worse_is_shown_first() -> None:
    text = show(compare(made(1.0, 1.0), made(2.0, 2.0)))
    assert text.splitlines()[0].startswith("WORSE        page-load: p, sluice, text_s: 1 -> 2")
    assert text.splitlines()[-1] == "1 worse"
