"""Pictures whose first level comes while the others are still being made at the remote."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import product

import pytest

from emulation.memory.memory import LinkModel, memory_links
from emulation.memory.virtual_time import run as run_virtually
from local_proxy.export_drivers.browser.level_files import LevelFiles
from local_proxy.http.model import Request
from local_proxy.link.announced_levels import Told
from local_proxy.link.arrival import Arrival
from local_proxy.link.components import Component, ComponentFailed
from local_proxy.link.resumption import Memory
from local_proxy.link.session import LocalSession
from tests.local_proxy.ends import Ear, Remote, run, text_of, turns
from tests.local_proxy.export_world import events, stream
from tests.local_proxy.test_sketched_pictures import (
    DATA,
    END,
    JPEG,
    LARGE,
    LEVELS,
    LOW,
    URL,
    Enlarger,
    Sender,
    World,
)
from wire import abilities
from wire import messages as m
from wire.fields import header
from wire.frames import Control, Data
from wire.origin_request import OriginRequest
from wire.skeleton import Kind, Level, Part, Use

ACCEPTS = (abilities.SKETCH, "test")
FIRST = m.Levels(2, [LOW], 0)
coded_and_not = pytest.mark.parametrize("coding", ["", "test"], ids=["plain", "coded"])


def all_of(coding: str = "") -> m.Levels:
    return m.Levels(2, list(LEVELS), len(DATA), coding)


class Unsettled(World):
    """Knows the sketch alone, until it is told more."""

    def __init__(self, *, coded: bool, multipart: bool = False) -> None:
        super().__init__(coded=coded, multipart=multipart)
        self.one.levels, self.one.coding = (), ""
        Told.of(FIRST, accepts=ACCEPTS).settle(self.one)

    async def channel(self, key: str) -> AsyncIterator[bytes]:
        """By which the page's driver hears of finer levels."""
        said = stream(f"{key}\n".encode())
        address = "http://a.test/.well-known/sluice/events"
        found = await self.export.own(Request("POST", address, [], body=said))
        assert found is not None
        assert not isinstance(found.body, bytes)
        assert await events(found.body) == []
        return found.body

    def settle(self) -> None:
        coding = "test" if self.coded else ""
        Told.of(all_of(coding), accepts=ACCEPTS).settle(self.one)
        self.one.notify()


@coded_and_not
def test_swap_shows_the_sketch_and_then_what_follows(coding: str) -> None:
    async def main() -> None:
        world = Unsettled(coded=bool(coding))
        driver = await world.page()
        asked = world.ask()
        world.advance(3)
        answer = await asked
        assert answer.body == LARGE
        assert header(answer.headers, "cache-control") == "no-store"
        channel = await world.channel(driver.key)
        told = asyncio.ensure_future(events(channel))
        world.settle()
        await turns()
        assert not told.done()
        world.advance(7)
        assert [one["l"] for one in await told] == ["medium"]
        world.advance(11)
        assert [one["l"] for one in await events(channel)] == ["original"]
        assert (await world.level(driver, "original")).body == world.file(b"abcdef") + END

    run(main())


@coded_and_not
def test_multipart_goes_on_when_the_rest_is_known(coding: str) -> None:
    async def main() -> None:
        world = Unsettled(coded=bool(coding), multipart=True)
        asked = world.ask()
        world.advance(3)
        body = asyncio.ensure_future(text_of(await asked))
        await turns()
        world.settle()
        for size in (7, 11):
            await turns()
            world.advance(size)
        parts = [part.split(b"\r\n--")[0] for part in (await body).split(b"\r\n\r\n")[1:]]
        assert parts == [LARGE, world.file(b"abcd") + END, world.file(b"abcdef") + END]

    run(main())


@coded_and_not
def test_one_response_waits_until_the_rest_is_known(coding: str) -> None:
    async def main() -> None:
        world = Unsettled(coded=bool(coding))
        asked = world.ask()
        world.advance(3)
        await turns()
        assert not asked.done()
        world.settle()
        answer = await asked
        assert not isinstance(answer.body, bytes)
        body = asyncio.ensure_future(text_of(answer))
        world.advance(11)
        assert await body == world.file(b"abcdef") + END
        assert answer.length in (None, 8)

    run(main())


@pytest.mark.parametrize("multipart", [False, True])
def test_where_the_rest_never_comes_it_is_fetched_anew(multipart: bool) -> None:
    async def main() -> None:
        world = Unsettled(coded=False, multipart=multipart)
        driver = await world.page()
        asked = world.ask()
        world.advance(3)
        answer = await asked
        world.one.fail(ComponentFailed(502, "gone"))
        if multipart:
            assert (await text_of(answer)).endswith(b"\r\n\r\nanother\r\n--sluice-level--\r\n")
            return
        assert [one["l"] for one in await events(await world.channel(driver.key))] == ["again"]

    run(main())


