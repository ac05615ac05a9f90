"""Demultiplexer: frames arrive, and each means what it should."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hats.demultiplexer import (
    Completed,
    ComponentProgress,
    Demultiplexer,
    DemultiplexerStatistics,
    LevelReached,
)
from hats.disciplines.round_robin import RoundRobin
from hats.multiplexer import Multiplexer
from hats.tree.errors import ReceiveError
from hats.tree.hierarchy import Hierarchy
from hats.tree.rules import MAX_MARKS


def test_progress_levels_and_completion_in_order() -> None:
    demux = Demultiplexer()
    demux.open(4, (10, 20, 30))
    assert demux.received(4, 5) == [ComponentProgress(4, 5, 5)]
    assert demux.received(4, 15) == [
        ComponentProgress(4, 15, 20),
        LevelReached(4, 0),
        LevelReached(4, 1),
    ]
    assert demux.so_far(4) == 20
    assert demux.received(4, 10, True) == [
        ComponentProgress(4, 10, 30),
        LevelReached(4, 2),
        Completed(4, 30),
    ]
    assert 4 not in demux
    assert demux.statistics() == DemultiplexerStatistics(open=0, completed=1, received=30)


def test_an_empty_last_quantum_ends_a_component() -> None:
    demux = Demultiplexer()
    demux.open(1)
    assert demux.received(1, 0, True) == [Completed(1, 0)]


def test_marks_that_come_late_report_what_is_here() -> None:
    demux = Demultiplexer()
    demux.open(1)
    demux.received(1, 25)
    assert demux.set_marks(1, (10, 20, 30)) == [LevelReached(1, 0), LevelReached(1, 1)]
    assert demux.received(1, 5) == [ComponentProgress(1, 5, 30), LevelReached(1, 2)]


def test_unknown_ended_and_closed_components_are_refused() -> None:
    demux = Demultiplexer()
    with pytest.raises(ReceiveError, match="component 9 is not open"):
        demux.received(9, 1)
    demux.open(9)
    with pytest.raises(ReceiveError, match="open already"):
        demux.open(9)
    demux.received(9, 1, True)
    with pytest.raises(ReceiveError, match="not open"):
        demux.received(9, 1)
    demux.open(9)
    demux.close(9)
    demux.close(9)
    with pytest.raises(ReceiveError, match="not open"):
        demux.so_far(9)


def test_limits() -> None:
    demux = Demultiplexer(max_components=2)
    demux.open(1, limit=10)
    demux.open(2)
    with pytest.raises(ReceiveError, match="more than 2 components"):
        demux.open(3)
    demux.received(1, 10)
    with pytest.raises(ReceiveError, match="longer than 10 bytes"):
        demux.received(1, 1)
    assert demux.so_far(1) == 10
    with pytest.raises(ReceiveError, match="more than 9 bytes already"):
        demux.set_limit(1, 9)
    demux.set_limit(1, None)
    demux.received(1, 1)
    with pytest.raises(ReceiveError, match="-1 bytes"):
        demux.received(1, -1)


@pytest.mark.parametrize("marks", [(0,), (3, 3), (3, 2), range(1, MAX_MARKS + 2)])
def test_bad_marks_open_nothing(marks: tuple[int, ...]) -> None:
    demux = Demultiplexer()
    with pytest.raises(ReceiveError, match="marks"):
        demux.open(1, marks)
    assert 1 not in demux


@pytest.mark.long
@given(
    sizes=st.lists(st.integers(0, 2000), min_size=1, max_size=8),
    marks=st.lists(st.integers(1, 2000), max_size=5, unique=True),
    quantum=st.integers(1, 500),
)
def test_what_a_multiplexer_grants_arrives(
    sizes: list[int], marks: list[int], quantum: int
) -> None:
    """Each level is reported by the very quantum that ends it; all complete at their size."""
    hierarchy, demux = Hierarchy(root=RoundRobin()), Demultiplexer()
    for component, size in enumerate(sizes):
        leaf = hierarchy.attach(hierarchy.root, str(component))
        hierarchy.set_marks(leaf, sorted(marks))
        hierarchy.enqueue(leaf, size)
        hierarchy.finish(leaf)
        demux.open(component, sorted(marks))
    mux, completed, levels = Multiplexer(hierarchy, quantum=quantum), {}, []
    while (grant := mux.next_quantum(0.0)) is not None:
        for event in demux.received(int(grant.leaf.name), grant.length, grant.last):
            if isinstance(event, LevelReached):
                assert grant.leaf.sent == sorted(marks)[event.level]
                levels.append(event)
            if isinstance(event, Completed):
                completed[event.component] = event.received
    assert completed == dict(enumerate(sizes))
    assert len(levels) == sum(mark <= size for size in sizes for mark in marks)
