"""Times are kept by names, also of what is not in the tree yet, and go with it."""

from __future__ import annotations

from hats.disciplines.edf import EarliestDeadlineFirst
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node
from scheduling.promised import PromisedLeaves


class World:
    """Two pages with a picture each."""

    def __init__(self) -> None:
        self.tree = Hierarchy(root=EarliestDeadlineFirst())
        self.promised = PromisedLeaves(self.tree)
        self.pages = [
            self.tree.attach(self.tree.root, name, scheduler=EarliestDeadlineFirst(), keep=True)
            for name in "13"
        ]

    def picture(self, page: int, name: str) -> Node:
        leaf = self.tree.attach(self.pages[page], name, kind="image")
        self.tree.enqueue(leaf, 100)
        return leaf


def test_a_component_that_enters_has_the_time_that_it_was_promised() -> None:
    world = World()
    world.promised.set_deadline(4, None, 7.0, priority=0)
    assert 4 in world.promised
    assert list(world.promised.known) == [4]
    leaf = world.picture(1, "4")
    world.promised.entered(4, leaf)
    assert world.promised.appointments.first() is leaf
    assert leaf.deadline == world.pages[1].deadline == 7.0
    world.promised.set_deadline(4, leaf, None, priority=0)
    assert 4 not in world.promised
    assert world.promised.appointments.first() is None
    assert leaf.deadline is world.pages[1].deadline is None


def test_a_page_has_the_earliest_of_its_pictures_times() -> None:
    world = World()
    first, second = world.picture(0, "2"), world.picture(0, "4")
    world.promised.set_deadline(2, first, 9.0, priority=0)
    world.promised.set_deadline(4, second, 5.0, priority=0)
    assert world.pages[0].deadline == 5.0
    world.promised.set_deadline(4, second, None, priority=0)
    assert world.pages[0].deadline == 9.0


def test_what_is_gone_is_forgotten() -> None:
    world = World()
    world.promised.set_deadline(2, world.picture(0, "2"), 9.0, priority=0)
    leaf = world.picture(1, "4")
    world.promised.reservations.set(leaf, rate=500.0, delay=1.0, now=0.0)
    world.tree.remove(leaf)
    world.promised.sweep({4})
    assert 2 not in world.promised
    assert not len(world.promised.reservations)
