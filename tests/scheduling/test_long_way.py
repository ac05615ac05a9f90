"""A longer path gets what stands behind the bytes that the others bring sooner."""

from __future__ import annotations

import pytest

from hats.disciplines.registry import create
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node
from scheduling.long_way import LongWay


class WaitingPage:
    """A document whose components wait, by their names."""

    def __init__(self) -> None:
        self.tree = Hierarchy(root=create("text_first"))
        scheduler = create("low_fidelity_first")
        self.document = self.tree.attach(self.tree.root, "page", scheduler=scheduler)

    def add(self, name: str, kind: str, size: int, *marks: int) -> Node:
        leaf = self.tree.attach(self.document, name, kind=kind, order=len(self.document.children))
        self.tree.set_marks(leaf, marks)
        self.tree.enqueue(leaf, size)
        return leaf

    def chosen(self, behind: int, *, ends: bool = False) -> tuple[str, int, int] | None:
        """Whose bytes, how many of its next ones are left to others, how many may go."""
        choice = LongWay(self.tree).choose(behind, 0.0, ends=ends)
        return None if choice is None else (choice.leaf.name, choice.skip, choice.length)


def news() -> WaitingPage:
    page = WaitingPage()
    page.add("text", "text", 10_000)
    page.add("one", "image", 30_000, 2_000, 9_000, 30_000)
    page.add("two", "image", 30_000, 2_000, 9_000, 30_000)
    return page


def test_nothing_goes_of_what_the_others_bring_sooner() -> None:
    page = news()
    assert page.chosen(0) == ("text", 0, 10_000)
    assert page.chosen(4_000) == ("text", 4_000, 6_000)
    assert page.chosen(10_000) == ("one", 0, 2_000)
    assert page.chosen(12_000) == ("two", 0, 2_000)
    assert page.chosen(13_500) == ("two", 1_500, 500)


def test_a_level_does_not_go_before_the_one_that_it_refines() -> None:
    """The others bring the coarse level of either picture, so nothing of these can go."""
    assert news().chosen(14_000) is None
    page = news()
    page.add("film", "media", 100_000)
    assert page.chosen(14_000) == ("film", 0, 100_000)


def test_the_end_of_a_component_that_is_all_here_goes_where_nothing_else_can() -> None:
    """The finest level of either picture: whatever is before that the others are to bring."""
    page = news()
    for name in ("one", "two"):
        page.tree.finish(page.document.children[name])
    assert page.chosen(13_500, ends=True) == ("two", 1_500, 500), "what is next goes first"
    assert page.chosen(14_000, ends=True) == ("one", 9_000, 21_000)
    assert page.chosen(28_000, ends=True) == ("one", 9_000, 21_000)
    assert page.chosen(28_000 + 1_000, ends=True) == ("one", 10_000, 20_000)
    assert page.chosen(28_000 + 21_000, ends=True) == ("two", 9_000, 21_000)
    assert page.chosen(28_000 + 42_000, ends=True) is None
    assert page.chosen(14_000) is None, "over a path that carries no more than others"


def test_what_has_gone_ahead_leaves_the_end_of_what_is_left() -> None:
    page = news()
    leaf = page.document.children["one"]
    page.tree.finish(leaf)
    page.tree.sent_ahead(leaf, 20_500, now=0.0)
    assert page.chosen(28_000, ends=True) == ("one", 9_000, 500)
    page.tree.sent_ahead(leaf, 500, now=0.0)
    assert page.chosen(14_000, ends=True) == ("one", 2_000, 7_000), (
        "and the level before that is the last"
    )
    assert page.tree.statistics().backlog == 10_000 + 30_000 + 9_000


def test_the_end_of_what_is_to_stop_before_it_does_not_go() -> None:
    page = news()
    leaf = page.document.children["one"]
    page.tree.finish(leaf)
    page.tree.set_limit(leaf, 9_000)
    assert page.chosen(14_000, ends=True) is None
    page.tree.set_limit(leaf, None)
    page.tree.disable(leaf, by=page.tree.root)
    assert page.chosen(14_000, ends=True) is None


def test_what_has_gone_ahead_is_bounded() -> None:
    """The receiver holds it until all before it is there."""
    page = WaitingPage()
    for name in ("one", "two"):
        page.tree.finish(page.add(name, "image", 3_000_000, 100_000, 900_000, 3_000_000))
    leaf = page.document.children["one"]
    page.tree.sent_ahead(leaf, 2_000_000, now=0.0)
    assert page.chosen(2_000_000, ends=True) == ("two", 1_000_000, 2_000_000)
    page.tree.sent_ahead(page.document.children["two"], 98_000, now=0.0)
    assert page.chosen(2_000_000, ends=True) is None


