"""Places: the plan's tiers, in them what is waited for, then the document's order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduling.places import MAX_PARTS, AwaitedPlaces, place

TIERS = st.integers(0, 8)
ORDERS = st.integers(0, MAX_PARTS // 2 - 1)


@given(st.lists(st.tuples(TIERS, ORDERS), max_size=30), st.data())
def test_tiers_come_first_then_who_is_waited_for_in_turn(
    parts: list[tuple[int, int]], draw: st.DataObject
) -> None:
    awaited = AwaitedPlaces()
    numbers = range(len(parts))
    asked = draw.draw(st.permutations(numbers))[: len(parts) // 2]
    places = [place(*part) for part in parts]
    for number in asked:
        places[number] = awaited.next(places[number])
    expected = sorted(
        numbers,
        key=lambda n: (parts[n][0], asked.index(n) if n in asked else len(asked) + parts[n][1]),
    )
    assert sorted(numbers, key=lambda n: places[n]) == expected


def test_who_is_waited_for_twice_keeps_his_place() -> None:
    awaited = AwaitedPlaces()
    first = awaited.next(place(2, 40))
    second = awaited.next(place(2, 7))
    assert first < second < place(2, 0)
    assert awaited.next(first) == first
