"""Tests of a world of one host behind a relay, which begins with the first address reached."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from emulation.accuracy.accuracy import altered, link
from emulation.relay.relay_settings import Address
from emulation.relay.relay_world import opened, relay
from emulation.worlds.cables import FAR, NEAR, Cable, WorldStatistics
from emulation.worlds.hosts import HERE
from tests.watched import run

PROFILE = altered(link(80e6, delay=0.001), rate_down=100.0)


@contextlib.asynccontextmanager
async def saying(words: bytes) -> AsyncIterator[Address]:
    async def say(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(words)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(say, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()


async def said_at(address: Address) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    got = await reader.read()
    writer.close()
    return got


def test_a_profile_s_relay_runs_only_once_it_is_entered() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        relay(("127.0.0.1", 1), PROFILE).statistics()


def test_what_is_reached_shares_one_relay_and_a_rate_set_before_it_holds() -> None:
    async def go() -> None:
        cables = [Cable(NEAR, FAR, PROFILE)]
        async with saying(b"a" * 5000) as one, saying(b"b") as other, opened(cables, seed=1) as up:
            assert dict(up.hosts) == {NEAR: HERE, FAR: HERE}
            assert up.statistics() == WorldStatistics()
            up.rewind()  # nothing runs yet
            up.set_rate(down=1e6)
            up.set_rate(up=1e6)
            first = await up.reach(one)
            assert first != one
            assert await up.reach(one) == first
            async with asyncio.timeout(30):  # 50 s at the profile's own rate
                assert await said_at(first) == b"a" * 5000
                assert await said_at(await up.reach(other)) == b"b"
            counted = up.statistics()
            assert (counted.connections, counted.bytes_down) == (2, 5001)
            assert counted.bytes_up == counted.queued_down == 0
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*first)

    run(go())
