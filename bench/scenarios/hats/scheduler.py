"""Times picks, and tries whether a million random operations leave the tree sound.

    python -m bench.scenarios.hats.scheduler [--operations N] [--rounds N] [--seed N] [--json]

Picks are timed in processor time (median over rounds, with the spread). The random operations are
seeded and check hats/tree/invariants.py and a model of every leaf's bytes.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any, Final

from hats.disciplines import registry
from hats.disciplines.low_fidelity_first import LowFidelityFirst
from hats.disciplines.text_first import TextFirst
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.multiplexer import Multiplexer
from hats.tree.hierarchy import Hierarchy
from hats.tree.invariants import check
from hats.tree.node import Node
from hats.tree.scheduler import Scheduler

PICK_GOAL_US: Final = 8.0
"""Microseconds a pick at depth 4 with 1,000 leaves."""
SNAPSHOT_GOAL_MS: Final = 10.0
"""A picture of 500 leaves twice a second may take 2 % of a core."""
LEAVES: Final = (10, 100, 1000)
APPS: Final = 4
DOCUMENTS: Final = 5
"""Per application."""
PICKS: Final = 2000
"""Per round."""
SOUND_EVERY: Final = 500
"""Operations between two checks of the whole tree, which cost O(nodes)."""

Check = dict[str, Any]


# -- what a pick costs -----------------------------------------------------------------------


@dataclass(frozen=True)
class Composition:
    """Which scheduler sits at which height."""

    root: Callable[[], Scheduler]
    app: Callable[[], Scheduler]
    document: Callable[[], Scheduler]


COMPOSITIONS: Final = {
    "wf2q_plus": Composition(WF2QPlus, WF2QPlus, WF2QPlus),
    "default": Composition(TextFirst, WF2QPlus, LowFidelityFirst),
    "low_fidelity_first": Composition(LowFidelityFirst, WF2QPlus, LowFidelityFirst),
}


def build(composition: Composition, leaves: int, *, nbytes: int) -> Hierarchy:
    """Root > 4 applications > 5 documents each > the leaves in turn; every tenth is text."""
    tree = Hierarchy(root=composition.root())
    documents = []
    for a in range(APPS):
        app = tree.attach(tree.root, f"app{a}", scheduler=composition.app(), weight=1.0 + a)
        documents += [
            tree.attach(app, str(d), scheduler=composition.document(), weight=1.0 + d % 3)
            for d in range(DOCUMENTS)
        ]
    for i in range(leaves):
        kind = "image" if i % 10 else "text"
        document = documents[i % len(documents)]
        leaf = tree.attach(document, str(i), kind=kind, order=i, weight=1.0 + i % 3)
        if kind == "image":
            tree.set_marks(leaf, (nbytes // 7, nbytes * 3 // 7))
        tree.enqueue(leaf, nbytes)
    return tree


def time_picks(composition: Composition, leaves: int, rounds: int) -> list[float]:
    """Microseconds a pick, one figure a round; half-way through a tree of fresh pages."""
    figures = []
    for _ in range(rounds):
        tree = build(composition, leaves, nbytes=2 * 1024 * PICKS // leaves + 7 * 1024)
        mux = Multiplexer(tree)
        for _ in range(PICKS // 4):
            mux.next_quantum(0.0)
        begin = time.thread_time()
        for _ in range(PICKS):
            grant = mux.next_quantum(0.0)
        figures.append((time.thread_time() - begin) / PICKS * 1e6)
        assert grant is not None, "the tree ran dry while it was timed"
    return figures


def time_switch(leaves: int, rounds: int) -> list[float]:
    """Microseconds that a burst of text costs a tree of ready pictures: all held, all released."""
    tree = build(COMPOSITIONS["default"], leaves, nbytes=1 << 20)
    mux = Multiplexer(tree)
    for leaf in tuple(tree.leaves()):
        tree.set_kind(leaf, "image")
    document = tree.root.children["app0"].children["0"]
    text = tree.attach(document, "late text", kind="text")
    mux.next_quantum(0.0)
    figures = []
    for _ in range(rounds):
        begin = time.thread_time()
        tree.enqueue(text, 1)
        mux.next_quantum(0.0)
        mux.next_quantum(0.0)
        figures.append((time.thread_time() - begin) * 1e6)
    return figures


def time_snapshot(rounds: int) -> list[float]:
    """Milliseconds for a picture of 500 leaves."""
    tree = build(COMPOSITIONS["default"], 500, nbytes=1000)
    figures = []
    for _ in range(rounds):
        begin = time.thread_time()
        tree.statistics()
        figures.append((time.thread_time() - begin) * 1e3)
    return figures


# -- random operations -----------------------------------------------------------------------


@dataclass
class Chaos:
    """A hierarchy under random operations, with a count of every leaf's bytes apart from it."""

    rng: random.Random
    tree: Hierarchy = field(default_factory=lambda: Hierarchy(root=TextFirst()))
    queued: dict[Node, int] = field(default_factory=dict)
    """Bytes each leaf should have."""
    interior: list[Node] = field(default_factory=list)
    names: int = 0
    grants: int = 0
    idle: int = 0
    failures: int = 0

    def __post_init__(self) -> None:
        self.mux = Multiplexer(self.tree, quantum=1024)
        self.leaves: list[Node] = []

    def run(self, operations: int) -> None:
        steps: list[Callable[[], None]] = []
        for step, weight in (
            (self.serve, 10),
            (self.enqueue, 6),
            (self.attach_leaf, 2),
            (self.finish, 2),
            (self.reparameterise, 2),
            (self.disable, 1),
            (self.enable, 2),
            (self.unqueue, 1),
        ):
            steps += [step] * weight
        rare = (self.attach_interior, self.remove, self.swap, self.resize)
        for i in range(operations):
            if i % 100 == 0:
                self.rng.choice(rare)()
            else:
                self.rng.choice(steps)()
            if i % SOUND_EVERY == 0:
                self.sound()
        self.sound()

    def sound(self) -> None:
        check(self.tree)
        self.leaves = [leaf for leaf in self.leaves if leaf.attached]
        self.queued = {leaf: n for leaf, n in self.queued.items() if leaf.attached}
        self.interior = [node for node in self.interior if node.attached]
        for leaf, nbytes in self.queued.items():
            assert leaf.backlog == nbytes, f"{leaf!r} should have {nbytes} bytes"
        assert self.tree.root.backlog == sum(self.queued.values())

    def leaf(self) -> Node | None:
        """Any leaf in the tree; None if chance picked one that has left."""
        leaf = self.rng.choice(self.leaves) if self.leaves else None
        return leaf if leaf is not None and leaf.attached else None

    def parent(self) -> Node:
        node = self.rng.choice(self.interior) if self.interior else self.tree.root
        return node if node.attached else self.tree.root

    def scheduler(self) -> Scheduler:
        return registry.create(self.rng.choice(registry.names()))

    def serve(self) -> None:
        grant = self.mux.next_quantum(0.0)
        if grant is None:
            self.idle += 1
            return
        self.grants += 1
        self.queued[grant.leaf] -= grant.length
        assert 0 <= grant.length <= self.mux.quantum
        assert grant.last != grant.leaf.attached

    def enqueue(self) -> None:
        leaf = self.leaf()
        if leaf is not None and not leaf.finished:
            nbytes = self.rng.choice((0, 1, 300, 1024, 5000))
            self.tree.enqueue(leaf, nbytes)
            self.queued[leaf] += nbytes

    def unqueue(self) -> None:
        leaf = self.leaf()
        if leaf is not None:
            nbytes = self.rng.randint(0, leaf.backlog)
            self.tree.unqueue(leaf, nbytes)
            self.queued[leaf] -= nbytes

    def attach_leaf(self) -> None:
        if len(self.leaves) < 300:
            self.names += 1
            kind = self.rng.choice(("text", "style", "image", "image", "font", "other"))
            leaf = self.tree.attach(
                self.parent(), str(self.names), kind=kind, order=self.rng.randint(0, 9)
            )
            if kind == "image":
                self.tree.set_marks(leaf, (700, 2100, 4900))
            self.leaves.append(leaf)
            self.queued[leaf] = 0

    def attach_interior(self) -> None:
        parent = self.parent()
        if parent.depth < 4 and len(self.interior) < 30:
            self.names += 1
            self.interior.append(
                self.tree.attach(parent, str(self.names), scheduler=self.scheduler())
            )

    def finish(self) -> None:
        leaf = self.leaf()
        if leaf is not None:
            self.tree.finish(leaf)

    def remove(self) -> None:
        node = self.leaf() if self.rng.random() < 0.7 else self.parent()
        if node is not None and node.parent is not None:
            self.tree.remove(node)

    def swap(self) -> None:
        self.tree.set_scheduler(self.parent(), self.scheduler())

    def resize(self) -> None:
        self.mux.quantum = self.rng.choice((256, 512, 1024, 4096))

    def reparameterise(self) -> None:
        node = self.leaf() or self.parent()
        choice = self.rng.randrange(3)
        if choice == 0:
            self.tree.set_weight(node, self.rng.choice((0.001, 0.2, 0.8, 1.0, 5.0)))
        elif choice == 1:
            self.tree.set_priority(node, self.rng.randint(0, 2))
        else:
            self.tree.set_order(node, self.rng.randint(0, 9))

    def disable(self) -> None:
        node = self.leaf() if self.rng.random() < 0.9 else self.parent()
        if node is not None and node.parent is not None:
            self.tree.disable(node, by=self.rng.choice((node.parent, self.tree.root)))

    def enable(self) -> None:
        node = self.leaf() if self.rng.random() < 0.7 else self.parent()
        if node is not None and node.parent is not None:
            self.tree.enable(node, by=self.tree.root)


