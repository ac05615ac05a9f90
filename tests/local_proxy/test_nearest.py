"""The nearest of several remotes carries the link: when it is looked for, and when taken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from emulation.memory.virtual_time import run
from local_proxy.dialling.dialer import Trial
from local_proxy.dialling.nearest import AGAIN, EVERY, REST, NearestRemote
from transport.link.activity import Activity
from transport.link.interface import Link, LinkError


class ScriptedLink:
    def __init__(self, host: str) -> None:
        self.host = host
        self.closed = False

    def close(self) -> None:
        self.closed = True


class World:
    """Remotes at some distance, and a session with one of them."""

    def __init__(self, present: float, **others: float | None) -> None:
        """Seconds of their round trips; None: there is no answer."""
        self.present: float | None = present
        self.others: Mapping[str, float | None] = others
        self.activity = Activity()
        self.at_rest = True
        self.on_trial: Callable[[], None] = lambda: None
        self.looks = 0
        self.links: list[ScriptedLink] = []
        self.taken: list[str] = []
        self.moved_to: list[str] = []

    @property
    def elsewhere(self) -> list[tuple[str, int]]:
        return [(host, 1) for host in self.others]

    async def round_trip(self) -> float | None:
        return self.present

    async def trial(self, address: tuple[str, int]) -> Trial:
        self.looks += 1
        self.on_trial()
        trip = self.others[address[0]]
        if trip is None:
            raise LinkError("nobody answers")
        await asyncio.sleep(trip)
        link = ScriptedLink(address[0])
        self.links.append(link)
        nothing: Any = None
        return Trial(cast(Link, link), f"{address[0]}:1", trip, nothing, nothing)

    def take(self, trial: Trial) -> None:
        self.taken.append(trial.address)

    def move(self, link: Link) -> None:
        self.moved_to.append(cast(ScriptedLink, link).host)


def virtual(world: World, work: Callable[[NearestRemote], Awaitable[None]]) -> None:
    async def go() -> None:
        nearest = NearestRemote(world, world)
        task = asyncio.ensure_future(nearest.run())
        await work(nearest)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(go())


def moved(world: World) -> list[str]:
    """Where a world goes after its first page."""

    async def go(_: NearestRemote) -> None:
        world.activity.happened()
        await asyncio.sleep(REST + 5)

    virtual(world, go)
    left = [link.host for link in world.links if not link.closed]
    assert left == world.moved_to == [address.partition(":")[0] for address in world.taken]
    return world.moved_to


def test_the_nearest_is_taken_and_all_others_are_closed() -> None:
    assert moved(World(0.3, a=0.1, b=0.05, c=0.12)) == ["b"]
    assert moved(World(0.3, b=0.05, a=0.1)) == ["b"]


def test_who_is_hardly_nearer_or_farther_is_not() -> None:
    assert moved(World(0.1, a=0.08, b=0.3)) == []
    assert moved(World(0.02, a=0.004)) == []  # a moment is not worth a connection
    assert moved(World(0.0, a=0.0)) == []


def test_one_that_does_not_answer_is_passed_over() -> None:
    assert moved(World(0.3, a=None, b=0.1)) == ["b"]
    assert moved(World(0.3, a=None)) == []


def test_a_remote_that_does_not_answer_itself_is_not_compared() -> None:
    world = World(0.3, a=0.1)
    world.present = None
    assert moved(world) == []
    assert world.looks == 0


def test_nothing_moves_while_something_is_under_way() -> None:
    world = World(0.3, a=0.1)
    world.at_rest = False
    assert moved(world) == []
    assert world.looks == 0


def test_whoever_needs_the_link_meanwhile_keeps_it_and_the_look_is_made_again() -> None:
    world = World(0.3, a=0.1)

    async def go(_: NearestRemote) -> None:
        world.on_trial = lambda: setattr(world, "at_rest", False)
        world.activity.happened()
        await asyncio.sleep(REST + 5)
        assert world.moved_to == []
        assert [link.closed for link in world.links] == [True]
        world.at_rest = True
        for _ in range(round(AGAIN / 2)):  # a page that asks for something all the time
            world.activity.happened()
            await asyncio.sleep(1.0)
        assert world.looks == 1
        world.on_trial = lambda: None
        await asyncio.sleep(AGAIN / 2)
        world.activity.happened()
        await asyncio.sleep(REST + 5)
        assert world.moved_to == ["a"]

    virtual(world, go)


def test_a_link_that_rests_is_left_alone_and_one_in_use_is_looked_at_every_half_hour() -> None:
    world = World(0.1, a=0.1)

    async def go(nearest: NearestRemote) -> None:
        await asyncio.sleep(3 * EVERY)
        assert world.looks == 1  # a link is news to who begins to watch it
        for _ in range(100):
            world.activity.happened()
            await asyncio.sleep(EVERY / 50)
        assert world.looks == 3
        nearest.network_changed()
        world.activity.happened()
        await asyncio.sleep(REST + 5)
        assert world.looks == 4

    virtual(world, go)
