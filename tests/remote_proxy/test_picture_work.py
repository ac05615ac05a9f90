"""Tests of work on one picture: it ends when the link would have been through with the picture."""

from __future__ import annotations

import asyncio
import hashlib
import io
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from emulation.memory.virtual_time import VirtualTimeLoop, run
from remote_proxy.jobs.economy import UNMEASURED, WORTH, Economy
from remote_proxy.jobs.picture_work import PictureWork
from remote_proxy.jobs.rush import Rush
from remote_proxy.jobs.services import Sender
from remote_proxy.origin.resumed_body import Rest
from transcoders.make.low import Low, as_it_is
from transcoders.make.registry import Transcoders
from transcoders.picture import Picture, PictureOptions
from wire.continuation import Continuation
from wire.skeleton import Level


def noise() -> bytes:
    out = io.BytesIO()
    Image.frombytes("L", (100, 100), random.Random(1).randbytes(10_000)).save(out, "PNG")
    return out.getvalue()


DATA = noise()
SIZE = len(DATA)
LOW = Low(b"a sketch", Level("low", 0, 8, "image/webp"), 100, 100)
MADE = Picture(b"a sketch and all", (LOW.level, Level("original", 8, 16, "image/webp")), 100, 100,
               lossless=True, identical=False)  # fmt: skip
SLOW, FAST = 10_000.0, 10_000_000.0
"""Bytes/second: a second for the picture, and nothing to speak of."""


class SlowTranscoders(Transcoders):
    """Takes as long for a picture as the test says."""

    def __init__(self) -> None:
        super().__init__(workers=1, jpegtran=None)
        self.low_takes = self.rest_takes = 0.0
        self.made: Picture | None = MADE
        self.done: list[str] = []

    async def low(
        self,
        data: bytes,
        content_type: str,
        options: PictureOptions,
        *,
        whose: str = "",
        private: bool = False,
    ) -> Low | None:
        await asyncio.sleep(self.low_takes)
        self.done.append(f"low {whose} {private}")
        return LOW

    async def finish(
        self,
        data: bytes,
        content_type: str,
        options: PictureOptions,
        low: Low | None,
        *,
        whose: str = "",
        private: bool = False,
    ) -> Picture | None:
        await asyncio.sleep(self.rest_takes)
        self.done.append(f"rest {whose} {private}")
        return self.made

    async def recipe(
        self,
        data: bytes,
        picture: Picture,
        options: PictureOptions,
        *,
        whose: str = "",
        private: bool = False,
    ) -> bytes | None:
        return f"recipe {whose} {private}".encode()


class FakeSender:
    """A session as far as pictures ask for it."""

    device = "phone"

    def __init__(self) -> None:
        self.economy = Economy()
        self.expected: float | None = SLOW
        self.ahead = SIZE
        self.queued = 0


class World:
    """One picture, the link and the makers."""

    def __init__(self) -> None:
        self.sender = FakeSender()
        self.transcoders = SlowTranscoders()
        self.rush = Rush()

    def work(
        self,
        *,
        steps: bool = True,
        rest: Continuation | None = None,
        worth: float | None = None,
        stop: str = "original",
        sketch: bool = False,
        between: bool = False,
        similar: float | None = None,
        finer: bool = False,
    ) -> PictureWork:
        sender: Sender = self.sender  # type: ignore[assignment]  # what work asks of it, it has
        return PictureWork(
            DATA,
            "image/png",
            PictureOptions(stop=stop, sketch=sketch, between=between, similar=similar),
            sender=sender,
            transcoders=self.transcoders,
            rush=self.rush,
            rest=Rest(rest),
            steps=steps,
            private=True,
            worth=worth,
            finer=finer,
        )

    @property
    def counts(self) -> dict[str, int]:
        return dict(self.sender.economy.counts())

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()


