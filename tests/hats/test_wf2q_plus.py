"""WF2Q+ against a fluid server (generalised processor sharing), and its corner cases."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hats.disciplines.wf2q_plus import WF2QPlus
from hats.multiplexer import Multiplexer
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node

Q = 100
WEIGHTS = (0.1, 0.5, 1.0, 2.0, 5.0)


@dataclass
class Fluid:
    """GPS: all leaves with data at once, each level in proportion to weights. One byte a second.

    Knows the weights from the nodes, and nothing else of the code under test.
    """

    now: float = 0.0
    backlog: dict[Node, float] = field(default_factory=dict)
    served: dict[Node, float] = field(default_factory=dict)

    def add(self, leaf: Node, nbytes: int) -> None:
        self.backlog[leaf] = self.backlog.get(leaf, 0.0) + nbytes
        self.served.setdefault(leaf, 0.0)

    def run(self, until: float) -> None:
        while self.now < until - 1e-9:
            rates = self.rates()
            if not rates:
                self.now = until
                return
            step = min([until - self.now, *(self.backlog[n] / r for n, r in rates.items())])
            for leaf, rate in rates.items():
                left = self.backlog[leaf] - rate * step
                self.served[leaf] += self.backlog[leaf] - max(left, 0.0)
                self.backlog[leaf] = left if left > 1e-7 else 0.0
            self.now += step

    def rates(self) -> dict[Node, float]:
        active = {leaf for leaf, backlog in self.backlog.items() if backlog > 0}
        busy = set(active)
        for leaf in active:
            busy.update(self.above(leaf))
        sums: dict[Node, float] = {}
        for node in sorted(busy, key=lambda node: node.serial):
            if node.parent is not None:
                sums[node.parent] = sums.get(node.parent, 0.0) + node.weight
        rates = {}
        for leaf in sorted(active, key=lambda node: node.serial):
            rate = 1.0
            for node in (leaf, *self.above(leaf)):
                if node.parent is not None:
                    rate *= node.weight / sums[node.parent]
            rates[leaf] = rate
        return rates

    @staticmethod
    def above(node: Node) -> Iterator[Node]:
        while (parent := node.parent) is not None:
            yield parent
            node = parent


@dataclass
class Race:
    """The multiplexer and the fluid server with the same arrivals; how far they drift apart."""

    hierarchy: Hierarchy = field(default_factory=lambda: Hierarchy(root=WF2QPlus()))
    fluid: Fluid = field(default_factory=Fluid)
    now: float = 0.0
    lag: float = 0.0
    """Bytes that a leaf was behind the fluid server at most."""
    lead: float = 0.0

    def __post_init__(self) -> None:
        self.mux = Multiplexer(self.hierarchy, quantum=Q)

    def leaves(self, shape: tuple[int, ...], rng: random.Random) -> list[Node]:
        parents = [self.hierarchy.root]
        for depth, width in enumerate(shape):
            inner = depth < len(shape) - 1
            parents = [
                self.hierarchy.attach(
                    parent,
                    str(i),
                    scheduler=WF2QPlus() if inner else None,
                    weight=rng.choice(WEIGHTS),
                    keep=True,
                )
                for parent in parents
                for i in range(width)
            ]
        return parents

    def enqueue(self, leaf: Node, nbytes: int) -> None:
        self.hierarchy.enqueue(leaf, nbytes)
        self.fluid.add(leaf, nbytes)

    def step(self) -> bool:
        grant = self.mux.next_quantum(self.now)
        if grant is None:
            return False
        self.now += grant.length
        self.fluid.run(self.now)
        for leaf, served in self.fluid.served.items():
            self.lag = max(self.lag, served - leaf.sent)
            self.lead = max(self.lead, leaf.sent - served)
        return True


SHAPES = [(3,), (20,), (2, 2), (3, 4), (2, 3, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_busy_leaves_stay_within_a_quantum_a_level(shape: tuple[int, ...]) -> None:
    for seed in range(20):
        race = Race()
        for leaf in race.leaves(shape, random.Random(seed)):
            race.enqueue(leaf, 10**6)
        for _ in range(100):
            assert race.step()
        assert race.lag <= Q * len(shape), seed
        assert race.lead <= Q * len(shape), seed


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sizes", [(Q, 3 * Q, 10 * Q), (1, 30, Q, 250, 10 * Q)])
def test_leaves_that_come_and_go(shape: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    """A quantum a level; two where grants are cut short, because F assumes a full one."""
    bound = Q * len(shape) * (1 if sizes[0] == Q else 2)
    for seed in range(12):
        rng = random.Random(seed)
        race = Race()
        leaves = race.leaves(shape, rng)
        for _ in range(150):
            for leaf in leaves:
                if rng.random() < 1 / (4 * len(leaves)):
                    race.enqueue(leaf, rng.choice(sizes))
            if not race.step():
                race.enqueue(rng.choice(leaves), rng.choice(sizes))
        assert race.lag <= bound, seed
        assert race.lead <= bound, seed


def test_weights_changed_mid_flight() -> None:
    """From each change on, shares are the new ones; what was ahead by then is at most a quantum."""
    for seed in range(20):
        rng = random.Random(seed)
        race = Race()
        leaves = race.leaves((5,), rng)
        for leaf in leaves:
            race.enqueue(leaf, 10**6)
        for _ in range(200):
            if rng.random() < 0.1:
                race.hierarchy.set_weight(rng.choice(leaves), rng.choice(WEIGHTS))
            assert race.step()
        assert race.lag <= 2 * Q, seed
        assert race.lead <= 2 * Q, seed


def test_a_lifted_weight_is_felt_at_once() -> None:
    """A child of weight 0.001 that just had its quantum doesn't sit out its old turn."""
    race = Race()
    slow = race.hierarchy.attach(race.hierarchy.root, "slow", weight=0.001)
    fast = race.hierarchy.attach(race.hierarchy.root, "fast")
    for leaf in (slow, fast):
        race.enqueue(leaf, 10**6)
    while slow.sent == 0:
        race.step()
    race.hierarchy.set_weight(slow, 100.0)
    before = slow.sent
    for _ in range(11):
        race.step()
    assert slow.sent - before >= 9 * Q


