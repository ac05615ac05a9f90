"""Ranges as the proxies tell them to each other, and long packages in one message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire import messages as m
from wire.errors import PeerError
from wire.package import Slice, flat, ranges_of
from wire.packing import packed, unpacked
from wire.skeleton import Kind

GAPS = st.lists(st.tuples(st.integers(0, 99), st.integers(1, 99)))


@given(GAPS)
def test_ranges_survive(gaps: list[tuple[int, int]]) -> None:
    at, ranges = 0, []
    for gap, size in gaps:
        ranges.append((at + gap, at + gap + size))
        at += gap + size
    assert ranges_of(flat(ranges), length=at) == ranges


@pytest.mark.parametrize("numbers", [[1], [-1, 5], [0, 0], [0, -1], [0, 11], [5, 4, 1, 1]])
def test_what_is_not_in_the_file_is_the_peers_error(numbers: list[int]) -> None:
    with pytest.raises(PeerError):
        ranges_of(numbers, length=10)


def test_a_package_is_packed() -> None:
    slices = [Slice(Kind.IMAGE, [n * 1000, 1000], [n, 1]) for n in range(1, 40)]
    message = m.Package(1, 90_000, 80_000, "pptx", 40, 2, slices)
    short = packed(message)
    assert isinstance(short, m.Packed)
    assert len(m.encode(short)) < 0.5 * len(m.encode(message))
    assert unpacked(short) == message
    with pytest.raises(PeerError):
        unpacked(m.Packed(short.data, b"headers"))