def test_the_rest_of_a_film_that_has_begun_is_behind_all_pictures() -> None:
    page = news()
    film = page.add("film", "media", 100_000, 5_000)
    assert page.chosen(29_000) == ("film", 1_000, 4_000)
    page.tree.sent(film, 5_000, now=0.0)
    pictures = 2 * 30_000
    assert page.chosen(10_000 + pictures + 500) == ("film", 500, 94_500)


def test_coarse_levels_that_have_gone_make_way_for_finer_ones() -> None:
    page = news()
    leaf = page.document.children["one"]
    page.tree.sent(leaf, 2_000, now=0.0)
    assert page.chosen(12_000) == ("one", 0, 7_000)
    assert page.chosen(13_000) == ("one", 1_000, 6_000)


def test_what_is_held_back_by_command_or_has_stopped_does_not_go() -> None:
    page = news()
    page.tree.disable(page.document.children["text"], by=page.tree.root)
    page.tree.set_limit(page.document.children["one"], 0)
    assert page.chosen(0) == ("two", 0, 2_000)


def test_what_was_promised_a_time_counts_as_the_first() -> None:
    page = news()
    page.tree.set_deadline(page.document.children["two"], 3.0)
    assert page.chosen(0) == ("two", 0, 2_000)
    assert page.chosen(30_000) == ("text", 0, 10_000)


def test_an_end_without_bytes_may_go() -> None:
    page = WaitingPage()
    leaf = page.tree.attach(page.document, "empty", kind="image")
    page.tree.finish(leaf)
    assert page.chosen(0) == ("empty", 0, 0)
    assert page.chosen(1) is None


def crowd(pictures: int) -> WaitingPage:
    page = WaitingPage()
    page.add("text", "text", 10_000)
    for number in range(pictures):
        page.add(f"picture {number}", "image", 3_000, 200, 900, 3_000)
    page.add("film", "media", 1_000_000)
    return page


def test_many_parts_cost_each_cell_little() -> None:
    """What a page has is looked at as often as 2,000 cells a second allow; none of the two paths
    gets less than it would with all looked at for each cell."""
    page, now = crowd(1_000), 0.0
    way, cells = LongWay(page.tree), 0
    nodes = page.document.children
    for number in range(1_000):
        now, cells = now + 0.0005, cells + 1
        page.tree.sent(nodes[f"picture {number}"], 200, now=now)  # the quick path
        choice = way.choose(100_000, now)
        assert choice is not None
        page.tree.sent(choice.leaf, min(1_000, choice.length), now=now)
    assert way.looks <= 150 * cells
    before = way.looks
    for _ in range(1_000):
        now += 0.0005
        assert way.choose(10_000_000, now) is None
    assert way.looks - before <= 150 * 1_000
    page.tree.disable(page.document, by=page.tree.root)
    before = way.looks
    for _ in range(1_000):
        now += 0.0005
        assert way.choose(0, now) is None
    assert way.looks - before <= 150 * 1_000


@pytest.mark.parametrize("behind", [0, 5_000, 60_000, 150_000, 260_000])
def test_the_choice_is_the_same_however_many_wait(behind: int) -> None:
    """Only so many parts are looked at one by one; behind these it comes to the same."""
    page = crowd(700)
    name, skip, length = page.chosen(behind) or ("", 0, 0)
    place = behind - 10_000
    if place < 0:
        assert (name, skip, length) == ("text", behind, 10_000 - behind)
    elif place < 700 * 200:
        assert (name, skip, length) == (f"picture {place // 200}", place % 200, 200 - place % 200)
    else:
        assert name == "film"


def test_lengths_are_read_anew_though_the_order_is_kept() -> None:
    page = news()
    way = LongWay(page.tree)
    assert way.choose(10_000, 0.0) is not None
    page.tree.sent(page.document.children["text"], 4_000, now=0.0)
    choice = way.choose(6_000, 0.0001)
    assert choice is not None
    assert (choice.leaf.name, choice.skip, choice.length) == ("one", 0, 2_000)
    page.tree.remove(page.document.children["one"])
    choice = way.choose(6_000, 0.0002)
    assert choice is not None
    assert choice.leaf.name == "two"


def test_what_is_new_is_seen_once_the_order_is_old() -> None:
    page = news()
    way = LongWay(page.tree)
    way.choose(0, 0.0)
    page.add("style", "style", 5_000)
    choice = way.choose(0, 0.01)
    assert choice is not None
    assert choice.leaf.name == "style"
