"""A remote has several addresses: whichever answers carries the link, the last that did first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from emulation.memory.virtual_time import run
from local_proxy.dialling.endpoints import SPREAD, STAGGER, Endpoints
from transport.link.interface import LinkError, NotTrusted

A, B, C = ("a.example", 1), ("b.example", 2), ("2001:db8::1", 3)


class ScriptedConnection:
    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False

    def close(self) -> None:
        self.closed = True


class World:
    """Where each address answers after so many seconds, fails, or never says anything."""

    def __init__(self, **hosts: float | Exception | None) -> None:
        self._hosts = hosts
        self.asked: list[str] = []
        self.made: list[ScriptedConnection] = []

    def says(self, host: str, after: float | Exception | None) -> None:
        self._hosts[host] = after

    async def connect(self, host: str, port: int) -> ScriptedConnection:
        name = host.partition(".")[0]
        self.asked.append(name)
        after = self._hosts[name]
        if after is None:
            await asyncio.get_running_loop().create_future()
        if isinstance(after, Exception):
            raise after
        assert after is not None
        await asyncio.sleep(after)
        made = ScriptedConnection(name)
        self.made.append(made)
        return made


def virtual(work: Callable[[], Awaitable[None]]) -> None:
    async def go() -> None:
        await work()

    run(go())


def test_a_setting_names_one_or_several() -> None:
    assert Endpoints.of("a.example:1").first == A
    assert Endpoints.of("[2001:db8::1]:3, a.example:1").first == C


def test_what_refuses_is_passed_over_at_once_and_what_answered_comes_first_then() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        world = World(a=LinkError("refused"), b=0.1)
        endpoints = Endpoints([A, B])
        began = loop.time()
        connection = await endpoints.dial(world.connect)
        assert connection is world.made[0]
        assert loop.time() - began == pytest.approx(0.1)
        assert endpoints.first == B
        world.says("a", 0.0)
        await endpoints.dial(world.connect)
        assert world.asked == ["a", "b", "b"]

    virtual(work)


def test_what_is_silent_gets_a_rival_and_whoever_comes_second_is_closed() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        world = World(a=STAGGER + 0.2, b=0.1)
        endpoints = Endpoints([A, B])
        began = loop.time()
        await endpoints.dial(world.connect)
        assert loop.time() - began == pytest.approx(STAGGER + 0.1)
        await asyncio.sleep(1.0)
        assert [one.name for one in world.made] == ["b"]
        world = World(a=STAGGER - 0.1, b=0.0)
        await Endpoints([A, B]).dial(world.connect)
        assert world.asked == ["a"]

    virtual(work)


def test_of_many_each_is_tried_soon_and_sooner_where_there_is_another_way() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        names = [f"h{index}" for index in range(12)]
        addresses = [(f"{name}.example", 1) for name in names]
        silent: dict[str, float | Exception | None] = dict.fromkeys(names)
        began = loop.time()
        await Endpoints(addresses).dial(World(**silent | {names[-1]: 0.0}).connect)
        assert loop.time() - began == pytest.approx(SPREAD * 11 / 12)
        began = loop.time()
        await Endpoints([A, B]).dial(World(a=None, b=0.0).connect, stagger=0.5)
        assert loop.time() - began == pytest.approx(0.5)

    virtual(work)


def test_two_that_answer_at_once_leave_one() -> None:
    async def work() -> None:
        world = World(a=STAGGER, b=0.0)
        await Endpoints([A, B]).dial(world.connect)
        await asyncio.sleep(1.0)
        assert sorted(one.closed for one in world.made) in ([False], [False, True])

    virtual(work)


def test_where_none_answers_it_says_why() -> None:
    async def work() -> None:
        stranger = NotTrusted("it does not know this device")
        world = World(a=stranger, b=LinkError("refused"))
        with pytest.raises(LinkError, match="refused"):  # which may be over soon
            await Endpoints([A, B]).dial(world.connect)
        world = World(a=stranger, b=stranger)
        with pytest.raises(NotTrusted):
            await Endpoints([A, B]).dial(world.connect)
        world = World(a=OSError("no route"), b=ZeroDivisionError())
        with pytest.raises(ZeroDivisionError):
            await Endpoints([A, B]).dial(world.connect)

    virtual(work)


def test_who_leaves_ends_all_attempts() -> None:
    async def work() -> None:
        world = World(a=None, b=None)
        dialling = asyncio.ensure_future(Endpoints([A, B]).dial(world.connect))
        await asyncio.sleep(STAGGER + 1.0)
        assert world.asked == ["a", "b"]
        dialling.cancel()
        await asyncio.sleep(0.1)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert all(task.done() for task in others)

    virtual(work)