@given(
    script=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from((1, 40, Q, 3 * Q)), st.integers(0, 4)),
        max_size=60,
    ),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_any_arrivals_work_conserving_and_bounded(
    script: list[tuple[int, int, int]], seed: int
) -> None:
    race = Race()
    leaves = race.leaves((2, 3), random.Random(seed))
    for which, nbytes, steps in script:
        race.enqueue(leaves[which], nbytes)
        for _ in range(steps):
            assert race.step() or race.hierarchy.root.backlog == 0
    while race.hierarchy.root.backlog:
        assert race.step()
    assert race.lag <= 4 * Q
    assert [leaf.sent for leaf in leaves] == [
        sum(nbytes for which, nbytes, _ in script if which == i) for i in range(6)
    ]


def served(mux: Multiplexer, picks: int) -> str:
    grants = (mux.next_quantum(0.0) for _ in range(picks))
    return "".join(grant.leaf.name for grant in grants if grant is not None)


def test_idle_time_earns_no_credit() -> None:
    hierarchy = Hierarchy(root=WF2QPlus())
    mux = Multiplexer(hierarchy, quantum=Q)
    a, b = (hierarchy.attach(hierarchy.root, name) for name in "AB")
    hierarchy.enqueue(a, 100 * Q)
    hierarchy.enqueue(b, Q)
    assert served(mux, 52).count("B") == 1
    hierarchy.enqueue(b, 100 * Q)
    assert served(mux, 6) in ("BABABA", "ABABAB")


