"""Pages behave through the pair as they do without it, in real browsers, topic by topic."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.browsers import bidi
from bench.browsers.cdp import find_chromium
from tests.conformance.differences import DIFFERENCES, allowed
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


def told(browser: str, protocol: str) -> Results:
    if not THERE[browser]:
        pytest.skip(f"no {browser} on this machine")
    all_results = results(browser, protocol)
    if isinstance(all_results, Exception):
        raise all_results
    return all_results


@pytest.mark.parametrize(("browser", "protocol", "topic"), COMBINATIONS)
def test_a_page_sees_the_same_through_the_pair(browser: str, protocol: str, topic: str) -> None:
    both = told(browser, protocol)
    direct, through = both.direct[topic], both.pair[topic]
    assert list(direct) == list(through)
    known, wrong = allowed(browser, protocol, topic), []
    for name, one in direct.items():
        value, other = one["value"], through[name]["value"]
        if name in known:
            if known[name].always and value == other:
                wrong.append(f"{name}: differs no more; take it out of differences.py")
        elif value in NO_ANSWER or value != other or value != one.get("expected", value):
            wrong.append(f"{name}:\n  directly {one}\n  through the pair {through[name]}")
    assert set(known) <= set(direct), "differences.py names assertions that are no more"
    failures = f"what the browser could not load through the pair: {dict(both.failures[topic])}"
    assert not wrong, "\n".join(("", *wrong, failures))


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
