"""Appointments: at most one an owner, due in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from admission.timers import Timers

CHANGES = st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 100)), max_size=200)


def test_a_new_appointment_takes_the_place_of_the_old_one() -> None:
    timers: Timers[str] = Timers()
    timers.set("a", 5.0)
    timers.set("a", 9.0)
    assert (len(timers), timers.next_time()) == (1, 9.0)
    assert timers.due(8.0) == []
    assert timers.due(9.0) == ["a"]
    assert timers.next_time() is None


def test_those_of_one_time_are_due_as_they_were_made() -> None:
    timers: Timers[str] = Timers()
    for owner in "cab":
        timers.set(owner, 1.0)
    timers.clear("a")
    timers.clear("nobody")
    assert timers.due(1.0) == ["c", "b"]


@given(CHANGES)
def test_it_is_a_dictionary_that_knows_its_least(changes: list[tuple[int, int | None]]) -> None:
    timers: Timers[int] = Timers()
    model: dict[int, int] = {}
    for owner, at in changes:
        if at is None:
            timers.clear(owner)
            model.pop(owner, None)
        else:
            timers.set(owner, at)
            model[owner] = at
        assert timers.next_time() == min(model.values(), default=None)
        assert len(timers) == len(model)
    assert sorted(timers.due(50)) == sorted(one for one, at in model.items() if at <= 50)
