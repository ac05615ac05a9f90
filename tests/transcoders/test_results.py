"""Processes with one store make a picture once, and nothing of what came with credentials."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from emulation.memory.virtual_time import run
from tests.malformed import NESTED, NO_UTF8
from transcoders.make.made import Made
from transcoders.make.registry import Transcoders
from transcoders.make.results import WAIT, SharedResults
from transcoders.picture import Picture, PictureOptions, Unfit


class Shelf:
    """A store that all of a test's processes have."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.claims: set[bytes] = set()

    async def get(self, key: bytes) -> bytes | None:
        return self.values.get(key)

    async def put(self, key: bytes, value: bytes, *, seconds: float) -> None:
        assert seconds > 0
        self.values[key] = value

    async def claim(self, key: bytes, *, seconds: float) -> bool:
        if key in self.claims:
            return False
        self.claims.add(key)
        return True

    async def release(self, key: bytes) -> None:
        self.claims.discard(key)

    async def claimed(self, key: bytes) -> bool:
        return key in self.claims


def photo() -> bytes:
    gradient = Image.linear_gradient("L").resize((320, 240))
    picture = Image.merge("RGB", (gradient, gradient.rotate(90), gradient.rotate(180)))
    out = BytesIO()
    picture.save(out, "JPEG", quality=95)
    return out.getvalue()


PHOTO = photo()
OPTIONS = PictureOptions(sketch=True)


async def levels(transcoders: Transcoders, *, private: bool = False) -> Picture | None:
    low = await transcoders.low(PHOTO, "image/jpeg", OPTIONS, private=private)
    return await transcoders.finish(PHOTO, "image/jpeg", OPTIONS, low, private=private)


async def told() -> None:
    """Until what was made is in the store."""
    await asyncio.sleep(0.05)


def test_another_process_has_the_same_picture_and_makes_nothing() -> None:
    async def go() -> None:
        shelf = Shelf()
        first, second = (Transcoders(workers=1, jpegtran=None, store=shelf) for _ in range(2))
        made = await levels(first)
        await told()
        assert not shelf.claims
        again = await levels(second)
        assert made is not None
        assert again == made
        assert (first.statistics().spared, second.statistics().spared) == (0, 2)
        await first.close()
        await second.close()

    asyncio.run(go())


def test_what_came_with_credentials_is_in_no_store_and_not_looked_for_there() -> None:
    async def go() -> None:
        shelf = Shelf()
        first, second = (Transcoders(workers=1, jpegtran=None, store=shelf) for _ in range(2))
        await levels(first, private=True)
        await told()
        assert not shelf.values
        await levels(first)  # of the same bytes, which are nobody's: they are here already
        await levels(second)
        await told()
        assert shelf.values
        third = Transcoders(workers=1, jpegtran=None, store=shelf)
        await levels(third, private=True)
        assert third.statistics().spared == 0
        for one in (first, second, third):
            await one.close()

    asyncio.run(go())


class Process:
    """Makes texts in half a second, or can't."""

    def __init__(self, shelf: Shelf, *, error: Exception | None = None) -> None:
        self.made = Made(lasting=(Unfit,), others=SharedResults(shelf))
        self.begun = 0
        self._error = error

    async def get(self) -> bytes:
        async def make() -> bytes:
            self.begun += 1
            await asyncio.sleep(0.5)
            if self._error is not None:
                raise self._error
            return b"made"

        return await self.made.get("wish", make, size=len, private=False)


def virtual(work: Callable[[], Awaitable[None]]) -> None:
    async def go() -> None:
        await work()

    run(go())


def test_two_at_once_are_one() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        shelf = Shelf()
        processes = [Process(shelf) for _ in range(4)]
        began = loop.time()
        assert await asyncio.gather(*(one.get() for one in processes)) == [b"made"] * 4
        assert sum(one.begun for one in processes) == 1
        assert loop.time() - began == pytest.approx(0.5, abs=0.05)

    virtual(work)


def test_who_learns_late_that_he_is_the_first_looks_whether_he_is() -> None:
    class LateClaims(Shelf):
        late = 0.0

        async def claim(self, key: bytes, *, seconds: float) -> bool:
            late, self.late = self.late, 1.0
            await asyncio.sleep(late)
            return await super().claim(key, seconds=seconds)

    async def work() -> None:
        shelf = LateClaims()
        first, second = Process(shelf), Process(shelf)
        assert await asyncio.gather(first.get(), second.get()) == [b"made"] * 2
        assert (first.begun, second.begun) == (1, 0)
        await told()
        assert not shelf.claims

    virtual(work)


def test_whoever_was_at_it_and_died_delays_others_for_a_moment() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        shelf = Shelf()
        first, second = Process(shelf), Process(shelf)
        dying = asyncio.ensure_future(first.get())
        await asyncio.sleep(0.1)
        claims = set(shelf.claims)
        dying.cancel()
        await asyncio.sleep(0.1)
        assert not shelf.claims  # it was only called off
        shelf.claims |= claims  # it was killed
        began = loop.time()
        assert await second.get() == b"made"
        assert loop.time() - began == pytest.approx(WAIT + 0.5, abs=0.05)

    virtual(work)


def test_what_can_not_be_made_is_known_to_all_and_what_had_no_room_to_nobody() -> None:
    async def work() -> None:
        shelf = Shelf()
        first, second = Process(shelf, error=Unfit("it is odd")), Process(shelf)
        with pytest.raises(Unfit, match="odd"):
            await first.get()
        await told()
        with pytest.raises(Unfit, match="odd"):
            await second.get()
        assert second.begun == 0
        shelf = Shelf()
        first, second = Process(shelf, error=TimeoutError()), Process(shelf)
        with pytest.raises(TimeoutError):
            await first.get()
        await told()
        assert await second.get() == b"made"

    virtual(work)


@given(st.binary(max_size=200))
@example(b"\x92\x00" + NO_UTF8)
@example(b"\x96\x00\xc0\xc0\xc0\xc0" + NESTED)
def test_a_store_that_says_anything_is_not_believed(data: bytes) -> None:
    class Odd(Shelf):
        async def get(self, key: bytes) -> bytes | None:
            return data

    async def go() -> None:
        found = await SharedResults(Odd()).find("wish")
        assert found is None or isinstance(found.took, float)

    asyncio.run(go())


def test_a_picture_another_version_would_make_has_another_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def go() -> None:
        shelf = Shelf()
        results = SharedResults(shelf)
        await results.keep("wish", b"made", 1.0)
        assert await results.find("wish") is not None
        assert await results.find("another") is None
        monkeypatch.setattr("PIL.__version__", "0")
        assert await results.find("wish") is None

    asyncio.run(go())