def test_the_end_of_a_busy_period_ends_what_was_ahead() -> None:
    hierarchy = Hierarchy(root=WF2QPlus())
    mux = Multiplexer(hierarchy, quantum=Q)
    a = hierarchy.attach(hierarchy.root, "A", weight=0.001)
    b = hierarchy.attach(hierarchy.root, "B")
    for leaf in (a, b):
        hierarchy.enqueue(leaf, Q)
    assert served(mux, 3) == "BA"  # A leaves a thousand quanta of weight 1 ahead
    hierarchy.set_weight(a, 1.0)
    hierarchy.enqueue(a, Q)
    hierarchy.enqueue(b, Q)
    assert served(mux, 3) == "AB"


def test_coming_back_while_ahead_does_not_help() -> None:
    """A leaf that asks for one quantum at a time gets no more than one that asks for many."""
    hierarchy = Hierarchy(root=WF2QPlus())
    mux = Multiplexer(hierarchy, quantum=Q)
    a, b = (hierarchy.attach(hierarchy.root, name) for name in "AB")
    hierarchy.enqueue(b, 100 * Q)
    for _ in range(60):
        if not a.backlog:
            hierarchy.enqueue(a, Q)
        mux.next_quantum(0.0)
    assert abs(a.sent - b.sent) <= Q


def test_disabling_and_enabling_while_ahead_does_not_help_nor_pile_up() -> None:
    hierarchy = Hierarchy(root=WF2QPlus())
    mux = Multiplexer(hierarchy, quantum=Q)
    a = hierarchy.attach(hierarchy.root, "A", weight=0.1)
    b = hierarchy.attach(hierarchy.root, "B")
    for leaf in (a, b):
        hierarchy.enqueue(leaf, 1000 * Q)
    while not a.sent:
        mux.next_quantum(0.0)
    scheduler = hierarchy.root.scheduler
    assert isinstance(scheduler, WF2QPlus)
    for i in range(500):
        hierarchy.disable(a, by=hierarchy.root)
        hierarchy.set_weight(a, 0.1 + i % 2)
        hierarchy.enable(a, by=hierarchy.root)
        hierarchy.set_weight(b, 1.0 + i % 2)
    hierarchy.set_weight(a, 0.1)
    assert scheduler.entries < 30
    before = a.sent, b.sent
    served(mux, 110)
    assert (a.sent - before[0]) / Q == pytest.approx(110 * 0.1 / 2.1, abs=2)


def test_a_leaf_that_empties_inside_select() -> None:
    """The pick that drains A makes A wait; the very next pick must not choose it again."""
    hierarchy = Hierarchy(root=WF2QPlus())
    app = hierarchy.attach(hierarchy.root, "app", scheduler=WF2QPlus(), keep=True)
    mux = Multiplexer(hierarchy, quantum=Q)
    a, b = (hierarchy.attach(app, name) for name in "AB")
    hierarchy.enqueue(a, Q)
    hierarchy.enqueue(b, Q + 1)
    assert served(mux, 1) == "A"
    assert not a.ready
    assert app.ready
    assert served(mux, 5) == "BB"
    assert not app.ready
    assert mux.next_quantum(0.0) is None
    hierarchy.enqueue(a, 1)
    assert served(mux, 2) == "A"


def test_a_removed_leaf_that_was_ahead_is_paid_off_and_forgotten() -> None:
    hierarchy = Hierarchy(root=WF2QPlus())
    mux = Multiplexer(hierarchy, quantum=Q)
    a, b, c = (hierarchy.attach(hierarchy.root, name) for name in "ABC")
    for leaf in (a, b, c):
        hierarchy.enqueue(leaf, 10 * Q)
    assert served(mux, 1) == "A"
    hierarchy.remove(a)
    assert served(mux, 8) == "BCBCBCBC"
    scheduler = hierarchy.root.scheduler
    assert isinstance(scheduler, WF2QPlus)
    assert scheduler.accounted == scheduler.entries == 2
