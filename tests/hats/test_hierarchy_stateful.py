"""Any sequence of operations keeps the invariants; every byte queued is granted exactly once."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hats.disciplines import registry
from hats.multiplexer import Multiplexer
from hats.tree.errors import HierarchyError
from hats.tree.hierarchy import Hierarchy
from hats.tree.invariants import check, may_send
from hats.tree.node import Node
from hats.tree.scheduler import DynamicScheduler

KINDS = ("text", "style", "image", "font", "other")
SCHEDULERS = st.sampled_from(registry.names())
PICK = st.integers(0, 10**6)


@dataclass
class Model:
    """What a leaf should have, kept apart from the tree."""

    backlog: int = 0
    sent: int = 0
    finished: bool = False


class HierarchyMachine(RuleBasedStateMachine):
    @initialize(root=SCHEDULERS, quantum=st.integers(1, 300))
    def begin(self, root: str, quantum: int) -> None:
        self.tree = Hierarchy(root=registry.create(root))
        self.mux = Multiplexer(self.tree, quantum=quantum)
        self.interior: list[Node] = [self.tree.root]
        self.leaves: dict[Node, Model] = {}
        self.names = 0

    # -- helpers -----------------------------------------------------------------------------

    def name(self) -> str:
        self.names += 1
        return str(self.names)

    def node(self, pick: int) -> Node:
        return self.interior[pick % len(self.interior)]

    def leaf(self, pick: int) -> Node:
        return list(self.leaves)[pick % len(self.leaves)]

    def anyone(self, pick: int) -> Node:
        everyone = [*self.interior, *self.leaves]
        return everyone[pick % len(everyone)]

    def forget_the_departed(self) -> None:
        self.interior = [node for node in self.interior if node.attached]
        self.leaves = {leaf: model for leaf, model in self.leaves.items() if leaf.attached}

    def has_leaves(self) -> bool:
        return bool(self.leaves)

    # -- structure ---------------------------------------------------------------------------

    @rule(at=PICK, scheduler=SCHEDULERS, weight=st.floats(0.01, 10), keep=st.booleans())
    def attach_interior(self, at: int, scheduler: str, weight: float, keep: bool) -> None:
        parent = self.node(at)
        if parent.depth < 4 and len(self.interior) < 12:
            made = registry.create(scheduler)
            self.interior.append(
                self.tree.attach(parent, self.name(), scheduler=made, weight=weight, keep=keep)
            )

    @rule(at=PICK, kind=st.sampled_from(KINDS), order=st.integers(0, 3), nbytes=st.integers(0, 999))
    def attach_leaf(self, at: int, kind: str, order: int, nbytes: int) -> None:
        leaf = self.tree.attach(self.node(at), self.name(), kind=kind, order=order)
        self.leaves[leaf] = Model(backlog=nbytes)
        self.tree.enqueue(leaf, nbytes)

    @rule(at=PICK)
    def remove(self, at: int) -> None:
        node = self.anyone(at)
        if node.parent is not None:
            self.tree.remove(node)
            assert not node.attached
            self.forget_the_departed()

    @rule(at=PICK, scheduler=SCHEDULERS)
    def swap_scheduler(self, at: int, scheduler: str) -> None:
        self.tree.set_scheduler(self.node(at), registry.create(scheduler))

    # -- data --------------------------------------------------------------------------------

    @precondition(has_leaves)
    @rule(at=PICK, nbytes=st.integers(0, 5000))
    def enqueue(self, at: int, nbytes: int) -> None:
        leaf = self.leaf(at)
        model = self.leaves[leaf]
        if model.finished:
            with pytest.raises(HierarchyError):
                self.tree.enqueue(leaf, nbytes)
        else:
            self.tree.enqueue(leaf, nbytes)
            model.backlog += nbytes

    @precondition(has_leaves)
    @rule(at=PICK, part=st.floats(0, 1))
    def unqueue(self, at: int, part: float) -> None:
        leaf = self.leaf(at)
        nbytes = int(self.leaves[leaf].backlog * part)
        self.tree.unqueue(leaf, nbytes)
        self.leaves[leaf].backlog -= nbytes

    @precondition(has_leaves)
    @rule(at=PICK, part=st.floats(0, 1))
    def send_ahead(self, at: int, part: float) -> None:
        leaf = self.leaf(at)
        model = self.leaves[leaf]
        nbytes = int(model.backlog * part)
        if model.finished and 0 < nbytes < model.backlog:
            self.tree.sent_ahead(leaf, nbytes, now=0.0)
            model.backlog -= nbytes
        else:
            with pytest.raises(HierarchyError):
                self.tree.sent_ahead(leaf, nbytes, now=0.0)

    @rule(at=PICK)
    def finish(self, at: int) -> None:
        node = self.anyone(at)
        if node.parent is not None:
            self.tree.finish(node)
            if node in self.leaves:
                self.leaves[node].finished = True
            self.forget_the_departed()

    @rule(picks=st.integers(1, 6))
    def serve(self, picks: int) -> None:
        for _ in range(picks):
            sendable = any(may_send(leaf) for leaf in self.leaves)
            grant = self.mux.next_quantum(0.0)
            assert (grant is not None) == sendable
            if grant is None:
                return
            model = self.leaves[grant.leaf]
            assert grant.length <= min(self.mux.quantum, model.backlog)
            assert not any(
                model.sent < mark < model.sent + grant.length for mark in grant.leaf.marks
            )
            model.backlog -= grant.length
            model.sent += grant.length
            assert grant.length > 0 or grant.last
            assert not grant.length or model.sent <= grant.leaf.limit
            assert grant.last == (model.finished and not model.backlog)
            assert grant.leaf.attached != grant.last
            self.forget_the_departed()

    # -- parameters --------------------------------------------------------------------------

    @rule(at=PICK, weight=st.floats(0.01, 10), order=st.integers(0, 3), priority=st.integers(-1, 2))
    def reparameterise(self, at: int, weight: float, order: int, priority: int) -> None:
        node = self.anyone(at)
        self.tree.set_weight(node, weight)
        self.tree.set_order(node, order)
        self.tree.set_priority(node, priority)
        self.tree.set_deadline(node, float(order))

    @precondition(has_leaves)
    @rule(
        at=PICK,
        marks=st.lists(st.integers(1, 6000), max_size=4, unique=True).map(sorted),
        kind=st.sampled_from(KINDS),
        size=st.none() | st.integers(0, 9000),
    )
    def turn_out(self, at: int, marks: list[int], kind: str, size: int | None) -> None:
        leaf = self.leaf(at)
        self.tree.set_marks(leaf, marks)
        self.tree.set_kind(leaf, kind)
        self.tree.set_size(leaf, size)

    @precondition(has_leaves)
    @rule(at=PICK, limit=st.none() | st.integers(0, 6000))
    def limit(self, at: int, limit: int | None) -> None:
        self.tree.set_limit(self.leaf(at), limit)

    @rule(quantum=st.integers(1, 300))
    def resize_quantum(self, quantum: int) -> None:
        self.mux.quantum = quantum

    # -- disabling ---------------------------------------------------------------------------

    @rule(at=PICK, height=st.integers(0, 4), on=st.booleans())
    def disable_or_enable(self, at: int, height: int, on: bool) -> None:
        node = self.anyone(at)
        above = self.ancestors(node)
        if not above:
            return
        by = above[height % len(above)]
        if not on:
            self.tree.disable(node, by=by)
            assert by in node.holds
            return
        places = [h.depth if isinstance(h, Node) else h.node.depth for h in node.holds]
        if places and min(places) < by.depth:
            with pytest.raises(HierarchyError):
                self.tree.enable(node, by=by)
        else:
            self.tree.enable(node, by=by)
            assert not node.holds

    @rule(at=PICK, height=st.integers(0, 4))
    def withdraw(self, at: int, height: int) -> None:
        node = self.anyone(at)
        above = self.ancestors(node)
        if above:
            by = above[height % len(above)]
            self.tree.withdraw(node, by=by)
            assert by not in (*node.holds, *node.enablers)

    @rule(at=PICK, height=st.integers(0, 4), on=st.booleans())
    def overrule_or_release(self, at: int, height: int, on: bool) -> None:
        node = self.anyone(at)
        if not node.depth:
            return
        above = self.ancestors(node)
        scheduler = above[height % len(above)].scheduler
        assert scheduler is not None
        if not isinstance(scheduler, DynamicScheduler):
            return
        if on:
            self.tree.overrule(node, scheduler)
            assert scheduler in node.enablers
        elif scheduler in node.enablers:
            self.tree.release(node, scheduler)
            assert scheduler not in node.enablers

    @staticmethod
    def ancestors(node: Node) -> list[Node]:
        above = []
        while (parent := node.parent) is not None:
            above.append(parent)
            node = parent
        return above

    # -- what holds --------------------------------------------------------------------------

    @invariant()
    def the_tree_is_sound(self) -> None:
        check(self.tree)
        for leaf, model in self.leaves.items():
            assert (leaf.backlog, leaf.sent, leaf.finished) == (
                model.backlog,
                model.sent,
                model.finished,
            )
        assert set(self.tree.leaves()) == set(self.leaves)

    def teardown(self) -> None:
        if not hasattr(self, "tree"):
            return
        for node in (*self.interior, *self.leaves):
            if node.parent is not None:
                self.tree.enable(node, by=self.tree.root)
        for leaf in self.leaves:
            self.tree.finish(leaf)
            self.tree.set_limit(leaf, None)
        left = set(self.leaves)
        while (grant := self.mux.next_quantum(0.0)) is not None:
            if grant.last:
                left.remove(grant.leaf)
        assert not left
        assert self.tree.root.backlog == 0


HierarchyMachine.TestCase.settings = settings(
    max_examples=80, stateful_step_count=40, deadline=None, derandomize=True
)
TestHierarchy = HierarchyMachine.TestCase
