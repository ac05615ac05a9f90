"""A plug-in's scheduler that fails is followed by WF2Q+, and nothing queued is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hats.disciplines.catalogue import Catalogue, PluggedScheduler
from hats.disciplines.contained import ContainedScheduler
from hats.disciplines.fifo import Fifo
from hats.disciplines.text_first import TextFirst
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node, NodeState
from hats.tree.scheduler import DynamicScheduler, Scheduler
from plugins.switch import PluginSwitch
from tests.hats.trees import Q, Tree

CALLS = ("bind", "attach", "detach", "ready", "waiting", "select", "charge", "changed", "unbind")


class Clock:
    now = 0.0


class Last(Fifo):
    """Serves the last that became ready, until a call fails."""

    def __init__(self, fails: str = "", after: int = 0) -> None:
        super().__init__()
        self.fails, self.left = fails, after

    def key(self, child: Node) -> tuple[int, ...]:
        return (-child.arrived,)

    def __getattribute__(self, name: str) -> object:
        if name in CALLS and name == object.__getattribute__(self, "fails"):
            if self.left <= 0:
                raise OSError(name)
            self.left -= 1
        return object.__getattribute__(self, name)


def contained(plugin: Scheduler) -> tuple[ContainedScheduler, list[str], Clock]:
    told: list[str] = []
    clock = Clock()
    switch = PluginSwitch("last", tell=lambda _, why: told.append(why), clock=lambda: clock.now)
    return ContainedScheduler(plugin, "plugin:last", switch), told, clock


def test_while_it_goes_well_the_plugin_chooses() -> None:
    scheduler, told, _ = contained(Last())
    tree = Tree(scheduler, Fifo, Fifo)
    for name in "abc":
        tree.leaf(name, 2 * Q)
    assert tree.hierarchy.statistics().scheduler == "plugin:last"
    assert tree.serve() == "c,c,b,b,a,a"
    assert told == []


def test_one_that_raises_in_select_is_followed_by_equal_shares() -> None:
    scheduler, told, _ = contained(Last("select", after=1))
    tree = Tree(scheduler, Fifo, Fifo)
    for name in "abc":
        tree.leaf(name, 2 * Q)
    served = tree.serve(1)
    assert served == "c"
    assert tree.hierarchy.statistics().scheduler == "wf2q_plus"
    assert tree.serve() == "a,b,c,a,b"
    assert told == ["OSError: select"]


@pytest.mark.parametrize("call", CALLS)
@given(after=st.integers(0, 12), script=st.lists(st.integers(0, 5), max_size=40))
def test_wherever_it_fails_every_byte_is_served_once(
    call: str, after: int, script: list[int]
) -> None:
    scheduler, _, _ = contained(Last(call, after=after))
    tree = Tree(scheduler, Fifo, Fifo)
    leaves: list[Node] = []
    for n, step in enumerate(script):
        if step < 2:
            leaves.append(tree.leaf(str(n), step * 2 * Q, finish=False))
        elif step == 2 and leaves:
            tree.hierarchy.enqueue(leaves[n % len(leaves)], Q)
        elif step == 3 and leaves:
            tree.hierarchy.set_weight(leaves[n % len(leaves)], 2.0)
        elif step == 4 and leaves:
            tree.hierarchy.remove(leaves.pop(n % len(leaves)))
        else:
            tree.serve(2)
    left = tree.hierarchy.root.backlog
    before = sum(leaf.sent for leaf in leaves)
    tree.serve()
    assert tree.hierarchy.root.backlog == 0
    assert sum(leaf.sent for leaf in leaves) == before + left
    tree.hierarchy.set_scheduler(tree.hierarchy.root, WF2QPlus())


class Stranger(Fifo):
    """Selects a node that is not its child."""

    def select(self) -> Node:
        return self.tree.root


def test_a_child_that_is_not_ready_is_no_answer() -> None:
    scheduler, told, _ = contained(Stranger())
    tree = Tree(scheduler, Fifo, Fifo)
    tree.leaf("a", Q)
    assert tree.serve() == "a"
    assert "is not ready" in told[0]


def test_one_that_dawdles_is_switched_off_and_its_answer_dropped() -> None:
    class Slow(Last):
        def select(self) -> Node:
            clock.now += 1
            return super().select()

    scheduler, told, clock = contained(Slow())
    tree = Tree(scheduler, Fifo, Fifo)
    tree.leaf("a", 2 * Q)
    tree.leaf("b", Q)
    assert tree.serve() == "a,b,a"
    assert "it took 1.00 s" in told[0]


class Holding(TextFirst):
    """Text first, until it is told of a rate."""

    def bandwidth_changed(self, rate: float) -> None:
        raise OSError("rate")


def test_a_dynamic_one_holds_others_back_until_it_fails() -> None:
    scheduler, told, _ = contained(Holding())
    tree = Tree(scheduler, Fifo, Fifo)
    tree.leaf("a/1/t", 4 * Q, kind="text")
    image = tree.leaf("b/1/i", 2 * Q)
    assert tree.serve(1) == "t"
    assert image.state is NodeState.DISABLED
    tree.hierarchy.bandwidth_changed(5.0)
    assert tree.serve() == "t,i,t,i,t"
    assert told == ["OSError: rate"]


def test_what_it_held_is_let_go_when_another_takes_its_place() -> None:
    scheduler, _, _ = contained(TextFirst())
    tree = Tree(scheduler, Fifo, Fifo)
    tree.leaf("a/1/t", 2 * Q, kind="text")
    image = tree.leaf("a/1/i", Q)
    assert tree.serve(1) == "t"
    tree.hierarchy.set_scheduler(tree.hierarchy.root, Fifo())
    assert image.state is NodeState.READY


class Restless(DynamicScheduler):
    """Asks to settle for ever."""

    def __init__(self) -> None:
        super().__init__(Fifo())

    def leaf_changed(self, leaf: Node) -> None:
        self.tree.unsettled(self)

    def settle(self) -> None:
        self.tree.unsettled(self)


def test_one_that_never_stops_settling_is_switched_off() -> None:
    scheduler, told, _ = contained(Restless())
    tree = Tree(scheduler, Fifo, Fifo)
    tree.leaf("a", Q)
    assert tree.serve() == "a"
    assert told == ["Nonsense: it never stops settling"]


def test_a_catalogue_makes_both_and_says_what_is_wrong() -> None:
    told: list[str] = []
    switch = PluginSwitch("last", tell=lambda _, why: told.append(why), clock=lambda: 0.0)
    catalogue = Catalogue(
        {"last": PluggedScheduler(Last, switch), "no": PluggedScheduler(int, switch)}
    )
    assert catalogue.create("fifo").name == "fifo"
    made = catalogue.create("plugin:last", {"fails": "select"})
    assert made.name == "plugin:last"
    assert Hierarchy(root=made).root.scheduler is made
    for name, params, message in (
        ("plugin:first", {}, "no scheduler 'plugin:first' here; there are .*plugin:last"),
        ("plugin:last", {"x": 1}, "TypeError"),
        ("plugin:no", {}, "0 is no scheduler"),
    ):
        with pytest.raises(Exception, match=message):
            catalogue.create(name, params)
    assert told == []
    switch.switch_off(OSError("x"))
    assert catalogue.create("plugin:last").name == "wf2q_plus"
