"""Ranges that are here, against a set of bytes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from office.extents import Extents, joined

RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda p: (p[0], sum(p))))


@given(RANGES, st.integers(0, 60), st.integers(0, 20))
def test_they_are_a_set_of_bytes(ranges: list[tuple[int, int]], start: int, size: int) -> None:
    extents = Extents(ranges)
    there = {byte for first, end in ranges for byte in range(first, end)}
    found = list(extents)
    assert {byte for first, end in found for byte in range(first, end)} == there
    assert extents.size == len(there)
    assert all(a[1] < b[0] for a, b in pairwise(found))
    assert all(first < end for first, end in found)
    wanted = range(start, start + size)
    assert extents.covers(start, start + size) == there.issuperset(wanted)
    missing = extents.missing(start, start + size)
    gaps = [byte for first, end in missing for byte in range(first, end)]
    assert gaps == [byte for byte in wanted if byte not in there]
    reach = extents.reaches(start)
    assert set(range(start, reach)) <= there
    assert reach not in there


def test_joined_ranges_are_in_order_and_apart() -> None:
    assert joined([(5, 7), (0, 2), (2, 4), (6, 9)]) == [(0, 4), (5, 9)]
