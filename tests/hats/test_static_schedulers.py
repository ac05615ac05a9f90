"""Service orders of the static disciplines, as strings."""

from __future__ import annotations

import pytest

from hats.disciplines.edf import EarliestDeadlineFirst
from hats.disciplines.fifo import Fifo
from hats.disciplines.in_order import InOrder
from hats.disciplines.priority import Priority
from hats.disciplines.round_robin import RoundRobin
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.multiplexer import Multiplexer
from hats.tree.errors import SchedulerError
from hats.tree.hierarchy import Hierarchy
from hats.tree.scheduler import Scheduler

Q = 100


def order(mux: Multiplexer, picks: int = 100) -> str:
    served = []
    for _ in range(picks):
        grant = mux.next_quantum(0.0)
        if grant is None:
            break
        served.append(grant.leaf.name)
    return ",".join(served)


def tree(scheduler: Scheduler) -> tuple[Hierarchy, Multiplexer]:
    hierarchy = Hierarchy(root=scheduler)
    return hierarchy, Multiplexer(hierarchy, quantum=Q)


def test_fifo_serves_by_arrival_of_data_not_of_nodes() -> None:
    hierarchy, mux = tree(Fifo())
    a, b, c = (hierarchy.attach(hierarchy.root, name) for name in "ABC")
    hierarchy.enqueue(c, 2 * Q)
    hierarchy.enqueue(a, Q)
    hierarchy.enqueue(b, Q)
    hierarchy.enqueue(c, Q)  # more of what is queued keeps its place
    assert order(mux, 4) == "C,C,C,A"
    hierarchy.enqueue(a, Q)  # ran dry, so it joins again at the end
    assert order(mux) == "B,A"


def test_fifo_keeps_a_disabled_childs_place() -> None:
    hierarchy, mux = tree(Fifo())
    a, b = (hierarchy.attach(hierarchy.root, name) for name in "AB")
    hierarchy.enqueue(a, Q)
    hierarchy.enqueue(b, Q)
    hierarchy.disable(a, by=hierarchy.root)
    hierarchy.enable(a, by=hierarchy.root)
    assert order(mux) == "A,B"


def test_in_order_is_sequential_and_preempted_by_an_earlier_one() -> None:
    hierarchy, mux = tree(InOrder())
    a = hierarchy.attach(hierarchy.root, "A", order=1)
    b = hierarchy.attach(hierarchy.root, "B", order=2)
    c = hierarchy.attach(hierarchy.root, "C", order=3)
    hierarchy.enqueue(c, 2 * Q)
    hierarchy.enqueue(b, 2 * Q)
    assert order(mux, 1) == "B"
    hierarchy.enqueue(a, Q)
    assert order(mux, 1) == "A"
    hierarchy.set_order(c, 0)
    assert order(mux) == "C,C,B"


def test_round_robin_turns_whatever_the_weight() -> None:
    hierarchy, mux = tree(RoundRobin())
    a = hierarchy.attach(hierarchy.root, "A", weight=5.0)
    b = hierarchy.attach(hierarchy.root, "B")
    hierarchy.enqueue(a, 3 * Q)
    hierarchy.enqueue(b, 3 * Q)
    assert order(mux, 3) == "A,B,A"
    hierarchy.set_weight(a, 1.0)  # moves nobody
    c = hierarchy.attach(hierarchy.root, "C")
    hierarchy.enqueue(c, 2 * Q)
    assert order(mux) == "B,A,C,B,C"


def test_priority_is_strict_and_fifo_among_equals() -> None:
    hierarchy, mux = tree(Priority())
    a = hierarchy.attach(hierarchy.root, "A")
    b = hierarchy.attach(hierarchy.root, "B", priority=1)
    c = hierarchy.attach(hierarchy.root, "C", priority=1)
    for leaf in (a, c, b):
        hierarchy.enqueue(leaf, 2 * Q)
    assert order(mux, 3) == "C,C,B"
    hierarchy.set_priority(a, 2)
    assert order(mux) == "A,A,B"