OTHER = (Level("low", 0, 3, JPEG, b"", 1, 1), *LEVELS[1:])
HEAD = m.Head(2, 200, b"")
BYTES = Data(2, DATA[:3])


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ([FIRST, HEAD, BYTES, all_of(), Data(2, DATA[3:], last=True)], ""),
        ([FIRST, HEAD, all_of("test"), Data(2, DATA, last=True)], ""),
        ([FIRST, all_of(), HEAD, Data(2, DATA, last=True)], ""),
        ([FIRST, HEAD, Data(2, DATA, last=True)], "before all its levels are known"),
        ([m.Levels(2, list(LEVELS), 0), HEAD], "not one first level"),
        ([m.Levels(2, [], 0), HEAD], "not one first level"),
        ([m.Levels(2, [LEVELS[1]], 0), HEAD], "not one first level"),
        ([m.Levels(2, [LOW], 0, "test"), HEAD], "not one first level"),
        ([FIRST, HEAD, all_of("x")], "unknown coding"),
        ([FIRST, HEAD, all_of(), all_of()], "after its head"),
        ([FIRST, HEAD, BYTES, m.Levels(2, list(OTHER), len(DATA))], "changed"),
    ],
)
def test_the_rest_of_the_levels_is_taken_once_and_must_fit(
    said: list[m.Message | Data], complaint: str
) -> None:
    async def go() -> None:
        near, far = memory_links(LinkModel(rate_up=1e5, rate_down=1e5, delay=0.01))
        part = Part(2, URL, Kind.IMAGE, Use.ELEMENT, 1)
        remote = Remote(far, [m.Hello([1], "test"), m.Skeleton(1, [part], True)])
        remote.frames += [one if isinstance(one, Data) else Control(m.encode(one)) for one in said]  # type: ignore[misc]
        ear = Ear()
        session = LocalSession(near, ear, Memory(), device="test", accepts=ACCEPTS)
        session.start()
        if complaint == "changed":
            await ear.heads.wait()
            with pytest.raises(ComponentFailed, match="changed"):
                await ear.promised[0].wait(lambda: False)
        elif complaint:
            assert complaint in str(await session.closed)
        else:
            await ear.heads.wait()
            (one,) = ear.promised
            await one.wait(lambda: one.complete)
            assert (one.levels, bytes(one.data)) == (LEVELS, DATA)
        session.close()

    run_virtually(go())


@pytest.mark.parametrize(("before", "after"), list(product([False, True], repeat=2)))
def test_a_cut_transfer_goes_on_whatever_was_known_before_it(before: bool, after: bool) -> None:
    """`before`, `after`: whether the first and the second session tell all levels at once."""

    async def go() -> None:
        part = Part(2, URL, Kind.IMAGE, Use.ELEMENT, 1)
        hello, skeleton = m.Hello([1], "test"), m.Skeleton(1, [part], True)
        ear, memory = Ear(), Memory()
        near, far = memory_links(LinkModel(rate_up=1e5, rate_down=1e5, delay=0.01))
        begun = [all_of("test") if before else FIRST, HEAD]
        Sender(far, [hello, skeleton, *begun], Data(2, DATA[:3]))
        first = LocalSession(near, ear, memory, device="test", accepts=ACCEPTS)
        first.start()
        await ear.heads.wait()
        (one,) = ear.promised
        await one.wait(lambda: one.received == 3)
        far.close()
        await first.closed

        near, far = memory_links(LinkModel(rate_up=1e5, rate_down=1e5, delay=0.01))
        again = [all_of("test"), HEAD] if after else [FIRST, HEAD, all_of("test")]
        Sender(far, [hello, *again], Data(2, DATA[3:], last=True))
        second = LocalSession(near, ear, memory, device="test", accepts=ACCEPTS)
        second.start()
        second.take_over()
        await one.wait(lambda: one.complete)
        assert (one.levels, one.coding, one.unsettled) == (LEVELS, "test", False)

        async def upper(data: bytes) -> bytes:
            return data.upper()

        files = LevelFiles(upper, Enlarger())
        assert await files.file(one, LOW) == LARGE
        assert await files.file(one, LEVELS[-1]) == b"ABCDEF" + END
        second.close()

    run_virtually(go())


@pytest.mark.parametrize(
    ("told", "had", "level"),
    [
        (all_of(), 5, "original"),
        (m.Levels(2, [LOW], 3), 2, "low"),
        (all_of(), 0, ""),
        (FIRST, 2, ""),
    ],
)
def test_a_picture_that_is_cut_is_to_come_as_far_as_was_told(
    told: m.Levels, had: int, level: str
) -> None:
    """Its answer may have begun, and whatever the plan has become says nothing of that."""
    one = Component(2, 1, URL, Kind.IMAGE, promised=True)
    Told.of(told, accepts=ACCEPTS).settle(one)
    one.data += DATA[:had]
    arrival = Arrival(one, OriginRequest("GET", URL, []))
    assert Memory().resume(arrival).level == level
    assert Memory().resume(replace(arrival, level="medium")).level == "medium"


def test_what_is_known_of_all_levels_is_not_forgotten() -> None:
    one = Component(2, 1, URL)
    Told.of(all_of("test"), accepts=ACCEPTS).settle(one)
    known = replace(one)
    Told.of(FIRST, accepts=ACCEPTS).settle(one)
    assert (one.levels, one.coding, one.unsettled) == (known.levels, "test", False)
