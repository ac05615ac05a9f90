"""Tests of the remote proxy in miniature: what commands and plans do to its tree."""

from __future__ import annotations

import pytest

from policies.api import (
    Cancel,
    Command,
    Defer,
    Fetch,
    Kind,
    Raise,
    Resume,
    Rule,
    SetPlan,
    SetScheduler,
    Use,
)
from policies.testing.simulated_remote import (
    MIN_LEVELLED,
    Item,
    SimulatedLeaf,
    SimulatedPage,
    SimulatedRemote,
)
from scheduling.deadlines import Missed

PAGE = SimulatedPage(1, (Item(2, 7_000), Item(4, 7_000), Item(6, 2_000, Kind.TEXT)))


def remote(*commands: Command, page: SimulatedPage = PAGE) -> SimulatedRemote:
    made = SimulatedRemote(quantum=1000, rate=1000.0)
    for command in commands:
        made.obey(command, now=0.0)
    made.open(page)
    return made


def sent(one: SimulatedRemote, quanta: int = 1000) -> dict[int, int]:
    """Bytes of each component that the link gets."""
    found: dict[int, int] = {}
    for _ in range(quanta):
        grant = one.multiplexer.next_quantum(0.0)
        if grant is None:
            break
        component = int(grant.leaf.name)
        found[component] = found.get(component, 0) + grant.length
    return found


def test_pictures_that_are_not_small_have_levels() -> None:
    picture = Item(2, 7_000)
    assert picture.levelled and picture.use is Use.ELEMENT
    assert picture.ends() == {"low": 1_000, "medium": 2_000, "high": 4_000, "original": 7_000}
    for other in (Item(2, MIN_LEVELLED - 1), Item(2, 7_000, Kind.TEXT)):
        assert not other.levelled
        assert other.ends() == {"original": other.size}
    assert Item(2, 7_000, Kind.TEXT).use is Use.OTHER


def test_a_leaf_knows_the_finest_level_that_was_sent() -> None:
    leaf = SimulatedLeaf(Item(2, 7_000), PAGE, 0)
    reached = []
    for leaf.sent in (0, 999, 1_000, 3_999, 4_000, 7_000):
        reached.append(leaf.reached())
    assert reached == ["", "", "low", "medium", "high", "original"]
    assert (leaf.component, leaf.document, leaf.use) == (2, 1, Use.ELEMENT)


def test_parts_of_a_file_have_addresses_inside_it() -> None:
    assert PAGE.part_url(PAGE.items[0]) == "sim:2"
    assert SimulatedPage(1, PAGE.items, package=True).part_url(PAGE.items[0]) == "sim:1#2"


def test_all_of_a_page_is_there_at_once() -> None:
    assert sent(remote()) == {2: 7_000, 4: 7_000, 6: 2_000}


def test_a_plan_says_how_much_of_a_picture_comes_and_what_never_does() -> None:
    rules = (
        Rule(kind=Kind.TEXT, fetch="never"),
        Rule(kind=Kind.IMAGE, level="medium"),
    )
    one = remote(SetPlan(rules))
    assert set(one.leaves) == {2, 4}
    assert sent(one) == {2: 2_000, 4: 2_000}


def test_a_fetch_stops_at_its_level_and_a_later_one_goes_on_from_there() -> None:
    one = remote()
    one.obey(Fetch(2, "low"), now=0.0)
    assert sent(one) == {2: 1_000, 4: 7_000, 6: 2_000}
    one.obey(Fetch(2, "original"), now=0.0)
    assert sent(one) == {2: 6_000}


def test_what_a_plan_stopped_goes_on_when_it_is_fetched() -> None:
    one = remote(SetPlan((Rule(kind=Kind.IMAGE, level="low"),)))
    assert sent(one) == {2: 1_000, 4: 1_000, 6: 2_000}
    for leaf in one.leaves.values():
        leaf.sent = 1_000
    one.obey(Fetch(2, "low"), now=0.0)
    assert sent(one) == {}
    one.obey(Fetch(2, "medium"), now=0.0)
    assert sent(one) == {2: 1_000}


def test_a_scheduler_is_obeyed_at_once() -> None:
    one = remote(SetScheduler(("browser", "*"), "text_first"))
    assert sent(one, 2) == {6: 2_000}


def test_what_is_deferred_waits_and_what_is_cancelled_leaves() -> None:
    one = remote()
    one.obey(Defer(2), now=0.0)
    one.obey(Cancel(4), now=0.0)
    assert sent(one) == {6: 2_000}
    assert set(one.leaves) == {2, 6}
    one.obey(Resume(2), now=0.0)
    assert sent(one) == {2: 7_000}


def test_what_speaks_of_something_that_has_left_is_ignored() -> None:
    one = remote()
    for command in (Cancel(99), Defer(99), Resume(99), Raise(99, 3), Fetch(99)):
        one.obey(command, now=0.0)
    assert set(one.leaves) == {2, 4, 6}
    assert sent(one) == {2: 7_000, 4: 7_000, 6: 2_000}


def test_a_page_that_is_closed_takes_all_of_it_along() -> None:
    one = remote()
    one.close(PAGE)
    assert one.leaves == {}
    assert sent(one) == {}
    one.open(PAGE)
    assert sent(one) == {2: 7_000, 4: 7_000, 6: 2_000}


def test_a_fetch_that_cannot_be_in_time_is_refused_and_changes_nothing() -> None:
    one = remote()
    assert list(one.expired(0.0)) == []
    missed = one.obey(Fetch(2, "original", timer=3.0), now=0.0)
    assert missed == Missed(2, "low", 9.0, refused=True)  # behind 2 KB of text
    assert list(one.expired(0.0)) == []
    assert sent(one) == {2: 7_000, 4: 7_000, 6: 2_000}  # it goes as if nobody had asked


def test_a_fetch_whose_time_is_over_is_held() -> None:
    one = remote()
    assert one.obey(Fetch(2, "original", timer=60.0), now=0.0) == ""
    assert list(one.expired(61.0)) == []
    assert 2 not in sent(one)


@pytest.mark.parametrize("timer", [60.0, None])
def test_a_fetch_that_can_be_in_time_does_not(timer: float | None) -> None:
    one = remote()
    one.obey(Fetch(2, "original", timer=timer), now=0.0)
    assert list(one.expired(0.0)) == []
