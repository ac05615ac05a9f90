"""TextFirst: the five steps of the paper, what is text, who waits, and what a command overrules."""

from __future__ import annotations

from hats.disciplines.fifo import Fifo
from hats.disciplines.round_robin import RoundRobin
from hats.disciplines.text_first import TextFirst
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree.node import NodeState
from tests.hats.trees import Q, Tree


def test_text_first_follows_the_papers_five_steps() -> None:
    tree = Tree(TextFirst(Fifo()), Fifo, Fifo)
    image = tree.leaf("a/1/i", 3 * Q)
    other = tree.leaf("b/2/j", 2 * Q)
    assert tree.serve(1) == "i"  # (1) no text anywhere: images go
    text = tree.leaf("b/2/t", 2 * Q, kind="text")
    assert tree.mux.has_data
    assert (image.state, other.state) == (NodeState.DISABLED, NodeState.DISABLED)  # (2)
    assert text.state is NodeState.READY
    assert tree.serve(1) == "t"
    assert image.state is NodeState.DISABLED  # (3) not complete yet
    assert tree.serve(1) == "t"
    assert tree.mux.has_data
    assert (image.state, other.state) == (NodeState.READY, NodeState.READY)  # (4)
    assert tree.serve(1) == "i"
    tree.leaf("a/1/u", Q, kind="style")
    assert tree.serve() == "u,i,j,j"  # (5)


def test_text_first_across_applications_and_the_inner_scheduler_below() -> None:
    tree = Tree(TextFirst(), WF2QPlus, RoundRobin)
    for app in "ab":
        tree.leaf(f"{app}/1/{app}-image", 2 * Q)
        tree.leaf(f"{app}/1/{app}-text", 2 * Q, kind="text")
    assert tree.serve() == "a-text,b-text,a-text,b-text,a-image,b-image,a-image,b-image"


def test_text_that_waits_for_its_origin_does_not_idle_the_link() -> None:
    tree = Tree(TextFirst(), WF2QPlus, RoundRobin)
    text = tree.leaf("a/1/t", Q, kind="text", finish=False)
    image = tree.leaf("b/1/i", 9 * Q)
    assert tree.serve(3) == "t,i,i"
    tree.hierarchy.enqueue(text, 2 * Q)
    assert tree.serve(2) == "t,t"
    assert tree.serve(1) == "i"  # attached, unfinished, without data: order yields to work
    tree.hierarchy.finish(text)
    assert tree.serve(1) == "t"  # its end, 0 bytes, is text as well
    assert tree.serve() == "i,i,i,i,i,i"
    assert not image.attached


def test_text_disabled_by_a_command_keeps_nobody_back() -> None:
    tree = Tree(TextFirst(), WF2QPlus, RoundRobin)
    text = tree.leaf("a/1/t", 2 * Q, kind="text")
    tree.leaf("b/1/i", 2 * Q)
    document = tree.hierarchy.find(["a", "1"])
    assert document is not None
    tree.hierarchy.disable(document, by=tree.hierarchy.root)
    assert tree.serve(1) == "i"
    tree.hierarchy.enable(document, by=tree.hierarchy.root)
    tree.hierarchy.disable(text, by=document)
    assert tree.serve(0) == ""
    tree.hierarchy.enable(text, by=document)
    assert tree.serve() == "t,t,i"


def test_the_end_of_text_does_not_enable_what_a_command_disabled() -> None:
    tree = Tree(TextFirst(), WF2QPlus, RoundRobin)
    root = tree.hierarchy.root
    tree.leaf("a/1/t", Q, kind="text")
    image = tree.leaf("a/1/i", Q)
    assert tree.mux.has_data
    tree.hierarchy.disable(image, by=root)  # on top of the scheduler's own hold
    assert tree.serve() == "t"
    assert image.state is NodeState.DISABLED
    tree.hierarchy.withdraw(image, by=root)
    assert tree.serve() == "i"


def test_withdrawing_a_command_while_text_goes_does_not_let_an_image_through() -> None:
    tree = Tree(TextFirst(), WF2QPlus, RoundRobin)
    image = tree.leaf("a/1/i", Q)
    tree.hierarchy.disable(image, by=tree.hierarchy.root)
    tree.leaf("a/1/t", 2 * Q, kind="text")
    assert tree.serve(1) == "t"
    tree.hierarchy.withdraw(image, by=tree.hierarchy.root)
    assert image.state is NodeState.DISABLED
    assert tree.serve() == "t,i"


def test_which_kinds_are_text_and_which_wait_are_parameters() -> None:
    scheduler = TextFirst(Fifo(), text=("mail",), held_back=("image",))
    tree = Tree(scheduler, Fifo, Fifo)
    tree.leaf("i", Q)
    tree.leaf("f", Q, kind="font")
    tree.leaf("m", Q, kind="mail")
    assert tree.serve() == "f,m,i"


def test_a_leaf_that_turns_out_to_be_text() -> None:
    tree = Tree(TextFirst(Fifo(), held_back=("image",)), Fifo, Fifo)
    tree.leaf("i", 2 * Q)
    leaf = tree.leaf("x", Q, kind="unknown")
    assert tree.serve(1) == "i"
    tree.hierarchy.set_kind(leaf, "text")
    assert tree.serve() == "x,i"


def test_text_first_leaves_office_with_everybody_enabled() -> None:
    tree = Tree(TextFirst(), WF2QPlus, RoundRobin)
    image = tree.leaf("a/1/i", 2 * Q)
    tree.leaf("a/1/t", 2 * Q, kind="text")
    assert tree.serve(1) == "t"
    tree.hierarchy.set_scheduler(tree.hierarchy.root, Fifo())
    assert image.state is NodeState.READY
    assert tree.serve() in ("i,t,i", "t,i,i")


def test_text_first_takes_office_with_children_waiting() -> None:
    tree = Tree(Fifo(), Fifo, Fifo)
    tree.leaf("a/1/i", 2 * Q)
    tree.leaf("b/1/t", 2 * Q, kind="text")
    assert tree.serve(1) == "i"
    tree.hierarchy.set_scheduler(tree.hierarchy.root, TextFirst())
    assert tree.serve() == "t,t,i"


def test_taking_data_back_ends_a_hold() -> None:
    tree = Tree(TextFirst(), WF2QPlus, RoundRobin)
    text = tree.leaf("a/1/t", Q, kind="text", finish=False)
    image = tree.leaf("a/1/i", Q, finish=False)
    assert tree.mux.has_data
    assert image.state is NodeState.DISABLED
    tree.hierarchy.unqueue(image, Q)
    assert image.state is NodeState.WAITING
    tree.hierarchy.enqueue(image, Q)
    assert image.state is NodeState.DISABLED
    tree.hierarchy.remove(text)
    assert tree.serve() == "i"
