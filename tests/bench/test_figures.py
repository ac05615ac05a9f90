"""Tests of docs/figures.md: what is kept of a report, and the page that is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import main
from bench.reports.figures import DOCS, command, condensed, file_name, number, page, update


def loaded(peer: str, text: float, painted: float | None) -> dict[str, Any]:
    return {"page": "/somewhere/news", "peer": peer, "policy": "", "text_s": text,
            "painted_s": painted, "load_s": 1.0, "final_s": 2.0}  # fmt: skip


def report(**other: Any) -> dict[str, Any]:
    return {
        "scenario": "page-load",
        "command": "/usr/bin/python -m bench page-load --profile 384k --json /tmp/a.json",
        "commit": "abc123",
        "date": "2026-02-03",
        "seed": 0,
        "profile": "384k",
        "virtual": False,
        "machine": "Linux, 2 CPUs",
        "notes": ["the relay counts payload"],
        "runs": [loaded("sluice", 0.5, 1.25), loaded("sluice", 0.75, 1.5),
                 loaded("sluice", 0.625, 1.375), loaded("direct", 0.75, None)],
        "checks": {
            "painted": {"value": 0.1534, "unit": "x direct", "goal": "at most 0.16", "ok": True},
            "text": {"value": 1.2, "unit": "x direct", "goal": "at most 1.1", "ok": False},
        },
        **other,
    }  # fmt: skip


def test_the_page_has_medians_with_their_spread_and_says_what_is_short() -> None:
    lines = page([condensed(report())]).splitlines()
    assert "## page-load, 384k" in lines
    assert "- the relay counts payload" in lines
    assert "| painted | 0.153 x direct | at most 0.16 |" in lines
    assert "| text | 1.2 x direct | at most 1.1 **short** |" in lines
    heads = "| page | peer | loads | text | painted | load event | all final |"
    assert heads in lines  # no column for links, since no load names one
    assert "| news | sluice | 3 | 0.625 (0.5-0.75) | 1.38 (1.25-1.5) | 1 | 2 |" in lines
    assert "| news | direct | 1 | 0.75 | not all | 1 | 2 |" in lines
    said = next(line for line in lines if line.startswith("Shows"))
    assert "`python -m bench page-load --profile 384k`, commit abc123, 2026-02-03" in said


def test_sections_stand_in_the_order_of_the_list_of_scenarios() -> None:
    kept = [condensed(report(scenario=name)) for name in ("start", "page-load", "capacity")]
    heads = [line for line in page(kept).splitlines() if line.startswith("## ")]
    assert [head.split(",")[0] for head in heads] == ["## page-load", "## start", "## capacity"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("python -m bench hostile", "python -m bench hostile"),
        ("/a/b/python -m bench start --report=/tmp/x --seed 7", "python -m bench start --seed 7"),
        ("python -m bench page-load --page /x/y/news", "python -m bench page-load --page news"),
        (
            f"python -m bench page-load --page={DOCS.parent}/demo/site/news",
            "python -m bench page-load --page=demo/site/news",
        ),
        ("python /x/own.py 3", "python -m bench page-load"),
    ],
)
def test_a_command_names_no_place_of_the_machine_that_ran_it(said: str, told: str) -> None:
    assert command(report(command=said)) == told


def test_a_new_run_takes_the_place_of_the_one_before_it(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps(report()))
    second.write_text(json.dumps({"reports": {"page-load": report(commit="def456")}}))
    update([first], docs=tmp_path)
    made = update([second], docs=tmp_path).read_text()
    assert "def456" in made
    assert "abc123" not in made
    assert [one.name for one in (tmp_path / "figures").iterdir()] == ["page-load-384k-news.json"]


def test_a_report_without_a_figure_leaves_nothing(tmp_path: Path) -> None:
    digests = tmp_path / "digests.json"
    digests.write_text(json.dumps(report(scenario="recordings", runs=[], checks={})))
    update([digests], docs=tmp_path)
    assert not list((tmp_path / "figures").iterdir())


def test_links_and_pages_are_kept_apart() -> None:
    names = {file_name(condensed(report(profile=link))) for link in ("384k", "1.6M", "")}
    assert len(names) == 3


def test_what_can_not_be_kept_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strange, old = tmp_path / "strange.json", tmp_path / "old.json"
    strange.write_text(json.dumps(report(scenario="nonsuch")))
    undated = report()
    del undated["date"]
    old.write_text(json.dumps(undated))
    for file, why in ((strange, "is no scenario"), (old, "has no date")):
        assert main(["figures", str(file)]) == 2
        assert why in capsys.readouterr().err


def test_the_page_in_the_sources_is_what_is_made_of_the_runs_there() -> None:
    kept = [json.loads(file.read_text()) for file in sorted((DOCS / "figures").glob("*.json"))]
    assert kept
    assert (DOCS / "figures.md").read_text() == page(kept)
    assert "**short**" in page(kept) or all(
        check["ok"] for one in kept for check in one["checks"].values()
    )


def test_numbers_have_three_digits() -> None:
    assert [number(value) for value in (0.12345, 12.345, 12345.6, 7, None, "tun")] == [
        "0.123", "12.3", "12346", "7", "-", "tun"]  # fmt: skip


def test_runs_over_other_links_are_kept_beside_each_other() -> None:
    kept = condensed(report(profile=""))
    rows = [{"page": "index.html", "link": link} for link in ("50M", "5M")]
    assert file_name(kept | {"loads": rows}) == "page-load-50M-5M-index.html.json"
    assert file_name(kept | {"loads": rows[:1]}) == "page-load-50M-index.html.json"


def test_a_page_is_called_by_its_folder_and_not_by_the_number_of_a_visit() -> None:
    kept = condensed(report(profile="384k"))
    rows = [{"page": f"{one}/index.html", "link": "384k"} for one in ("news", "article", "7")]
    assert file_name(kept | {"loads": rows}) == "page-load-384k-article-index.html-news.json"