# -- the scenario ----------------------------------------------------------------------------


def run(
    *, seed: int = 1, operations: int = 1_000_000, rounds: int = 7, quiet: bool = False
) -> dict[str, Any]:
    """All of it. Returns `checks`, and under `picks` the figures of every shape."""
    say = (lambda text: None) if quiet else print
    picks: dict[str, dict[str, float]] = {}
    checks: dict[str, Check] = {}
    for name, composition in COMPOSITIONS.items():
        for leaves in LEAVES:
            shape = f"{name}_{leaves}"
            picks[shape] = spread(time_picks(composition, leaves, rounds))
            say(f"{name:>20} {leaves:5} leaves  {described(picks[shape], 'us/pick')}")
        checks[f"pick_{name}"] = bound(picks[shape]["median"], "us", PICK_GOAL_US)
    switch = spread(time_switch(1000, rounds))
    say(f"{'text over pictures':>20} {1000:5} leaves  {described(switch, 'us/burst')}")
    snapshot = spread(time_snapshot(rounds))
    say(f"{'snapshot':>20} {500:5} leaves  {described(snapshot, 'ms')}")
    checks["snapshot"] = bound(snapshot["median"], "ms", SNAPSHOT_GOAL_MS)
    if operations:
        chaos = Chaos(random.Random(seed))
        begin = time.thread_time()
        chaos.run(operations)
        took = time.thread_time() - begin
        say(f"{operations} random operations, {chaos.grants} grants: sound, in {took:.1f} s")
        checks["random_operations"] = {
            "value": operations,
            "unit": "operations",
            "goal": operations,
            "ok": chaos.grants > operations // 10,
        }
    return {"seed": seed, "picks": picks, "switch_us": switch, "checks": checks}


def spread(figures: list[float]) -> dict[str, float]:
    if len(figures) < 2:
        return dict.fromkeys(("median", "p25", "p75", "least"), figures[0])
    low, _, high = quantiles(figures, n=4)
    return {"median": median(figures), "p25": low, "p75": high, "least": min(figures)}


def described(figures: dict[str, float], unit: str) -> str:
    return f"{figures['median']:8.2f} {unit} (p25 {figures['p25']:.2f}, p75 {figures['p75']:.2f})"


def bound(value: float, unit: str, goal: float) -> Check:
    return {"value": round(value, 2), "unit": unit, "goal": goal, "ok": value <= goal}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the result as JSON only")
    options = parser.parse_args()
    result = run(
        seed=options.seed,
        operations=options.operations,
        rounds=options.rounds,
        quiet=options.json,
    )
    if options.json:
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
