"""Whose turn it is among an HTTP/2 connection's streams."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.front.http2.priority import (
    ResponsePriority,
    Turns,
    parse_priority,
    parse_update,
    urgency_of_weight,
)


@pytest.mark.parametrize(
    ("field", "urgency", "incremental"),
    [
        ("", 3, False),
        ("u=0", 0, False),
        ("u=5, i", 5, True),
        ("i,u=7", 7, True),
        ("i=?0, u=1", 1, False),
        ("u=2;x=1, i=?1", 2, True),
        ("u=9", 3, False),
        ("u=-1", 3, False),
        ("u=1.5", 3, False),
        ("u", 3, False),
        ("U=1", 3, False),
        ("i=1", 3, False),
        ("u=1, u=4", 4, False),
        (",,,u=1", 1, False),
        ("x" * 10_000 + ",u=1", 3, False),
    ],
)
def test_field(field: str, urgency: int, incremental: bool) -> None:
    assert parse_priority(field) == ResponsePriority(urgency, incremental)


@given(st.text(max_size=400))
def test_any_field_is_a_priority(field: str) -> None:
    assert 0 <= parse_priority(field).urgency <= 7


def test_update_frame() -> None:
    assert parse_update(b"\x00\x00\x00\x05u=1,i") == (5, ResponsePriority(1, True))
    assert parse_update(b"\x80\x00\x00\x05") == (5, ResponsePriority())
    assert parse_update(b"\x00\x00\x00\x00u=1") is None
    assert parse_update(b"\x00\x00\x05") is None


def test_weights_as_chromium_sends_them() -> None:
    assert [urgency_of_weight(w) for w in (256, 220, 183, 147, 110, 74, 37, 1)] == list(range(8))


def served(turns: Turns, count: int) -> str:
    return ",".join(str(turns.next()) for _ in range(count))


def test_urgent_first_then_in_order_then_in_turn() -> None:
    turns = Turns()
    for number, priority in (
        (1, ResponsePriority(5)),
        (3, ResponsePriority(3, True)),
        (5, ResponsePriority(3, True)),
        (7, ResponsePriority(1)),
        (9, ResponsePriority(1)),
    ):
        turns.add(number, priority)
    assert served(turns, 2) == "7,7"
    turns.rest(7)
    assert served(turns, 1) == "9"
    turns.forget(9)
    assert served(turns, 5) == "3,5,3,5,3"
    turns.rest(3)
    turns.rest(5)
    assert served(turns, 2) == "1,1"
    turns.rest(1)
    assert turns.next() is None


def test_both_kinds_of_one_urgency_share() -> None:
    turns = Turns()
    for number, incremental in ((1, False), (3, True), (5, False), (7, True)):
        turns.add(number, ResponsePriority(3, incremental))
    assert served(turns, 6) == "1,3,7,1,3,7"
    turns.forget(1)
    assert served(turns, 6) == "5,3,7,5,3,7"


def test_a_change_moves_a_stream_at_once() -> None:
    turns = Turns()
    turns.add(1, ResponsePriority(3))
    turns.add(3, ResponsePriority(3))
    assert served(turns, 2) == "1,1"
    turns.add(3, ResponsePriority(0))
    assert served(turns, 2) == "3,3"


def test_who_may_not_send_is_passed_over() -> None:
    turns = Turns()
    turns.add(1, ResponsePriority(0))
    turns.add(3, ResponsePriority(7))
    assert turns.next(lambda number: number != 1) == 3
    assert turns.next(lambda _: False) is None


@given(
    st.dictionaries(
        st.integers(1, 500),
        st.builds(ResponsePriority, st.integers(0, 7), st.booleans()),
        min_size=1,
    )
)
def test_incremental_streams_of_one_urgency_get_the_same(
    ready: dict[int, ResponsePriority],
) -> None:
    turns = Turns()
    for number, priority in ready.items():
        turns.add(number, priority)
    top = min(priority.urgency for priority in ready.values())
    first = {n for n, p in ready.items() if p.urgency == top}
    slots = len({n if ready[n].incremental else 0 for n in first})
    seen = [turns.next() for _ in range(3 * slots)]
    assert set(seen) <= first
    assert all(seen.count(n) == 3 for n in first if ready[n].incremental)
