"""Tests of connections to origins, kept apart by device."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp

from remote_proxy.origin.pools import Pools
from remote_proxy.reach.connections import Connections
from tests.watched import run


class World:
    """The pools, and what they have opened."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, Connections, bool]] = []
        self.pools = Pools(self.open, self.connections)

    def open(self, device: str, connections: Connections, reuse: bool) -> aiohttp.ClientSession:
        self.opened.append((device, connections, reuse))
        return aiohttp.ClientSession()

    def connections(self) -> Connections:
        return Connections(per_server=1, total=1, patience=1.0)


def in_world(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        world = World()
        try:
            await scenario(world)
        finally:
            await world.pools.close()

    run(main())


def test_a_session_is_opened_once_for_each_device_and_sort() -> None:
    async def scenario(world: World) -> None:
        session = world.pools.session
        assert session("a", reuse=True) is session("a", reuse=True)
        assert session("a", reuse=True) is not session("a", reuse=False)
        assert session("b", reuse=True) is not session("a", reuse=True)
        assert [(device, reuse) for device, _, reuse in world.opened] == [
            *(("a", True), ("a", False), ("b", True)),
        ]

    in_world(scenario)


def test_what_a_device_may_have_open_counts_over_both_sorts_and_for_it_alone() -> None:
    async def scenario(world: World) -> None:
        for device, reuse in (("a", True), ("a", False), ("b", True)):
            world.pools.session(device, reuse=reuse)
        first, second, other = (connections for _, connections, _ in world.opened)
        assert first is second
        assert other is not first

    in_world(scenario)


def test_with_its_last_link_a_devices_connections_close_and_nobody_elses() -> None:
    async def scenario(world: World) -> None:
        for _ in range(2):
            world.pools.hold("a")
        world.pools.hold("b")
        sessions = [world.pools.session("a", reuse=reuse) for reuse in (True, False)]
        other = world.pools.session("b", reuse=True)
        await world.pools.release("a")
        assert not any(session.closed for session in sessions)
        await world.pools.release("a")
        assert all(session.closed for session in sessions)
        assert not other.closed
        assert world.pools.session("a", reuse=True) is not sessions[0]
        assert world.opened[-1][1] is not world.opened[0][1]

    in_world(scenario)


def test_a_device_that_comes_back_meanwhile_goes_on_with_its_turns() -> None:
    async def scenario(world: World) -> None:
        world.pools.hold("a")
        world.pools.session("a", reuse=True)
        leaving = asyncio.ensure_future(world.pools.release("a"))
        world.pools.hold("a")
        await leaving
        world.pools.session("a", reuse=True)
        assert world.opened[0][1] is world.opened[-1][1]

    in_world(scenario)


def test_all_are_closed_at_the_end() -> None:
    async def scenario(world: World) -> None:
        sessions = [world.pools.session(device, reuse=True) for device in "abc"]
        await world.pools.close()
        assert all(session.closed for session in sessions)

    in_world(scenario)
