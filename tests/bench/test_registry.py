"""The table of scenarios agrees with the scenarios."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from bench.listing import duration, listing
from bench.registry import SCENARIOS, scenario
from bench.scenarios.entry import Scenario
from bench.scenarios.pages.browse import itinerary, read_urls, travellers


@pytest.mark.parametrize("entry", SCENARIOS, ids=lambda entry: entry.name)
def test_what_makes_a_scenario_quick_or_full_is_known_to_it(entry: Scenario) -> None:
    known = inspect.signature(importlib.import_module(entry.module).run).parameters
    assert set(entry.quick) | set(entry.full) <= set(known)
    assert entry.quick_takes <= entry.takes


def test_names_differ_and_the_quick_ones_take_sixteen_minutes_at_most() -> None:
    assert len({entry.name for entry in SCENARIOS}) == len(SCENARIOS)
    assert sum(entry.quick_takes for entry in SCENARIOS if not entry.slow) <= 960
    virtual = [entry for entry in SCENARIOS if entry.virtual]
    assert sum(entry.quick_takes for entry in virtual if not entry.slow) <= 119
    assert max(entry.takes for entry in virtual) <= 600  # a thousand sequences of bandwidth-heard


def test_the_listing_says_what_each_shows_and_takes() -> None:
    text = listing()
    assert all(entry.name in text and entry.shows in text for entry in SCENARIOS)
    with pytest.raises(ValueError, match="hats-text-first"):
        scenario("absent")


@pytest.mark.parametrize(("seconds", "text"), [(40, "40 s"), (150, "2 min"), (6000, "1 h 40 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_browsing_takes_a_page_a_folder_of_pages_or_a_list(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("x")
    assert itinerary(tmp_path, None).pages == ["a/index.html", "b/index.html"]
    one = itinerary(tmp_path / "a", None)
    assert (list(one.pages), one.site) == (["a/index.html"], tmp_path.resolve())
    urls = tmp_path / "urls"
    urls.write_text("# mine\n\nhttp://one.test/\n https://two.test/x?y \n")
    assert itinerary(None, urls).pages == ["http://one.test/", "https://two.test/x?y"]
    empty = tmp_path / "empty"
    empty.mkdir()
    for page, file, words in (
        (empty, None, "neither"), (tmp_path, urls, "exclude"), (None, _file(empty, ""), "no addr"),
        (None, _file(empty, "ftp://x/"), "no http"), (None, _file(empty, "x"), "no http"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            itinerary(page, file)


def _file(folder: Path, text: str) -> Path:
    file = folder / f"urls-{len(text)}"
    file.write_text(text)
    return file


def test_whoever_browses_is_named_by_peer_and_policy(tmp_path: Path) -> None:
    site, web = itinerary(None, None), itinerary(None, _file(tmp_path, "http://h/"))
    assert read_urls(tmp_path / "urls-9") == ["http://h/"]
    assert [one.name for one in travellers(None, (), site)] == ["direct", "sluice, default"]
    assert [one.name for one in travellers(None, (), web)] == ["sluice, default"]
    named = travellers(["direct"], ["equal", "text-first"], site)
    assert [(one.name, one.policy) for one in named] == [
        ("direct", ""), ("sluice, equal", "equal"), ("sluice, text-first", "text-first")
    ]  # fmt: skip
    with pytest.raises(ValueError, match="one host"):
        travellers(["direct"], (), web)
