"""LowFidelityFirst: all pictures coarse before any is fine, in a document and across documents."""

from __future__ import annotations

import pytest

from hats.disciplines.fifo import Fifo
from hats.disciplines.in_order import InOrder
from hats.disciplines.low_fidelity_first import LowFidelityFirst
from hats.disciplines.text_first import TextFirst
from hats.disciplines.tiers import DEFAULT, SMALL, TierTable
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree.errors import SchedulerError
from hats.tree.invariants import check
from tests.hats.trees import Q, Tree, picture


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


def test_the_rest_of_a_film_that_has_begun_is_behind_all_refinements() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    tree.leaf("film", 6 * Q, kind="media", size=SMALL, marks=(2 * Q,), order=-1)
    picture(tree, "A")
    picture(tree, "B")
    assert tree.serve() == "A,B,A,B,film,film,A,B,A,B,film,film,film,film"


def test_a_script_that_holds_nothing_up_is_behind_coarse_pictures_if_it_is_large() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    for name, size in (("large", SMALL), ("small", Q)):
        tree.leaf(name, Q, kind="deferred_script", size=size)
    tree.leaf("whole", SMALL, marks=(SMALL,), order=-1)
    tree.leaf("js", Q, kind="script", size=SMALL, order=1)
    picture(tree, "scans")
    whole = ",".join(["whole"] * -(-SMALL // Q))
    assert tree.serve() == f"small,js,scans,large,{whole},scans,scans,scans"


def test_a_whole_picture_is_behind_all_coarse_ones_and_before_any_is_finer() -> None:
    tree = Tree(LowFidelityFirst(), InOrder, InOrder)
    tree.leaf("whole", SMALL, marks=(SMALL,))
    for name in ("A", "B"):
        picture(tree, name)
    served = tree.serve().split(",")
    quanta = -(-SMALL // Q)
    assert served[: 3 + quanta] == ["A", "B", *["whole"] * quanta, "A"]


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
    assert tiers == [3, 6, 8, 9, 10, 11]
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
