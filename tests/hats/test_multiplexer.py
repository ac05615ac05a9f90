"""A component is the sum of the quanta that the multiplexer grants of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hats.disciplines.round_robin import RoundRobin
from hats.multiplexer import Multiplexer
from hats.tree.hierarchy import Hierarchy


@pytest.mark.long
@given(
    sizes=st.lists(st.integers(0, 2000), min_size=1, max_size=8),
    marks=st.lists(st.integers(1, 2000), max_size=5, unique=True),
    quantum=st.integers(1, 500),
)
def test_all_of_it_is_granted_and_each_level_ends_a_quantum(
    sizes: list[int], marks: list[int], quantum: int
) -> None:
    hierarchy = Hierarchy(root=RoundRobin())
    for component, size in enumerate(sizes):
        leaf = hierarchy.attach(hierarchy.root, str(component))
        hierarchy.set_marks(leaf, sorted(marks))
        hierarchy.enqueue(leaf, size)
        hierarchy.finish(leaf)
    mux = Multiplexer(hierarchy, quantum=quantum)
    came, ends, ended = [0] * len(sizes), [set[int]() for _ in sizes], list[int]()
    while (grant := mux.next_quantum(0.0)) is not None:
        component = int(grant.leaf.name)
        assert component not in ended
        assert grant.length <= quantum
        came[component] += grant.length
        ends[component].add(came[component])
        ended += [component] if grant.last else []
    assert came == sizes
    assert sorted(ended) == list(range(len(sizes)))
    for size, own in zip(sizes, ends, strict=True):
        assert own >= {mark for mark in marks if mark <= size}