def test_earliest_deadline_first_then_those_without() -> None:
    hierarchy, mux = tree(EarliestDeadlineFirst())
    a = hierarchy.attach(hierarchy.root, "A")
    b = hierarchy.attach(hierarchy.root, "B", deadline=9.0)
    c = hierarchy.attach(hierarchy.root, "C", deadline=5.0)
    for leaf in (a, b, c):
        hierarchy.enqueue(leaf, 2 * Q)
    assert order(mux, 3) == "C,C,B"
    hierarchy.set_deadline(a, 1.0)
    assert order(mux) == "A,A,B"


def test_priority_over_deadlines_as_in_nai() -> None:
    hierarchy, mux = tree(Priority())
    urgent = hierarchy.attach(
        hierarchy.root, "urgent", scheduler=EarliestDeadlineFirst(), priority=9, keep=True
    )
    bulk = hierarchy.attach(hierarchy.root, "bulk", scheduler=EarliestDeadlineFirst(), priority=1)
    for parent, name, deadline in ((bulk, "D", 1.0), (urgent, "B", 8.0), (urgent, "A", 7.0)):
        hierarchy.enqueue(hierarchy.attach(parent, name, deadline=deadline), Q)
    assert order(mux) == "A,B,D"


def test_equal_weights_take_turns() -> None:
    hierarchy, mux = tree(WF2QPlus())
    for name in "ABC":
        hierarchy.enqueue(hierarchy.attach(hierarchy.root, name), 2 * Q)
    assert order(mux) == "A,B,C,A,B,C"


def test_a_heavy_child_does_not_burst() -> None:
    """Half against eight sixteenths: WFQ would begin with eight of A (SIGCOMM'96, fig. 2)."""
    hierarchy, mux = tree(WF2QPlus())
    hierarchy.enqueue(hierarchy.attach(hierarchy.root, "A", weight=0.5), 8 * Q)
    for name in "bcdefghi":
        hierarchy.enqueue(hierarchy.attach(hierarchy.root, name, weight=1 / 16), Q)
    assert order(mux) == "A,b,A,c,A,d,A,e,A,f,A,g,A,h,A,i"


@pytest.mark.parametrize("scheduler", [Fifo, RoundRobin, WF2QPlus])
def test_a_scheduler_serves_one_node_only(scheduler: type[Scheduler]) -> None:
    one = scheduler()
    with pytest.raises(SchedulerError, match="not in use"):
        _ = one.node
    with pytest.raises(SchedulerError, match="not in use"):
        _ = one.tree
    hierarchy = Hierarchy(root=one)
    assert (one.tree, one.node) == (hierarchy, hierarchy.root)
    with pytest.raises(SchedulerError, match="already serves"):
        hierarchy.attach(hierarchy.root, "app", scheduler=one)
    assert hierarchy.root.children == {}
    with pytest.raises(SchedulerError, match="already serves"):
        hierarchy.set_scheduler(hierarchy.root, one)
    assert hierarchy.root.scheduler is one


def test_swapping_takes_effect_at_the_very_next_quantum() -> None:
    hierarchy, mux = tree(RoundRobin())
    a, b = (hierarchy.attach(hierarchy.root, name) for name in "AB")
    hierarchy.enqueue(b, 9 * Q)
    hierarchy.enqueue(a, 9 * Q)
    assert order(mux, 3) == "B,A,B"
    hierarchy.set_scheduler(hierarchy.root, Fifo())
    assert order(mux, 3) == "B,B,B"
    hierarchy.set_scheduler(hierarchy.root, InOrder())
    assert order(mux, 2) == "A,A"
    hierarchy.set_weight(a, 3.0)
    hierarchy.set_scheduler(hierarchy.root, WF2QPlus())
    assert order(mux, 4) == "A,B,A,A"
