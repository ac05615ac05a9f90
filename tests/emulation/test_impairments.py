"""Tests of a bad link behind a relay: late, in order, and reset by the chances of a seed."""

import asyncio
import random

from hypothesis import given
from hypothesis import strategies as st

from emulation.lines.impairments import SEGMENT, Impairments, Lateness, Outages
from emulation.relay.relay import Relay


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 2000)), max_size=60), st.integers(0, 99))
def test_nothing_is_early_and_order_holds(steps: list[tuple[float, int]], seed: int) -> None:
    late = Lateness(Impairments(jitter=1.0, loss=0.3), round_trip=1.0, chance=random.Random(seed))
    at, before = 0.0, 0.0
    for pause, size in steps:
        at += pause
        due = late.due(at, size)
        assert due >= max(at, before)
        before = due


def test_a_lost_segment_waits_a_round_trip_at_least_and_holds_up_what_is_behind_it() -> None:
    late = Lateness(Impairments(loss=0.5), round_trip=1.0, chance=random.Random(1))
    delays = [late.due(100.0 * n, SEGMENT) - 100.0 * n for n in range(400)]
    lost = [delay for delay in delays if delay]
    assert 140 < len(lost) < 260
    assert min(lost) >= 1.0
    assert max(lost) > 4.0  # lost again and again: twice as long each time
    first = late.due(1e6, SEGMENT)
    while first == 1e6:
        first = late.due(1e6, SEGMENT)
    assert late.due(1e6 + 0.1, SEGMENT) >= first


def test_outages_come_at_their_times_and_reset_by_the_seed() -> None:
    settings = Impairments(outage_every=10.0, outage=2.0)
    outages = Outages(settings, now=100.0, chance=random.Random(1))
    assert (outages.start, outages.end) == (105.0, 107.0)
    resets = [outages.over() for _ in range(100)]
    assert (outages.start, outages.end) == (1105.0, 1107.0)
    assert 30 < sum(resets) < 70


def test_a_relay_halts_and_goes_on_or_resets() -> None:
    async def run() -> tuple[set[bool], int, int]:
        loop = asyncio.get_running_loop()
        ended: set[bool] = set()

        async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(bytes(120_000))
            writer.close()

        async with await asyncio.start_server(send, "127.0.0.1", 0) as server:
            bad = Impairments(outage_every=0.6, outage=0.2, seed=1)
            async with Relay(
                target=server.sockets[0].getsockname(), rate_up=1e6, rate_down=200_000,
                impairments=bad,
            ) as relay:  # fmt: skip
                until = loop.time() + 10.0
                while len(ended) < 2 and loop.time() < until:
                    reader, writer = await asyncio.open_connection(*relay.address)
                    try:
                        ended.add(len(await reader.read(-1)) == 120_000)
                    except ConnectionResetError:
                        ended.add(False)
                    writer.close()
                statistics = relay.statistics()
        return ended, statistics.outages, statistics.resets

    ended, outages, resets = asyncio.run(run())
    assert ended == {True, False}
    assert outages >= resets > 0
