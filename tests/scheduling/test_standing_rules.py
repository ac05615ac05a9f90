"""Tests of rules about nodes by name: which holds, which leaves, and how many there may be."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hats.tree.errors import SchedulerError
from scheduling.standing_rules import MAX_NAME, MAX_RULES, StandingRules

PATTERNS = st.lists(st.sampled_from(["a", "b", "*"]), max_size=3).map(tuple)
PATHS = st.lists(st.sampled_from("ab"), max_size=3).map(tuple)


def rules() -> StandingRules[int]:
    return StandingRules("weights")


def test_an_exact_name_beats_a_pattern_and_the_latest_pattern_an_earlier_one() -> None:
    standing = rules()
    standing.put(("browser", "5"), 1, present=False)
    standing.put(("*", "5"), 2, present=False)
    standing.put(("browser", "*"), 3, present=False)
    standing.put(("*", "5"), 4, present=False)
    assert standing.enter(("browser", "5")) == 1
    assert standing.enter(("office", "5")) == 4
    assert standing.enter(("browser", "6")) == 3
    assert standing.enter(("office", "6")) is None


def test_rules_about_what_is_there_are_as_many_as_it() -> None:
    standing = rules()
    for number in range(3 * MAX_RULES):
        standing.put(("browser", str(number)), number, present=True)
    assert standing.standing == 0
    assert standing.enter(("browser", "700")) == 700


def test_rules_about_what_may_come_have_a_bound_which_a_change_of_one_does_not_meet() -> None:
    standing = rules()
    for number in range(MAX_RULES):
        standing.put(("browser", str(number)), number, present=False)
    with pytest.raises(SchedulerError, match="more than 256 weights for later nodes"):
        standing.put(("*",), 1, present=False)
    standing.put(("browser", "3"), 9, present=False)
    assert standing.enter(("browser", "3")) == 9


def test_what_came_makes_room_and_takes_its_rule_along_when_it_leaves() -> None:
    standing = rules()
    for number in range(MAX_RULES):
        standing.put(("browser", str(number)), number, present=False)
    standing.enter(("browser", "3"))
    standing.put(("browser", "new"), 1, present=False)
    standing.leave(("browser", "3"))
    assert standing.enter(("browser", "3")) is None
    assert standing.standing == MAX_RULES


@given(st.lists(PATTERNS), PATHS)
def test_a_pattern_names_what_differs_from_it_only_where_it_says_any(
    patterns: list[tuple[str, ...]], path: tuple[str, ...]
) -> None:
    standing = rules()
    for number, pattern in enumerate(patterns):
        standing.put(pattern, number, present=False)
    found = [
        number
        for number, pattern in enumerate(patterns)
        if len(pattern) == len(path)
        and all(want in ("*", name) for want, name in zip(pattern, path, strict=True))
    ]
    exact = [number for number in found if patterns[number] == path]
    assert standing.enter(path) == (max(exact or found) if found else None)


def lookups(standing: StandingRules[int], path: tuple[str, ...]) -> int:
    """Lines of Python that a question takes."""
    count = 0

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()  # coverage has one, too
    sys.settrace(line)
    try:
        standing.enter(path)
    finally:
        sys.settrace(before)
    return count


def test_a_question_costs_the_same_however_many_rules_there_are() -> None:
    few, many = rules(), rules()
    for number in range(MAX_RULES):
        many.put(("browser", str(number), "*"), number, present=False)
    for number in range(20 * MAX_RULES):
        many.put(("browser", "1", str(number)), number, present=True)
    few.put(("browser", "7", "*"), 7, present=False)
    path = ("browser", "7", "12")
    assert many.enter(path) == few.enter(path) == 7
    assert lookups(many, path) == lookups(few, path)


@pytest.mark.parametrize("pattern", [("a", "b", "c", "d"), ("x" * (MAX_NAME + 1),)])
def test_what_no_node_can_be_called_has_no_rule(pattern: tuple[str, ...]) -> None:
    standing = rules()
    with pytest.raises(SchedulerError, match="no node has such a path"):
        standing.put(pattern, 1, present=False)
    assert standing.standing == 0


def test_what_was_said_of_the_nodes_below_leaves_with_a_node() -> None:
    standing = rules()
    for path in (("b", "1", "2"), ("b", "1", "*"), ("b", "3", "4")):
        standing.put(path, 1, present=False)
    standing.leave(("b", "1"))
    assert standing.standing == 1
    assert standing.enter(("b", "1", "2")) is None
    assert standing.enter(("b", "3", "4")) == 1


def test_rules_of_nodes_that_have_left_unseen_make_room() -> None:
    standing = rules()
    standing.put(("b", "1", "2"), 1, present=True)
    standing.put(("b", "1", "4"), 1, present=False)
    standing.put(("b", "1", "*"), 3, present=False)
    standing.forget_if(lambda path: True)
    assert standing.standing == 1
    assert standing.enter(("b", "1", "2")) == 3
