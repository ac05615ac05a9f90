"""TextFirst and LowFidelityFirst, alone and together, and a dynamic scheduler of a plugin's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hats.errors import SchedulerError
from hats.fifo import Fifo
from hats.hierarchy import Hierarchy
from hats.in_order import InOrder
from hats.invariants import check
from hats.low_fidelity_first import LowFidelityFirst
from hats.multiplexer import Multiplexer
from hats.node import Node, State
from hats.priority import Priority
from hats.round_robin import RoundRobin
from hats.scheduler import DynamicScheduler, Scheduler
from hats.text_first import TextFirst
from hats.tiers import DEFAULT, TierTable
from hats.wf2q_plus import WF2QPlus

Q = 100


class Tree:
    """Applications and documents on demand; leaves by a name such as "a/1/t"."""

    def __init__(self, root: Scheduler, app: type[Scheduler], doc: type[Scheduler]) -> None:
        self.hierarchy = Hierarchy(root=root)
        self.mux = Multiplexer(self.hierarchy, quantum=Q)
        self.app, self.doc = app, doc

    def leaf(
        self,
        path: str,
        nbytes: int = 0,
        *,
        kind: str = "image",
        marks: tuple[int, ...] = (),
        finish: bool = True,
        order: int = 0,
        size: int | None = None,
    ) -> Node:
        parent = self.hierarchy.root
        *above, name = path.split("/")
        for step, scheduler in zip(above, (self.app, self.doc), strict=False):
            child = parent.children.get(step)
            parent = child or self.hierarchy.attach(parent, step, scheduler=scheduler(), keep=True)
        leaf = self.hierarchy.attach(parent, name, kind=kind, order=order, size=size)
        self.hierarchy.set_marks(leaf, marks)
        self.hierarchy.enqueue(leaf, nbytes)
        if finish:
            self.hierarchy.finish(leaf)
        return leaf

    def serve(self, picks: int = 1000) -> str:
        served = []
        for _ in range(picks):
            grant = self.mux.next_quantum(0.0)
            if grant is None:
                break
            served.append(grant.leaf.name)
            check(self.hierarchy)
        return ",".join(served)


# -- TextFirst -------------------------------------------------------------------------------


def test_text_first_follows_the_papers_five_steps() -> None:
    tree = Tree(TextFirst(Fifo()), Fifo, Fifo)
    image = tree.leaf("a/1/i", 3 * Q)
    other = tree.leaf("b/2/j", 2 * Q)
    assert tree.serve(1) == "i"  # (1) no text anywhere: images go
    text = tree.leaf("b/2/t", 2 * Q, kind="text")
    assert tree.mux.has_data
    assert (image.state, other.state) == (State.DISABLED, State.DISABLED)  # (2)
    assert text.state is State.READY
    assert tree.serve(1) == "t"
    assert image.state is State.DISABLED  # (3) not complete yet
    assert tree.serve(1) == "t"
    assert tree.mux.has_data
    assert (image.state, other.state) == (State.READY, State.READY)  # (4)
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
    assert image.state is State.DISABLED
    tree.hierarchy.enable(image, by=root)
    assert tree.serve() == "i"


def test_enabling_while_text_goes_does_not_let_an_image_through() -> None:
    tree = Tree(TextFirst(), WF2QPlus, RoundRobin)
    image = tree.leaf("a/1/i", Q)
    tree.hierarchy.disable(image, by=tree.hierarchy.root)
    tree.leaf("a/1/t", 2 * Q, kind="text")
    assert tree.serve(1) == "t"
    tree.hierarchy.enable(image, by=tree.hierarchy.root)
    assert image.state is State.DISABLED
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
    assert image.state is State.READY
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
    assert image.state is State.DISABLED
    tree.hierarchy.unqueue(image, Q)
    assert image.state is State.WAITING
    tree.hierarchy.enqueue(image, Q)
    assert image.state is State.DISABLED
    tree.hierarchy.remove(text)
    assert tree.serve() == "i"


# -- LowFidelityFirst ------------------------------------------------------------------------


def picture(tree: Tree, path: str, *, order: int = 0) -> Node:
    """Four levels of one quantum each, and 4 KB in all."""
    return tree.leaf(path, 4 * Q, marks=(Q, 2 * Q, 3 * Q), order=order)


def test_all_coarse_before_any_is_fine_in_order() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    for order, name in ((2, "B"), (1, "A"), (3, "C")):
        picture(tree, name, order=order)
    assert tree.serve() == "A,B,C,A,B,C,A,B,C,A,B,C"


def test_round_robin_within_a_level() -> None:
    tree = Tree(LowFidelityFirst(order="round_robin"), InOrder, InOrder)
    tree.leaf("A", 4 * Q, marks=(2 * Q,))
    tree.leaf("B", 3 * Q, marks=(Q,))
    tree.leaf("C", 4 * Q, marks=(2 * Q,))
    assert tree.serve() == "A,B,C,A,C,B,A,C,B,A,C"


def test_an_image_found_late_catches_up() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    picture(tree, "A")
    assert tree.serve(2) == "A,A"
    picture(tree, "B")
    assert tree.serve() == "B,B,A,B,A,B"


def test_the_tiers_of_a_page() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    for name, kind, size in (
        ("photo", "image", 5000),
        ("film", "media", 5000),
        ("font", "font", 5000),
        ("icon", "image", Q),
        ("feed", "other", Q),
        ("odd", "unheard-of", Q),
        ("js", "script", Q),
        ("css", "style", Q),
        ("html", "text", Q),
    ):
        tree.leaf(name, Q, kind=kind, size=size)
    picture(tree, "scans")
    assert tree.serve() == ("css,html,js,icon,scans,font,feed,odd,scans,photo,film,scans,scans")


def test_an_image_of_unknown_size_is_small_until_it_is_not() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    unknown = tree.leaf("U", 4000, finish=False)
    tree.leaf("A", 2 * Q, marks=(Q,), order=1)
    assert tree.serve(1) == "U"
    tree.hierarchy.enqueue(unknown, 4000)
    assert tree.serve(3) == "A,A,U"
    tree.hierarchy.set_size(unknown, 100_000)
    assert tree.serve(2) == "U,U"


def test_levels_beyond_the_table_go_on_one_by_one() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    leaf = tree.leaf("A", 6 * Q, marks=(Q, 2 * Q, 3 * Q, 4 * Q, 5 * Q))
    tiers = []
    while leaf.attached:
        tiers.append(DEFAULT.tier(leaf))
        tree.serve(1)
    assert tiers == [3, 5, 7, 8, 9, 10]
    assert TierTable(levels=(3,)).tier(leaf) == 3 + 5


def test_marks_of_text_do_not_count() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    text = tree.leaf("T", 4 * Q, kind="text", marks=(Q,))
    picture(tree, "A")
    assert DEFAULT.tier(text) == 1
    assert tree.serve(4) == "T,T,T,T"


def test_what_is_on_the_screen_goes_first_within_its_tier_only() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    for name in "AB":
        picture(tree, name)
    tree.hierarchy.set_priority(picture(tree, "C"), 1)
    assert tree.serve(3) == "C,A,B"
    assert tree.serve(1) == "C"


@pytest.mark.parametrize("order", ["in_order", "round_robin"])
def test_a_pointer_on_a_picture_raises_it(order: str) -> None:
    scheduler = LowFidelityFirst(order="round_robin" if order == "round_robin" else "in_order")
    tree = Tree(scheduler, InOrder, InOrder)
    picture(tree, "A")
    picture(tree, "B")
    c = picture(tree, "C")
    assert tree.serve(1) == "A"
    tree.hierarchy.set_priority(c, 2)
    assert tree.serve(2) == "C,C"
    tree.hierarchy.set_priority(c, 0)
    assert tree.serve(2) == "B,A"


def test_no_document_goes_on_before_all_have_reached_the_level() -> None:
    """The paper's figure 6: at the root, with another scheduler in each document."""
    tree = Tree(LowFidelityFirst(), WF2QPlus, InOrder)
    for document in ("a/1", "a/2", "b/1"):
        for order in (1, 2):
            picture(tree, f"{document}/{document}.{order}", order=order)
    levels: list[int] = []
    while (grant := tree.mux.next_quantum(0.0)) is not None:
        check(tree.hierarchy)
        levels.append(grant.leaf.sent // Q)
    assert levels == sorted(levels)
    assert levels == [1] * 6 + [2] * 6 + [3] * 6 + [4] * 6


def test_documents_share_a_level_by_weight() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    tree.leaf("a/1", 8 * Q, marks=(6 * Q,))
    tree.leaf("b/1", 8 * Q, marks=(2 * Q,))
    app = tree.hierarchy.find(["a"])
    assert app is not None
    tree.hierarchy.set_weight(app, 3.0)
    grants = []
    while (grant := tree.mux.next_quantum(0.0)) is not None:
        assert grant.leaf.parent is not None
        grants.append(grant.leaf.parent.name)
    assert "".join(grants[:8]).count("a") == 6
    assert "".join(grants[:8]) != "aaaaaabb"
    assert len(grants) == 16


def test_own_leaves_go_before_documents_below_at_the_same_tier() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    frame = tree.leaf("frame/below", 2 * Q, marks=(Q,))
    picture(tree, "own")
    assert tree.serve(3) == "own,below,own"
    tree.hierarchy.set_priority(frame, 1)  # urgency counts across the levels of the tree
    assert tree.serve() == "below,own,own"


def test_low_fidelity_first_swapped_in_and_out_at_the_root() -> None:
    tree = Tree(Fifo(), InOrder, InOrder)
    picture(tree, "a/x/A")
    picture(tree, "b/x/B")
    assert tree.serve(2) == "A,A"
    tree.hierarchy.set_scheduler(tree.hierarchy.root, LowFidelityFirst())
    assert tree.serve(3) == "B,B,A"
    tree.hierarchy.set_scheduler(tree.hierarchy.root, Fifo())
    check(tree.hierarchy)
    assert sorted(tree.serve().split(",")) == ["A", "B", "B"]


def test_an_order_that_does_not_exist() -> None:
    with pytest.raises(SchedulerError, match="in_order or round_robin"):
        LowFidelityFirst(order="sideways")  # type: ignore[arg-type]


def test_an_inner_scheduler_must_be_static() -> None:
    with pytest.raises(SchedulerError, match="'low_fidelity_first' is not a static scheduler"):
        TextFirst(LowFidelityFirst())


# -- together --------------------------------------------------------------------------------


def default_tree() -> Tree:
    return Tree(TextFirst(), WF2QPlus, LowFidelityFirst)


def test_the_default_composition() -> None:
    """Text of all documents; then each document its pictures by level, sharing by weight."""
    tree = default_tree()
    for app in "ab":
        picture(tree, f"{app}/1/{app}1", order=1)
        picture(tree, f"{app}/1/{app}2", order=2)
        tree.leaf(f"{app}/1/{app}t", 2 * Q, kind="text")
    assert tree.serve() == ("at,bt,at,bt,a1,b1,a2,b2,a1,b1,a2,b2,a1,b1,a2,b2,a1,b1,a2,b2")


def test_focus_shifts_bandwidth_to_the_document_in_front() -> None:
    tree = default_tree()
    for app in "ab":
        tree.leaf(f"{app}/1/i", 100 * Q)
    a, b = (tree.hierarchy.find([app]) for app in "ab")
    assert a is not None
    assert b is not None
    tree.hierarchy.set_weight(a, 0.8)
    tree.hierarchy.set_weight(b, 0.2)
    for _ in range(50):
        tree.mux.next_quantum(0.0)
    assert abs(a.sent - 40 * Q) <= Q
    tree.hierarchy.set_weight(a, 0.2)
    tree.hierarchy.set_weight(b, 0.8)
    before = b.sent
    for _ in range(50):
        tree.mux.next_quantum(0.0)
    assert abs(b.sent - before - 40 * Q) <= Q


def test_strategies_of_two_levels_may_disagree() -> None:
    """Pictures first at the root, text first at the application: the link never idles."""
    pictures_first = TextFirst(text=("image",), held_back=("text",))
    tree = Tree(pictures_first, TextFirst, Fifo)
    text = tree.leaf("a/1/t", 2 * Q, kind="text", finish=False)
    tree.leaf("a/1/i", 3 * Q)
    other = tree.leaf("b/1/j", Q, finish=False)
    served = tree.serve(3)
    tree.hierarchy.enqueue(text, 2 * Q)
    tree.hierarchy.enqueue(other, Q)
    served += "," + tree.serve()
    assert sorted(served.split(",")) == ["i", "i", "i", "j", "j", "t", "t", "t", "t"]


class HalveOnDrop(DynamicScheduler):
    """The paper's example of a dynamic scheduler: other weights after a drop in bandwidth."""

    name = "halve_on_drop"

    def __init__(self) -> None:
        super().__init__(WF2QPlus())
        self.heard: list[str] = []

    def leaf_changed(self, leaf: Node) -> None:
        self.heard.append(f"{leaf.name}:{leaf.level_reached}")

    def leaf_left(self, leaf: Node) -> None:
        self.heard.append(f"{leaf.name} left")

    def bandwidth_changed(self, rate: float) -> None:
        background = self.tree.find(["b"])
        if background is not None:
            self.tree.set_weight(background, 0.1 if rate < 10_000 else 1.0)


def test_a_plugins_own_dynamic_scheduler() -> None:
    scheduler = HalveOnDrop()
    tree = Tree(scheduler, Fifo, Fifo)
    tree.leaf("b/x", 99 * Q)
    a = tree.leaf("a/y", 2 * Q, marks=(Q,), finish=False)
    scheduler.heard.clear()
    tree.hierarchy.bandwidth_changed(7_000.0)
    assert tree.hierarchy.statistics().children[0].weight == 0.1
    while a.backlog:
        tree.mux.next_quantum(0.0)
    tree.hierarchy.remove(a)
    assert scheduler.heard == ["y:1", "y:1", "y left"]
    tree.hierarchy.set_scheduler(tree.hierarchy.root, Priority())
    tree.hierarchy.bandwidth_changed(70_000.0)
    assert tree.hierarchy.statistics().children[0].weight == 0.1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("a/1", "a/2", "b/1")),
            st.sampled_from(("text", "image", "font", "other")),
            st.integers(0, 9 * Q),
            st.lists(st.integers(1, 9 * Q), max_size=3, unique=True).map(sorted),
            st.integers(0, 6),
        ),
        max_size=14,
    )
)
def test_no_picture_moves_while_text_has_data(
    script: list[tuple[str, str, int, list[int], int]],
) -> None:
    tree = default_tree()
    text: list[Node] = []
    for i, (document, kind, nbytes, marks, picks) in enumerate(script):
        leaf = tree.leaf(f"{document}/{i}", nbytes, kind=kind, marks=tuple(marks))
        if kind == "text":
            text.append(leaf)
        for _ in range(picks):
            text_has_data = any(leaf.attached for leaf in text)
            grant = tree.mux.next_quantum(0.0)
            assert grant is None or (grant.leaf.kind == "text") == text_has_data
        check(tree.hierarchy)
    tree.serve()
    assert tree.hierarchy.root.backlog == 0
