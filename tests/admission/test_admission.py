"""Tests of admission: the decision against brute force, and what it promises in a simulation."""

from __future__ import annotations

from itertools import permutations
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admission.admission import Admission, AdmissionEntry, Protects
from admission.ranking import FIRST, LAST, Ranking

ALONE = {"": 1.0}
sizes = st.integers(0, 50)
deadlines = st.one_of(st.none(), st.integers(0, 60).map(float))
messages = st.lists(st.tuples(st.integers(0, 2), deadlines, sizes), max_size=8)


def finishes(
    ranked: list[tuple[AdmissionEntry, int]], rate: float
) -> list[tuple[AdmissionEntry, float]]:
    work, found = 0, []
    for entry, size in sorted(ranked, key=lambda one: (*one[0].key, one[0].order)):
        work += size
        found.append((entry, work / rate))
    return found


def in_time(ranked: list[tuple[AdmissionEntry, int]], rate: float, *, spare: float) -> bool:
    return all(
        entry.deadline is None or at <= entry.deadline + spare
        for entry, at in finishes(ranked, rate)
    )


@settings(max_examples=800, deadline=None)
@given(messages, st.integers(1, 20))
def test_one_queue_is_decided_as_by_brute_force(
    wanted: list[tuple[int, float | None, int]], rate: int
) -> None:
    admission, admitted = Admission(), []
    admission.set_rate(rate)
    for order, (priority, deadline, size) in enumerate(wanted):
        entry = AdmissionEntry(priority, deadline, order)
        said = admission.admits("", entry, size, 0.0, shares=ALONE)
        queued = [(entry, size), *admitted]
        assert in_time(queued, rate, spare=-1e-9) <= said <= in_time(queued, rate, spare=1e-9)
        if said:
            admitted.append((entry, size))
            admission.add("", entry, size)


@pytest.mark.long
@settings(max_examples=10_000, deadline=None)
@given(st.lists(st.integers(0, 6 * 9 * 40 - 1), max_size=6))
def test_no_admitted_message_is_late_while_the_rate_holds(drawn: list[int]) -> None:
    """Time passes between arrivals; the link serves the first in rank, 3 bytes a second."""
    arrivals = [(one % 6, one // 6 % 9 + 1, one // 54 + 1) for one in drawn]
    rate, now = 3, 0.0
    admission = Admission()
    admission.set_rate(rate)
    left: dict[AdmissionEntry, float] = {}
    served: dict[AdmissionEntry, int] = {}
    for order, (gap, size, timer) in enumerate([*arrivals, (1000, 1, 1)]):
        budget = gap * rate
        while budget and left:
            first = min(left, key=lambda entry: entry.key)
            part = min(budget, left[first])
            now += part / rate
            budget -= part
            left[first] -= part
            if left[first]:
                admission.served("", first, int(part))
                served[first] -= int(part)
            else:
                admission.remove("", first, served.pop(first))
                del left[first]
                assert first.deadline is not None and now <= first.deadline + 1e-9
        now += budget / rate
        entry = AdmissionEntry(timer % 3, now + timer, order)
        if admission.admits("", entry, size, now + 1e-9, shares=ALONE):
            admission.add("", entry, size)
            left[entry], served[entry] = size, size


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30)), min_size=1, max_size=6))
def test_within_a_priority_no_order_is_better(jobs: list[tuple[int, int]]) -> None:
    """If any order meets all deadlines, all are admitted, whatever the order of asking."""
    feasible = any(
        all(sum(size for size, _ in order[: n + 1]) <= order[n][1] for n in range(len(order)))
        for order in permutations(jobs)
    )
    admission = Admission()
    admission.set_rate(1.0)
    said = []
    for order, (size, deadline) in enumerate(jobs):
        entry = AdmissionEntry(0, deadline + 1e-9, order)
        said.append(admission.admits("", entry, size, 0.0, shares=ALONE))
        if said[-1]:
            admission.add("", entry, size)
    assert all(said) == feasible


def test_a_message_without_timer_may_not_break_those_behind_it() -> None:
    low = AdmissionEntry(0, 10.0, 1)
    for protects, said in ((Protects.ALL, False), (Protects.PEERS, True)):
        admission = Admission(protects=protects)
        admission.set_rate(1.0)
        admission.add("", low, 8)
        assert admission.admits("", AdmissionEntry(5, None, 2), 2, 0.0, shares=ALONE)
        assert admission.admits("", AdmissionEntry(5, None, 2), 3, 0.0, shares=ALONE) is said
        assert admission.admits("", AdmissionEntry(-1, None, 2), 10**9, 0.0, shares=ALONE)


