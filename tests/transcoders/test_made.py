"""Levels that several want are made once; what that could tell of others is not told."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from emulation.memory.virtual_time import run
from tests.watched import run as watched
from transcoders.make.made import Made

TAKES = 0.5
"""Seconds that a result takes to be made."""


class Refused(Exception):
    """No room for this one's owner."""


class Impossible(Exception):
    """A result that nobody can have."""


class Workshop:
    """Makes strings of bytes, one after half a second; counts them."""

    def __init__(self, *, limit: int = 1 << 20) -> None:
        self.made = Made(limit=limit, lasting=(Impossible,))
        self.begun = 0
        self.ended = 0

    async def get(
        self,
        key: str,
        *,
        private: bool = False,
        size: int = 100,
        error: Exception | None = None,
    ) -> float:
        """Seconds until it was there."""
        loop = asyncio.get_running_loop()
        began = loop.time()

        async def make() -> bytes:
            self.begun += 1
            await asyncio.sleep(TAKES)
            self.ended += 1
            if error is not None:
                raise error
            return bytes(size)

        assert await self.made.get(key, make, size=len, private=private) == bytes(size)
        return loop.time() - began


def _in_virtual_time(use: Callable[[Workshop], Awaitable[None]], *, limit: int = 1 << 20) -> None:
    async def main() -> None:
        await use(Workshop(limit=limit))

    run(main())


def test_what_ten_devices_want_is_made_once() -> None:
    async def use(shop: Workshop) -> None:
        took = await asyncio.gather(*(shop.get("page") for _ in range(10)))
        assert took == [TAKES] * 10
        assert await shop.get("page") == 0
        assert (shop.begun, shop.made.spared) == (1, 10)
        assert await shop.get("another") == TAKES

    _in_virtual_time(use)


@pytest.mark.parametrize(("first", "then"), [(True, False), (False, True), (True, True)])
def test_what_came_with_credentials_is_there_as_late_as_if_it_had_to_be_made(
    first: bool, then: bool
) -> None:
    async def use(shop: Workshop) -> None:
        await shop.get("picture", private=first)
        assert await shop.get("picture", private=then) == pytest.approx(TAKES)
        assert shop.begun == 1

    _in_virtual_time(use)


def test_who_joins_work_on_what_came_with_credentials_waits_as_long_as_for_all_of_it() -> None:
    async def use(shop: Workshop) -> None:
        mine = asyncio.create_task(shop.get("picture", private=True))
        await asyncio.sleep(0.3)
        assert await shop.get("picture") == pytest.approx(TAKES)
        assert await mine == TAKES

    _in_virtual_time(use)


def test_work_ends_when_nobody_waits_for_it_and_not_before() -> None:
    async def use(shop: Workshop) -> None:
        one, other = (asyncio.create_task(shop.get("page")) for _ in range(2))
        await asyncio.sleep(0.1)
        one.cancel()
        assert await other == TAKES
        assert (shop.begun, shop.ended) == (1, 1)
        alone = asyncio.create_task(shop.get("another"))
        await asyncio.sleep(0.1)
        alone.cancel()
        await asyncio.sleep(2 * TAKES)
        assert (shop.begun, shop.ended) == (2, 1)
        assert await shop.get("another") == TAKES

    _in_virtual_time(use)


def test_want_of_room_is_its_owners_and_impossible_is_so_for_all() -> None:
    async def use(shop: Workshop) -> None:
        refused = asyncio.create_task(shop.get("page", error=Refused()))
        await asyncio.sleep(0.1)
        assert await shop.get("page") == pytest.approx(2 * TAKES - 0.1)
        with pytest.raises(Refused):
            await refused
        for _ in range(3):
            with pytest.raises(Impossible):
                await shop.get("damaged", error=Impossible())
        assert shop.begun == 3

    _in_virtual_time(use)


def test_no_more_bytes_are_kept_than_may_be_the_latest_used() -> None:
    async def use(shop: Workshop) -> None:
        for name in "abc":
            await shop.get(name, size=20_000)
        assert await shop.get("a", size=20_000) == 0
        await shop.get("d", size=20_000)
        assert shop.made.used <= 70_000
        assert [await shop.get(name, size=20_000) > 0 for name in "acd"] == [False, False, False]
        assert await shop.get("b", size=20_000) == TAKES
        await shop.get("huge", size=100_000)
        assert shop.made.used == 0
        assert await shop.get("a") == TAKES

    _in_virtual_time(use, limit=70_000)


def test_nothing_is_kept_where_nothing_may_be() -> None:
    async def use(shop: Workshop) -> None:
        assert [await shop.get("page") for _ in range(2)] == [TAKES, TAKES]
        assert shop.made.used == 0

    _in_virtual_time(use, limit=0)


def test_what_ends_as_it_is_given_up_is_not_counted() -> None:
    async def use(shop: Workshop) -> None:
        async def stubborn() -> bytes:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(TAKES)
            return bytes(5000)

        for _ in range(20):
            alone = asyncio.create_task(shop.made.get("page", stubborn, size=len, private=False))
            await asyncio.sleep(0.1)
            alone.cancel()
            await asyncio.sleep(0.1)
        assert shop.made.used == 0
        assert await shop.get("page") == TAKES  # there is room, and nothing of before

    _in_virtual_time(use, limit=10_000)


def test_what_fails_as_its_reader_leaves_is_no_error_that_nobody_saw() -> None:
    async def main() -> None:
        made = Made(limit=1 << 20, lasting=(Impossible,))

        async def leaving() -> bytes:
            alone.cancel()
            raise Impossible

        alone = asyncio.create_task(made.get("page", leaving, size=len, private=False))
        with pytest.raises(asyncio.CancelledError):
            await alone
        await made.close()

    watched(main())


def test_who_comes_at_the_moment_of_a_refusal_begins_anew() -> None:
    async def use(shop: Workshop) -> None:
        refused = asyncio.create_task(shop.get("page", error=Refused()))
        late = [asyncio.get_running_loop().create_task(_at(TAKES, shop)) for _ in range(3)]
        with pytest.raises(Refused):
            await refused
        assert await asyncio.gather(*late) == [TAKES] * 3
        assert shop.begun == 2

    async def _at(seconds: float, shop: Workshop) -> float:
        await asyncio.sleep(seconds)
        return await shop.get("page")

    _in_virtual_time(use)
