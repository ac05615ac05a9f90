"""Whose lookups wait for whose, in virtual time."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from emulation.memory import virtual_time
from remote_proxy.reach import lookups
from remote_proxy.reach.failures import Failure, OriginError
from remote_proxy.reach.lookups import (
    AT_ONCE,
    BELIEVED,
    MOST,
    MOST_BELIEVED,
    TURNS,
    Lookups,
    LookupStatistics,
)

TIMEOUT = 15.0


class Names(AbstractResolver):
    """Answers at once, but for names of `.silent`, which are answered never, and of `.none`."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.asked[host] += 1
        if host.endswith(".silent"):
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(0.1)
        if host.endswith(".none"):
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        if host.endswith(".again"):
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return [
            ResolveResult(
                hostname=host, host="192.0.2.1", port=port, family=socket.AF_INET, proto=0, flags=0
            )
        ]

    async def close(self) -> None:
        """Nothing is held."""


class World:
    """The lookups, whom they ask, and the clock."""

    def __init__(self) -> None:
        self.names = Names()
        self.lookups = Lookups(self.names, timeout=TIMEOUT)

    async def find(self, name: str, device: str = "a") -> list[ResolveResult]:
        return await self.lookups.addresses(name, 80, socket.AF_UNSPEC, device=device)

    def begin(self, name: str, device: str = "a") -> asyncio.Task[list[ResolveResult]]:
        return asyncio.ensure_future(self.find(name, device))

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()


def run(work: Any) -> None:
    async def whole() -> None:
        world = World()
        try:
            await work(world)
        finally:
            await world.lookups.close()

    virtual_time.run(whole())


def fails(work: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, OriginError]:
    async def failing() -> OriginError:
        with pytest.raises(OriginError) as raised:
            await work
        return raised.value

    return failing()


def test_a_device_waits_for_its_own_names_only() -> None:
    async def go(world: World) -> None:
        silent = [world.begin(f"{number}.silent") for number in range(AT_ONCE)]
        own = world.begin("fine.example")
        await asyncio.sleep(0)
        await world.find("fine.example", "b")
        assert world.now == 0.1 and not own.done()
        await own
        assert world.now == TIMEOUT + 0.1
        ended = await asyncio.gather(*silent, return_exceptions=True)
        assert all(
            isinstance(one, OriginError) and one.kind is Failure.TIMEOUT and one.status == 504
            for one in ended
        )

    run(go)


def test_waiting_for_ones_turn_ends_too_and_says_for_what() -> None:
    async def go(world: World) -> None:
        first = [world.begin(f"{number}.silent") for number in range(2 * AT_ONCE)]
        await asyncio.sleep(0.5)
        first += [world.begin(f"also {number}.silent") for number in range(AT_ONCE)]
        await asyncio.sleep(0.5)
        late = await fails(world.find("late.example"))
        # The third lot got the places of the second at 30 s, and holds them until 45 s.
        assert world.now == 1 + TURNS * TIMEOUT and late.kind is Failure.TIMEOUT
        assert f"late.example up took too long: {AT_ONCE} other names" in str(late)
        await asyncio.gather(*first, return_exceptions=True)
        assert world.now == 3 * TIMEOUT

    run(go)


def test_one_name_is_looked_up_once_for_all_who_ask() -> None:
    async def go(world: World) -> None:
        found = await asyncio.gather(*(world.find("a.example") for _ in range(9)))
        assert {one[0]["host"] for one in found} == {"192.0.2.1"}
        assert world.names.asked == {"a.example": 1}
        await world.find("a.example")
        assert world.names.asked == {"a.example": 1}  # so do a page's next connections
        await world.find("a.example", "b")
        await asyncio.sleep(BELIEVED)
        await world.find("a.example")
        assert world.names.asked == {"a.example": 3}

    run(go)


def test_that_a_name_is_unknown_is_believed_for_a_moment_by_its_device() -> None:
    async def go(world: World) -> None:
        for _ in range(5):
            with pytest.raises(socket.gaierror, match="unknown"):
                await world.find("a.none")
        assert world.names.asked["a.none"] == 1 and world.now == 0.1
        with pytest.raises(socket.gaierror):
            await world.find("a.none", "b")
        assert world.names.asked["a.none"] == 2
        await asyncio.sleep(BELIEVED)
        with pytest.raises(socket.gaierror):
            await world.find("a.none")
        assert world.names.asked["a.none"] == 3

    run(go)


def test_name_servers_that_do_not_answer_are_told_from_names_that_nobody_has() -> None:
    async def go(world: World) -> None:
        error = await fails(world.find("a.again"))
        assert str(error) == "no name server answers for a.again"
        assert error.kind is Failure.DNS

    run(go)


def test_names_without_end_fill_no_memory() -> None:
    async def go(world: World) -> None:
        for lot in range(4):
            lots = [world.begin(f"{lot}.{number}.none") for number in range(MOST)]
            await asyncio.gather(*lots, return_exceptions=True)
        assert world.lookups.statistics() == LookupStatistics(1, 0, MOST_BELIEVED)
        await asyncio.sleep(BELIEVED)
        for number in range(100):
            await world.find("fine.example", f"device {number}")
        await asyncio.sleep(BELIEVED)
        await world.find("fine.example", "one more")
        assert world.lookups.statistics().devices <= 2

    run(go)


def test_beyond_the_limit_names_fail_at_once() -> None:
    async def go(world: World) -> None:
        tasks = [world.begin(f"{number}.silent") for number in range(MOST)]
        await asyncio.sleep(0)
        error = await fails(world.find("more.example"))
        assert world.now == 0 and error.kind is Failure.LIMIT and f"{MOST} other" in str(error)
        await world.find("more.example", "b")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(go)


def test_who_asks_and_leaves_begins_no_more_lookups_than_who_stays() -> None:
    async def go(world: World) -> None:
        for number in range(1000):
            task = world.begin(f"{number}.silent")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert world.names.asked.total() == AT_ONCE
        assert world.lookups.statistics().under_way == AT_ONCE
        await asyncio.sleep(TIMEOUT + 1)
        assert not world.lookups.statistics().under_way
        await world.find("fine.example")

    run(go)


def test_one_who_leaves_does_not_take_the_lookup_from_others() -> None:
    async def go(world: World) -> None:
        leaves, stays = world.begin("a.example"), world.begin("a.example")
        await asyncio.sleep(0.05)
        leaves.cancel()
        await asyncio.gather(leaves, return_exceptions=True)
        assert (await stays)[0]["host"] == "192.0.2.1"
        assert world.names.asked["a.example"] == 1

    run(go)


def test_the_bounds_are_what_the_documents_say() -> None:
    assert (lookups.AT_ONCE, lookups.MOST, lookups.BELIEVED) == (32, 256, 5.0)
