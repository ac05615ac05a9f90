"""Who may lift whose hold (HATS, 3.2.2): service orders, in documents whose schedulers disagree."""

from __future__ import annotations

import pytest

from hats.disciplines.fifo import Fifo
from hats.disciplines.text_first import TextFirst
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree import holds
from hats.tree.errors import HierarchyError
from hats.tree.node import Node, NodeState
from hats.tree.scheduler import DynamicScheduler
from tests.hats.trees import Q, Tree


class Wanted(DynamicScheduler):
    """Lets leaves through that some other name gave priority, whatever schedulers below say."""

    name = "wanted"

    def __init__(self) -> None:
        super().__init__(WF2QPlus())

    def leaf_changed(self, leaf: Node) -> None:
        if leaf.priority:
            self.tree.overrule(leaf, self)
        else:
            self.tree.release(leaf, self)


def held_below() -> tuple[Tree, Node]:
    """An application that holds its picture back for its text; nobody above holds anything."""
    tree = Tree(Fifo(), TextFirst, WF2QPlus)
    image = tree.leaf("a/1/i", 3 * Q)
    tree.leaf("a/1/t", 3 * Q, kind="text")
    assert tree.serve(1) == "t"
    assert image.state is NodeState.DISABLED
    return tree, image


def above(leaf: Node) -> tuple[Node, Node]:
    """The document and the application of a leaf."""
    document = leaf.parent
    assert document is not None
    assert document.parent is not None
    return document, document.parent


def test_a_command_from_above_lifts_a_lower_schedulers_hold_for_good() -> None:
    tree, image = held_below()
    tree.hierarchy.enable(image, by=tree.hierarchy.root)
    assert tree.serve() == "i,t,i,t,i"


def test_so_does_one_in_the_name_of_the_schedulers_own_node() -> None:
    tree, image = held_below()
    tree.hierarchy.enable(image, by=above(image)[1])
    assert tree.serve() == "i,t,i,t,i"


def test_one_below_the_scheduler_is_refused_and_changes_nothing() -> None:
    tree, image = held_below()
    with pytest.raises(HierarchyError, match="disabled at 'a', above '1'"):
        tree.hierarchy.enable(image, by=above(image)[0])
    assert tree.serve() == "t,t,i,i,i"


def test_a_command_counts_that_came_before_the_strategy_got_round_to_it() -> None:
    tree = Tree(Fifo(), TextFirst, WF2QPlus)
    tree.leaf("a/1/t", 2 * Q, kind="text")
    image = tree.leaf("a/1/i", 2 * Q)
    tree.hierarchy.enable(image, by=tree.hierarchy.root)
    assert tree.serve() == "t,i,t,i"


def test_it_lasts_while_the_leaf_runs_dry_and_gets_data_again() -> None:
    tree = Tree(Fifo(), TextFirst, WF2QPlus)
    tree.leaf("a/1/t", 4 * Q, kind="text")
    image = tree.leaf("a/1/i", Q, finish=False)
    tree.hierarchy.enable(image, by=tree.hierarchy.root)
    assert tree.serve(3) == "t,i,t"
    tree.hierarchy.enqueue(image, Q)
    assert tree.serve() == "t,i,t"


def test_the_hold_is_back_when_who_enabled_takes_it_back() -> None:
    tree, image = held_below()
    root = tree.hierarchy.root
    tree.hierarchy.enable(image, by=root)
    assert tree.serve(1) == "i"
    tree.hierarchy.withdraw(image, by=root)
    assert image.state is NodeState.DISABLED
    assert tree.serve() == "t,t,i,i"


def test_a_later_command_to_disable_ends_it_and_leaves_the_strategy_its_hold() -> None:
    tree, image = held_below()
    root = tree.hierarchy.root
    tree.hierarchy.enable(image, by=root)
    tree.hierarchy.disable(image, by=root)
    assert tree.serve(1) == "t"
    tree.hierarchy.withdraw(image, by=root)
    assert tree.serve() == "t,i,i,i"


def test_a_lower_command_to_disable_counts_and_the_higher_word_stands() -> None:
    tree, image = held_below()
    root, document = tree.hierarchy.root, above(image)[0]
    tree.hierarchy.enable(image, by=root)
    tree.hierarchy.disable(image, by=document)
    assert image.holds == (document,)
    assert tree.serve(1) == "t"
    tree.hierarchy.withdraw(image, by=document)
    assert tree.serve() == "i,t,i,i"


def test_a_higher_strategy_lets_through_what_a_lower_one_holds() -> None:
    tree = Tree(Wanted(), TextFirst, WF2QPlus)
    image = tree.leaf("a/1/i", 3 * Q)
    tree.leaf("a/1/t", 4 * Q, kind="text")
    assert tree.serve(1) == "t"
    tree.hierarchy.set_priority(image, 1)
    assert tree.serve(2) == "i,t"
    tree.hierarchy.set_priority(image, 0)
    assert tree.serve() == "t,t,i,i"


def test_a_lower_strategy_lifts_nothing_of_a_higher_one() -> None:
    tree = Tree(TextFirst(), Wanted, WF2QPlus)
    image = tree.leaf("a/1/i", 2 * Q)
    tree.leaf("a/1/t", 2 * Q, kind="text")
    tree.hierarchy.set_priority(image, 1)
    assert tree.serve() == "t,t,i,i"


def test_no_strategy_lifts_a_command() -> None:
    tree = Tree(Wanted(), TextFirst, WF2QPlus)
    image = tree.leaf("a/1/i", Q)
    tree.hierarchy.disable(image, by=above(image)[0])
    tree.hierarchy.set_priority(image, 1)
    assert tree.serve() == ""
    assert image.state is NodeState.DISABLED


def test_what_a_scheduler_overruled_ends_with_its_office() -> None:
    tree = Tree(Wanted(), TextFirst, WF2QPlus)
    image = tree.leaf("a/1/i", 2 * Q)
    tree.leaf("a/1/t", 3 * Q, kind="text")
    tree.hierarchy.set_priority(image, 1)
    assert tree.serve(2) == "i,t"
    tree.hierarchy.set_scheduler(tree.hierarchy.root, Fifo())
    assert image.state is NodeState.DISABLED
    assert tree.serve() == "t,t,i"


def test_only_a_scheduler_above_a_node_speaks_of_it() -> None:
    tree = Tree(Wanted(), Wanted, WF2QPlus)
    image, other = tree.leaf("a/1/i", Q), tree.leaf("b/1/j", Q)
    scheduler = above(other)[1].scheduler
    assert scheduler is not None
    with pytest.raises(HierarchyError, match="no ancestor"):
        tree.hierarchy.overrule(image, scheduler)


def test_heights_are_those_of_nodes_and_of_schedulers_nodes() -> None:
    _, image = held_below()
    application = above(image)[1]
    assert application.scheduler is not None
    assert holds.height(application) == holds.height(application.scheduler) == 1