def in_world(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        world = World()
        await scenario(world)
        await world.rush.close()

    run(main())


def test_over_a_slow_link_a_picture_has_a_low_level_and_all_the_others() -> None:
    async def scenario(world: World) -> None:
        world.transcoders.low_takes, world.transcoders.rest_takes = 0.1, 0.5
        work = world.work()
        low = await work.low()
        assert low is LOW
        assert await work.finished(low) is MADE
        assert world.transcoders.done == ["low phone True", "rest phone True"]
        assert await work.recipe(MADE) == b"recipe phone True"

    in_world(scenario)


def test_over_a_fast_link_nothing_is_made() -> None:
    async def scenario(world: World) -> None:
        world.sender.expected = FAST
        work = world.work()
        assert await work.low() is None
        assert await work.finished(None) is None
        assert world.transcoders.done == []
        assert world.counts == {"soon": 1}

    in_world(scenario)


def test_work_that_would_end_later_than_the_link_is_given_up() -> None:
    async def scenario(world: World) -> None:
        world.transcoders.rest_takes = 5.0
        work = world.work()
        low = await work.low()
        assert await work.finished(low) == as_it_is(DATA, LOW)
        assert world.now == pytest.approx(SIZE / SLOW, abs=0.01)
        assert world.counts == {"late": 1}

    in_world(scenario)


def test_a_low_level_that_takes_too_long_leaves_the_origins_bytes_alone() -> None:
    async def scenario(world: World) -> None:
        world.transcoders.low_takes = 5.0
        work = world.work()
        assert await work.low() is None
        assert await work.finished(None) is None
        assert world.now == pytest.approx(SIZE / SLOW, abs=0.01)

    in_world(scenario)


def test_a_link_that_becomes_fast_meanwhile_ends_the_work() -> None:
    async def scenario(world: World) -> None:
        world.sender.expected = None
        world.transcoders.low_takes = 100.0
        asyncio.get_running_loop().call_later(3.0, setattr, world.sender, "expected", FAST)
        assert await world.work().low() is None
        assert 3.0 <= world.now <= 3.3

    in_world(scenario)


def test_a_low_level_that_came_too_late_for_a_link_is_not_sent() -> None:
    async def scenario(world: World) -> None:
        world.sender.expected = None
        world.transcoders.low_takes = 0.1
        asyncio.get_running_loop().call_later(0.05, setattr, world.sender, "expected", FAST)
        assert await world.work().low() is None
        assert world.transcoders.done == ["low phone True"]

    in_world(scenario)


def test_behind_a_low_level_an_unmeasured_link_does_not_wait_for_ever() -> None:
    async def scenario(world: World) -> None:
        world.sender.expected = None
        world.transcoders.rest_takes = 100.0
        work = world.work()
        low = await work.low()
        assert await work.finished(low) == as_it_is(DATA, LOW)
        assert world.now == pytest.approx(UNMEASURED)

    in_world(scenario)


def test_on_a_middling_link_the_whole_follows_its_low_level_at_once() -> None:
    async def scenario(world: World) -> None:
        world.sender.expected = 500_000.0
        work = world.work()
        low = await work.low()
        assert await work.finished(low) == as_it_is(DATA, LOW)
        assert world.transcoders.done == ["low phone True"]
        assert world.counts == {"whole": 1}

    in_world(scenario)


@pytest.mark.parametrize("how", [{"worth": 0.0}, {"stop": "medium"}])
def test_what_a_policy_wants_is_made_on_any_link_however_long_it_takes(
    how: dict[str, object],
) -> None:
    async def scenario(world: World) -> None:
        world.sender.expected = FAST
        world.transcoders.rest_takes = 30.0
        work = world.work(**how)  # type: ignore[arg-type]
        low = await work.low()
        assert low is LOW
        assert await work.finished(low) is MADE
        assert world.now == 30.0

    in_world(scenario)


def test_a_policy_that_finds_little_worth_while_says_when() -> None:
    async def scenario(world: World) -> None:
        world.sender.expected = 200_000.0
        assert await world.work(worth=WORTH).low() is LOW
        assert await world.work(worth=100.0).low() is None

    in_world(scenario)


def test_an_answer_that_may_not_end_early_has_no_low_level() -> None:
    async def scenario(world: World) -> None:
        work = world.work(steps=False)
        assert await work.low() is None
        assert await work.finished(None) is MADE
        assert world.transcoders.done == ["rest phone True"]

    in_world(scenario)


def test_over_a_fast_link_an_answer_without_a_low_level_is_left_alone_too() -> None:
    async def scenario(world: World) -> None:
        world.sender.expected = FAST
        assert await world.work(steps=False).finished(None) is None
        assert world.transcoders.done == []

    in_world(scenario)


@pytest.mark.parametrize(
    ("beginning", "expected"),
    [
        (MADE.data[:12], MADE),
        (LOW.data + DATA[:100], as_it_is(DATA, LOW)),
        (DATA[:100], None),
        (b"of something else", MADE),
    ],
)
def test_a_picture_that_was_begun_goes_on_in_the_form_in_which_it_began(
    beginning: bytes, expected: Picture | None
) -> None:
    async def scenario(world: World) -> None:
        world.sender.expected = FAST
        world.transcoders.rest_takes = 30.0
        digest = hashlib.sha256(beginning).digest()
        work = world.work(rest=Continuation(len(beginning), digest))
        assert await work.low() is None
        assert await work.finished(None) == expected

    in_world(scenario)


def test_one_that_was_begun_without_a_sketch_goes_on_without_it() -> None:
    prefixes = Picture(b"prefixes", (Level("original", 0, 8, "image/webp"),), 100, 100,
                       lossless=True, identical=False)  # fmt: skip

    class BothForms(SlowTranscoders):
        async def finish(
            self, data: bytes, content_type: str, options: PictureOptions, *args: Any, **kept: Any
        ) -> Picture | None:
            return MADE if options.sketch else prefixes

    async def scenario(world: World) -> None:
        world.transcoders = BothForms()
        for beginning, expected in ((b"a sketch", MADE), (b"pref", prefixes)):
            rest = Continuation(len(beginning), hashlib.sha256(beginning).digest())
            work = world.work(rest=rest, sketch=True)
            assert await work.finished(await work.low()) == expected

    in_world(scenario)


@pytest.mark.parametrize("rate", [FAST, SLOW, None])
def test_one_that_was_begun_with_another_sketch_goes_on_with_that(rate: float | None) -> None:
    """How fast the link was when it was drawn is not known."""

    class BothSketches(SlowTranscoders):
        async def low(
            self, data: bytes, content_type: str, options: PictureOptions, **kept: Any
        ) -> Low | None:
            return replace(LOW, data=b"quickly." if options.quick else b"a sketch")

        async def finish(
            self, data: bytes, content_type: str, options: PictureOptions, low: Low | None,
            **kept: Any,
        ) -> Picture | None:  # fmt: skip
            return as_it_is(data, low) if low is not None else None

    async def scenario(world: World) -> None:
        world.transcoders, world.sender.expected = BothSketches(), rate
        for beginning in (b"quickly." + DATA[:9], b"a sketch" + DATA[:9]):
            rest = Continuation(len(beginning), hashlib.sha256(beginning).digest())
            work = world.work(rest=rest, sketch=True)
            made = await work.finished(await work.low())
            assert made is not None and made.data == beginning[:8] + DATA

    in_world(scenario)


def test_one_that_was_begun_with_a_version_between_goes_on_without_a_time() -> None:
    levels = (
        LOW.level,
        Level("medium", 8, 12, "image/avif"),
        Level("original", 12, 16, "image/webp"),
    )
    timed = Picture(b"a sketch4444 all", levels, 100, 100, lossless=True, identical=False)

    class BothForms(SlowTranscoders):
        async def finish(
            self, data: bytes, content_type: str, options: PictureOptions, *args: Any, **kept: Any
        ) -> Picture | None:
            return timed if options.between else MADE

    async def scenario(world: World) -> None:
        world.transcoders = BothForms()
        for beginning, expected in ((b"a sketch44", timed), (b"a sketch a", MADE)):
            rest = Continuation(len(beginning), hashlib.sha256(beginning).digest())
            for between in (False, True):
                work = world.work(rest=rest, between=between)
                assert await work.finished(await work.low()) == expected

    in_world(scenario)


def test_finer_levels_wait_while_texts_are_short_of_time() -> None:
    async def scenario(world: World) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        ends = world.rush.begins()
        work = world.work(worth=0.0)
        low = await work.low()
        waiting = asyncio.ensure_future(work.finished(low))
        for _ in range(20):
            loop.work(0.1)
            await asyncio.sleep(0)
        assert world.rush.waited == 1 and not waiting.done()
        ends()
        assert await waiting is MADE

    in_world(scenario)


@pytest.mark.parametrize("finer", [False, True])
def test_behind_other_pixels_that_are_there_come_the_origins_for_who_wants_more(
    finer: bool,
) -> None:
    async def scenario(world: World) -> None:
        high = Level("high", 0, 5, "image/avif")
        made = Picture(b"alike", (high,), 100, 100, lossless=False, identical=False)
        world.transcoders.made = made
        begun = Continuation(5, hashlib.sha256(b"alike").digest(), "")
        work = world.work(rest=begun, finer=finer, similar=0.97)
        goes_on = await work.finished(await work.low())
        assert goes_on is not None
        if finer:
            assert goes_on.data == b"alike" + DATA
            assert goes_on.levels == (high, Level("original", 5, 5 + SIZE, "image/png"))
            assert goes_on.identical
        else:
            assert goes_on is made

    in_world(scenario)
