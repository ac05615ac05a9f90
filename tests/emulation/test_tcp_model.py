"""Tests of the model of TCP: it starts slowly, recovers, shares and restarts as TCP does."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.memory.carrier import CarrierModel
from emulation.memory.tcp_model import SharedPath
from emulation.memory.virtual_time import run
from emulation.tcp.reno import INITIAL_WINDOW, MSS, RenoReceiver, RenoSender


def transfers(
    model: CarrierModel, count: int, *, seconds: float, size: int | None = None
) -> tuple[list[int], SharedPath]:
    """Bytes that arrived of so many connections at once; without a size they never end."""

    async def main() -> tuple[list[int], SharedPath]:
        path = SharedPath(model)
        pairs = [path.connect(buffer=1 << 20) for _ in range(count)]
        received = [0] * count

        async def take(number: int) -> None:
            while data := await pairs[number][1].read(1 << 16):
                received[number] += len(data)

        async def send(number: int) -> None:
            left = size or 1 << 40
            while left:
                await pairs[number][0].write(bytes(min(left, 4096)))
                left -= min(left, 4096)

        tasks = [asyncio.create_task(do(n)) for n in range(count) for do in (take, send)]
        await asyncio.sleep(seconds)
        for near, _ in pairs:
            near.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return received, path

    return run(main())


def test_one_connection_fills_a_link_with_queue_enough() -> None:
    (received,), path = transfers(CarrierModel(rate=200_000.0, delay=0.02), 1, seconds=20.0)
    assert received > 0.97 * 200_000 * 20
    assert path.line.statistics().dropped == 0


def test_losses_are_made_good_and_the_link_is_used_behind_a_small_queue() -> None:
    model = CarrierModel(rate=200_000.0, delay=0.05, queue=12 * MSS)
    (received,), path = transfers(model, 1, seconds=30.0)
    assert path.line.statistics().dropped_packets > 3
    assert received > 0.75 * 200_000 * 30


def test_every_byte_comes_once_and_in_order_whatever_is_dropped() -> None:
    model = CarrierModel(rate=100_000.0, delay=0.03, queue=6 * MSS)
    received, path = transfers(model, 4, seconds=60.0, size=300_000)
    assert path.line.statistics().dropped_packets > 10
    assert received == [300_000] * 4


@pytest.mark.long
def test_connections_share_roughly_and_the_same_each_time() -> None:
    model = CarrierModel(rate=256_000.0, delay=0.02, queue=30 * MSS)
    received, _ = transfers(model, 3, seconds=60.0)
    assert sum(received) > 0.9 * 256_000 * 60
    assert min(received) > 0.15 * sum(received)
    assert len(set(received)) > 1  # but not evenly
    assert transfers(model, 3, seconds=60.0)[0] == received


def test_the_window_doubles_each_round_trip_until_a_loss_halves_it() -> None:
    sender = RenoSender(buffer=1 << 20)
    sender.write(1 << 20)
    windows = []
    for round_ in range(4):
        now = 0.1 * round_
        segments = sender.to_send(now)
        windows.append(len(segments))
        for one in segments:
            sender.acknowledged(one.offset + one.length, now, now + 0.1)
    assert windows == [3, 6, 12, 24]
    in_flight = sender.to_send(1.0)
    before = sender.in_flight
    for _ in range(3):
        sender.acknowledged(in_flight[0].offset, 1.0, 1.1)
    again = sender.to_send(1.1)
    assert again[0].offset == in_flight[0].offset
    sender.acknowledged(in_flight[-1].offset + in_flight[-1].length, 1.1, 1.2)
    assert sender.congestion_window <= before / 2 + MSS


def test_an_idle_connection_starts_slowly_again() -> None:
    sender = RenoSender(buffer=1 << 20)
    for now in (0.0, 0.1, 0.2):
        sender.write(100_000)
        while segments := sender.to_send(now):
            for one in segments:
                sender.acknowledged(one.offset + one.length, now, now + 0.01)
    assert sender.congestion_window > 10 * MSS
    sender.write(100_000)
    assert sum(one.length for one in sender.to_send(5.2)) <= INITIAL_WINDOW


def test_the_timer_backs_off_and_begins_at_the_first_missing_byte() -> None:
    sender = RenoSender()
    sender.write(5000)
    sender.to_send(0.0)
    waits, now = [], 0.0
    for _ in range(4):
        assert sender.timer is not None
        waits.append(sender.timer - now)
        now = sender.timer
        sender.time_out(now)
        assert [one.offset for one in sender.to_send(now)] == [0]
    assert waits == pytest.approx([1.0, 2.0, 4.0, 8.0])
    sender.acknowledged(5000, now, now + 0.1)
    assert sender.timer is None
    assert sender.room == 32_768


@given(st.integers(1, 40), st.integers(0, 1 << 30))
def test_the_receiver_acknowledges_what_has_no_hole(count: int, seed: int) -> None:
    pieces = [(offset, 10) for offset in range(0, 10 * count, 10)]
    chance = random.Random(seed)
    shuffled = pieces + chance.sample(pieces, k=count // 2) + [(5, 12)]
    chance.shuffle(shuffled)
    receiver, come, total = RenoReceiver(), set[int](), 0
    for offset, length in shuffled:
        total += receiver.receive(offset, length)
        come |= set(range(offset, offset + length))
        assert receiver.upto == total
        assert receiver.upto == next(n for n in range(10 * count + 20) if n not in come)