def test_peers_of_the_same_priority_are_protected_either_way() -> None:
    admission = Admission(protects=Protects.PEERS)
    admission.set_rate(1.0)
    admission.add("", AdmissionEntry(1, 10.0, 1), 8)
    assert not admission.admits("", AdmissionEntry(1, 5.0, 2), 3, 0.0, shares=ALONE)
    assert admission.admits("", AdmissionEntry(2, 5.0, 2), 3, 0.0, shares=ALONE)


def test_another_queue_is_in_time_by_its_share_or_after_all_others() -> None:
    admission, halves = Admission(), {"a": 0.5, "b": 0.5}
    admission.set_rate(10.0)
    admission.add("a", AdmissionEntry(0, 10.0, 1), 50)  # 5 s alone, 10 s at half of the link
    assert admission.admits("b", AdmissionEntry(0, None, 2), 10_000, 0.0, shares=halves)
    assert not admission.admits("b", AdmissionEntry(0, None, 2), 10_000, 1.0, shares=halves)
    assert admission.admits("b", AdmissionEntry(0, None, 2), 40, 1.0, shares=halves)


def test_a_link_that_carries_nothing_admits_no_timer_and_everything_else() -> None:
    admission = Admission()
    admission.set_rate(0.0)
    assert not admission.admits("", AdmissionEntry(0, 1e6, 1), 10, 0.0, shares=ALONE)
    assert admission.admits("", AdmissionEntry(0, None, 1), 10, 0.0, shares=ALONE)
    admission.add("", AdmissionEntry(0, None, 1), 10)
    assert admission.admits("", AdmissionEntry(1, None, 2), 0, 0.0, shares=ALONE)


def test_who_is_late_when_the_rate_falls() -> None:
    admission = Admission()
    admission.set_rate(10.0)
    for order, deadline in enumerate((1.0, 2.0, 3.0)):
        admission.add("", AdmissionEntry(0, deadline, order), 10)
    assert not list(admission.late(0.0, shares=ALONE))
    admission.set_rate(8.0)
    late = [key for _, key in admission.late(0.0, shares=ALONE)]
    assert [key[2] for key in late] == [0]  # without it the others are in time
    assert not list(admission.late(0.0, grace=0.75, shares=ALONE))


operations = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "reduce"]), st.integers(0, 10**6)), max_size=60
)


@settings(max_examples=80, deadline=None)
@given(operations, st.integers(0, 1500))
def test_a_ranking_is_a_sorted_list(steps: list[tuple[str, int]], many: int) -> None:
    """Blocks split and vanish; every question is answered as a list of pairs would."""
    ranking = Ranking()
    model: dict[tuple[int, float, int], int] = {}
    for number in range(many):
        key = (0, float(number * 7919 % 1009), number)
        ranking.add(key, 3)
        model[key] = 3
    for number, (what, choice) in enumerate(steps):
        if what == "add" or not model:
            key = (-(choice % 3), float(choice % 997), 10_000 + number)
            ranking.add(key, choice % 11)
            model[key] = choice % 11
        else:
            key = sorted(model)[choice % len(model)]
            if what == "remove":
                assert ranking.remove(key) == model.pop(key)
            else:
                part = model[key] // 2
                ranking.reduce(key, part)
                model[key] -= part
    ordered, work, slack = sorted(model), 0, inf
    for key in ordered:
        assert ranking.before(key) == work
        work += model[key]
        slack = min(slack, key[1] - work * 0.5)
    assert (len(ranking), ranking.total, bool(ranking)) == (len(model), work, bool(model))
    assert ranking.slack(0.5) == slack and ranking.floor(0.5) <= slack
    if ordered:
        middle = ordered[len(ordered) // 2]
        upper = [(key, sum(model[k] for k in ordered if k <= key)) for key in ordered[::7]]
        assert ranking.slack_between(FIRST, LAST, 2.0) <= min(k[1] - 2 * w for k, w in upper)
        assert ranking.slack_between(middle, LAST, 0.5) >= slack


def test_the_floor_is_never_above_the_slack() -> None:
    ranking = Ranking()
    ranking.add((0, 100.0, 1), 10)
    assert ranking.slack(1.0) == 90.0
    ranking.add((0, 50.0, 2), 10)
    assert ranking.floor(1.0) <= ranking.slack(1.0) == 40.0
    ranking.remove((0, 50.0, 2))
    assert ranking.floor(1.0) == 40.0 and ranking.slack(1.0) == 90.0
