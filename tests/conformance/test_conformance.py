"""Pages behave through the pair as they do without it, in real browsers, topic by topic."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

import pytest

from bench.browsers import bidi
from bench.browsers.cdp import find_chromium
from tests.conformance.differences import DIFFERENCES, Difference, allowed
from tests.conformance.world import NAMES, Results, results

THERE = {
    "chromium": find_chromium() is not None,
    "firefox": bidi.EXECUTABLE is not None and bidi.certificates_can_be_added(),
}
COMBINATIONS = [
    (browser, protocol, topic)
    for browser in ("chromium", "firefox")
    for protocol in ("http", "https")
    for topic in NAMES
]
NO_ANSWER = ("no end", "unfinished", "throws no word")
"""Values of assertions that asserted nothing."""
DOCUMENT = Path(__file__).parents[2] / "docs" / "conformance.md"
MOST_DIFFERENCES = 25
LOADS = 3
"""Loads of a topic: an assertion fails that is wrong in two. Of some 3,600, one is now and then
wrong by the browser's or the machine's chance, in direct loads as often as through the pair."""
MOST_BY_CHANCE = 2
"""Assertions of one topic that may be wrong in one load and right in two; all are told."""
CHANCE = "wrong in one load of three"


def told(
    browser: str, protocol: str, names: tuple[str, ...] = NAMES, *, attempt: int = 0
) -> Results:
    if not THERE[browser]:
        pytest.skip(f"no {browser} on this machine")
    all_results = results(browser, protocol, names, attempt=attempt)
    if isinstance(all_results, Exception):
        raise all_results
    return all_results


def wrong(load: Results, topic: str, known: Mapping[str, Difference]) -> dict[str, str]:
    """The assertions of one load that are not as they should be, each with what was seen."""
    direct, through = load.direct[topic], load.pair[topic]
    faults = dict.fromkeys(direct.keys() ^ through.keys(), "said by one load only")
    faults |= dict.fromkeys(known.keys() - direct, "differences.py names it, and it is no more")
    for name in direct.keys() & through.keys():
        one, other = direct[name], through[name]
        value, other_value = one["value"], other["value"]
        if name in known:
            if known[name].always and value == other_value:
                faults[name] = "differs no more; take it out of differences.py"
        elif value in NO_ANSWER or value != other_value or value != one.get("expected", value):
            faults[name] = f"directly {one}, through the pair {other}"
    return faults


def wrong_mostly(
    loads: Iterable[Results], topic: str, known: Mapping[str, Difference]
) -> tuple[dict[str, str], dict[str, str]]:
    """What is wrong in most of three loads, and what was so in one of them, by chance.

    The second load is taken only where something of the first is wrong, the third only where these
    two do not agree.
    """
    all_loads = iter(loads)
    seen = [wrong(next(all_loads), topic, known)]
    if seen[0]:
        seen.append(wrong(next(all_loads), topic, known))
    if seen[0].keys() != seen[-1].keys():
        seen.append(wrong(next(all_loads), topic, known))
    times = Counter(chain.from_iterable(seen))
    told = {name: fault for load in reversed(seen) for name, fault in load.items()}
    faults = {name: told[name] for name in times if times[name] > len(seen) / 2}
    return faults, {name: told[name] for name in times if name not in faults}


@pytest.mark.filterwarnings(f"default:{CHANCE}")
@pytest.mark.parametrize(("browser", "protocol", "topic"), COMBINATIONS)
def test_a_page_sees_the_same_through_the_pair(browser: str, protocol: str, topic: str) -> None:
    whole = told(browser, protocol)
    again = (told(browser, protocol, (topic,), attempt=number) for number in range(1, LOADS))
    known = allowed(browser, protocol, topic)
    faults, by_chance = wrong_mostly(chain((whole,), again), topic, known)
    direct, through = whole.failures[topic]
    words = f"what could not be loaded: directly {dict(direct)}, through the pair {dict(through)}"
    assert not faults, "\n".join(("", *map(": ".join, faults.items()), words))
    assert len(by_chance) <= MOST_BY_CHANCE, "\n".join(
        ("", *map(": ".join, by_chance.items()), words)
    )
    if by_chance:
        warnings.warn(f"{CHANCE}: {by_chance}; {words}", stacklevel=1)


def said(**values: object) -> Results:
    """A load of one topic in which only the pair's values are as given."""
    ones = {name: {"value": "load"} for name in ("first", "second")}
    through = ones | {name: {"value": value} for name, value in values.items()}
    return Results({"topic": ones}, {"topic": through})


def test_what_is_wrong_in_most_loads_is_a_fault_and_what_is_so_once_is_chance() -> None:
    loads = iter((said(first="error", second="error"), said(first="error"), said()))
    faults, by_chance = wrong_mostly(loads, "topic", {})
    assert list(faults) == ["first"]
    assert list(by_chance) == ["second"]


def test_what_is_wrong_in_two_loads_of_three_is_a_fault_whichever_two() -> None:
    error = said(first="error")
    for loads in ((error, error, said()), (error, said(), error)):
        assert [list(part) for part in wrong_mostly(loads, "topic", {})] == [["first"], []]
    late = (error, said(second="error"), said(second="error"))
    assert [list(part) for part in wrong_mostly(late, "topic", {})] == [["second"], ["first"]]


def test_another_load_is_taken_only_where_something_was_wrong() -> None:
    loads = iter((said(), said(first="error")))
    assert wrong_mostly(loads, "topic", {}) == ({}, {})
    assert len(list(loads)) == 1
    agreeing = iter((said(first="error"), said(first="error"), said()))
    assert list(wrong_mostly(agreeing, "topic", {})[0]) == ["first"]
    assert len(list(agreeing)) == 1


def counts() -> dict[str, int]:
    browser = next((one for one in THERE if THERE[one]), "chromium")
    return {topic: len(one) for topic, one in told(browser, "https").direct.items()}


def test_there_are_hundreds_of_assertions_and_the_documentation_counts_them() -> None:
    by_topic = counts()
    assert sum(by_topic.values()) >= 300
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = {row[1]: int(row[2]) for row in re.finditer(r"(?m)^\| `(\w+)` \|.*\| (\d+) \|$", text)}
    assert rows == by_topic
    assert f"{sum(by_topic.values())} assertions" in text


def test_the_table_of_differences_stays_small() -> None:
    assert len(DIFFERENCES) <= MOST_DIFFERENCES
    assert all(one.reason and one.topic in NAMES for one in DIFFERENCES)
