"""Gives way with applications and documents: they are alone while nothing else may be sent."""

from __future__ import annotations

import pytest

from hats.tree.errors import SchedulerError
from scheduling.giving_way import GivingWay
from scheduling.tree import Tree
from wire.applications import Application


class World:
    """A tree, and components with something to send."""

    def __init__(self) -> None:
        self.tree = Tree(quantum=1000)

    def sends(
        self, component: int, document: int, application: Application = Application.BROWSER
    ) -> None:
        leaf = self.tree.leaf(
            *(document, component), kind="image", order=0, application=application
        )
        self.tree.hierarchy.enqueue(leaf, 1000)

    @property
    def alone(self) -> bool:
        return self.tree.giving_way.alone


def test_nothing_does_unless_it_was_said() -> None:
    world = World()
    world.sends(2, 1)
    assert not GivingWay(world.tree.hierarchy).alone


def test_what_gives_way_is_alone_until_anything_else_has_something_to_send() -> None:
    world = World()
    world.tree.give_way(("background",), on=True)
    assert not world.alone, "nothing is there to be sent"
    world.sends(2, 1, Application.BACKGROUND)
    assert world.alone
    world.sends(4, 3)
    assert not world.alone
    world.tree.hold(4, on=True)
    assert world.alone
    world.tree.hold(4, on=False)
    assert not world.alone
    world.tree.forget(4)
    assert world.alone


def test_a_document_does_also_one_that_comes_later() -> None:
    world = World()
    world.tree.give_way(("browser", "*"), on=True)
    world.sends(2, 1)
    assert world.alone
    world.tree.give_way(("browser", "1"), on=False)
    assert not world.alone
    world.tree.close_document(1)
    world.sends(2, 1)
    assert world.alone, "what was said of it left with it"


def test_all_of_a_device_does_tunnels_too() -> None:
    world = World()
    world.sends(2, 1)
    world.tree.hierarchy.enqueue(world.tree.tunnel(9), 100)
    world.tree.give_way((), on=True)
    assert world.alone
    world.tree.give_way((), on=False)
    assert not world.alone
    world.tree.give_way(("browser",), on=True)
    assert not world.alone
    world.tree.give_way(("tunnels",), on=True)
    assert world.alone


@pytest.mark.parametrize("path", [("browser", "1", "2"), ("tunnels", "9"), ("a", "b", "c", "d")])
def test_no_single_component_does(path: tuple[str, ...]) -> None:
    with pytest.raises(SchedulerError):
        World().tree.give_way(path, on=True)
