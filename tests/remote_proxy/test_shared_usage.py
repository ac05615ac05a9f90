"""A device's day is one at all remotes, whichever of them it is at and whatever the store loses."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.pairs.valkey_server import MISSING, SERVER, valkey
from remote_proxy.reach.limits import DAY, Devices, Limits
from remote_proxy.sharing.usage import SharedUsage
from remote_proxy.store.valkey import ValkeyStore
from tests.watched import run


@dataclass
class Clock:
    now: float = 1000.0


@dataclass
class Told:
    """A store that keeps time by the test's clock."""

    clock: Clock
    there: bool = True
    endless: bool = False
    kept: dict[bytes, tuple[dict[str, int], float]] = field(default_factory=dict)

    async def tell(
        self, key: bytes, who: str, count: int, *, seconds: float
    ) -> tuple[dict[str, int], float] | None:
        if not self.there:
            return None
        counts, ends = self.kept.get(key, ({}, self.clock.now + seconds))
        if ends <= self.clock.now:
            counts, ends = {}, self.clock.now + seconds
        if count:
            counts[who] = count
            self.kept[key] = counts, ends
        return dict(counts), 0.0 if self.endless else ends - self.clock.now


class Remote:
    def __init__(self, told: Told, whose: bytes = b"ours") -> None:
        self._clock = told.clock
        self.devices = Devices(Limits(bytes_per_day=1000))
        self.shared = SharedUsage(self.devices, told, whose=whose, now=lambda: self._clock.now)

    def moves(self, amount: int) -> bool:
        """Whether it may."""
        return self.devices.of("phone").spend(amount, now=self._clock.now) is None

    @property
    def counted(self) -> int:
        return self.devices.of("phone").statistics(now=self._clock.now).bytes_today

    def look(self) -> None:
        asyncio.run(self.shared.look())


def three() -> tuple[Clock, Told, Remote, Remote]:
    clock = Clock()
    told = Told(clock)
    return clock, told, Remote(told), Remote(told)


def test_what_passed_elsewhere_counts_here() -> None:
    _, _, one, other = three()
    assert one.moves(600)
    one.look()
    assert other.moves(300)  # it does not know yet
    other.look()
    one.look()
    assert other.counted == 900
    assert one.counted == 600  # nothing of its own is new, so it has not asked
    assert one.moves(50)
    one.look()
    assert one.counted == 950
    assert not one.moves(51)


def test_the_day_is_one_for_all() -> None:
    clock, _, one, other = three()
    one.moves(600)
    one.look()
    clock.now += DAY - 100
    other.moves(100)
    other.look()
    assert other.counted == 700
    clock.now += 101
    assert one.counted == other.counted == 0
    other.moves(1)
    for remote in (one, other):
        remote.look()
    assert other.counted == 1


def test_another_owner_s_device_of_that_name_in_the_same_store_is_another() -> None:
    _, told, one, _ = three()
    stranger = Remote(told, b"theirs")
    one.moves(900)
    one.look()
    stranger.moves(1)
    stranger.look()
    assert stranger.counted == 1


def test_a_store_that_knows_no_end_of_the_day_renews_nothing() -> None:
    _, told, one, other = three()
    one.moves(600)
    one.look()
    told.endless = True
    other.moves(100)
    other.look()
    assert other.counted == 100


def test_a_remote_that_starts_again_has_what_it_had_counted() -> None:
    _, told, one, _ = three()
    one.moves(900)
    one.look()
    again = Remote(told)
    assert again.moves(1)
    again.look()
    assert again.counted == 901


def test_a_store_that_forgets_or_is_away_leaves_each_with_its_own_count() -> None:
    _, told, one, other = three()
    one.moves(400)
    one.look()
    told.there = False
    other.moves(300)
    other.look()
    assert other.counted == 300
    told.there = True
    told.kept.clear()
    other.look()
    assert other.counted == 300
    one.moves(1)
    one.look()  # it says all of it again
    other.moves(1)
    other.look()
    assert (one.counted, other.counted) == (701, 702)
    assert other.moves(298)
    assert not other.moves(1)


@pytest.mark.skipif(SERVER is None, reason=MISSING)
def test_a_real_store_counts_for_a_day_from_the_first(tmp_path: Path) -> None:
    async def go() -> None:
        async with valkey(tmp_path) as server:
            store = ValkeyStore(server.url)
            assert await store.tell(b"k", "a", 0, seconds=100.0) == ({}, 0.0)
            assert (await store.tell(b"k", "a", 7, seconds=100.0) or ({}, 0.0))[0] == {"a": 7}
            counts, left = await store.tell(b"k", "b", 5, seconds=500.0) or ({}, 0.0)
            assert counts == {"a": 7, "b": 5}
            assert 90.0 < left <= 100.0
            assert await store.tell(b"other", "b", 0, seconds=1.0) == ({}, 0.0)
            await server.kill()
            assert await store.tell(b"k", "b", 6, seconds=100.0) is None
            await store.close()

    run(go())
