"""Tests of the interface below ATP, held by each kind of carrier that has no connection of ours."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from emulation.memory.carrier import CarrierModel, memory_carriers
from tests.watched import run, until
from transport.nai.carriers.interface import MTU, Carrier, CarrierReader
from transport.nai.carriers.segments import Filler, TcpSegments

Pair = tuple[Carrier, Carrier]


class Reader(CarrierReader):
    """Keeps what its carrier tells."""

    def __init__(self) -> None:
        self.come: list[bytes] = []
        self.rooms = 0
        self.ends: list[Exception | None] = []

    def segment_received(self, payload: bytes, *, now: float) -> None:
        assert not self.ends
        self.come.append(payload)

    def room_made(self) -> None:
        self.rooms += 1

    def carrier_closed(self, error: Exception | None) -> None:
        self.ends.append(error)


def in_memory() -> Pair:
    return memory_carriers(CarrierModel(rate=2e6))


def over_tcp(padding: Filler = Filler.NONE) -> Pair:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    for one in (near, far):
        one.setblocking(False)
    return TcpSegments(near, padding=padding), TcpSegments(far, padding=padding)


def padded() -> Pair:
    return over_tcp(Filler.PAPER)


Scenario = Callable[[Carrier, Carrier, Reader, Reader], Awaitable[None]]


def held(make: Callable[[], Pair], scenario: Scenario) -> None:
    async def go() -> None:
        near, far = make()
        readers = Reader(), Reader()
        near.start(readers[0])
        far.start(readers[1])
        try:
            await scenario(near, far, *readers)
        finally:
            near.close()
            far.close()
            await until(lambda: all(len(one.ends) == 1 for one in readers))

    run(go())


@pytest.mark.parametrize("make", [in_memory, over_tcp, padded])
def test_each_payload_comes_whole_and_once(make: Callable[[], Pair]) -> None:
    async def scenario(near: Carrier, far: Carrier, at_near: Reader, at_far: Reader) -> None:
        loop = asyncio.get_running_loop()
        sent = [bytes([number]) * size for number, size in enumerate((1, 2, 700, near.segment))]
        for payload in sent:
            await until(lambda: near.room(loop.time()) >= near.segment)
            near.send(payload, loop.time())
        far.send(b"back", loop.time())
        await until(lambda: len(at_far.come) == 4 and at_near.come)
        assert sorted(at_far.come) == sorted(sent)
        assert at_near.come == [b"back"]

    held(make, scenario)


@pytest.mark.parametrize("make", [in_memory, over_tcp, padded])
def test_room_backlog_and_capacity_agree_and_who_waits_hears_of_room(
    make: Callable[[], Pair],
) -> None:
    async def scenario(near: Carrier, far: Carrier, at_near: Reader, at_far: Reader) -> None:
        loop = asyncio.get_running_loop()
        assert near.backlog(loop.time()) == 0
        assert near.room(loop.time()) >= near.segment
        assert 0 < near.takes(1) <= near.takes(near.segment) <= MTU
        far.reading(False)
        sent = 0
        while near.room(loop.time()) >= near.segment:
            near.send(bytes(near.segment), loop.time())
            sent += 1
            assert near.backlog(loop.time()) <= near.capacity
        assert sent > 1
        far.reading(True)
        await until(lambda: at_near.rooms)
        assert near.room(loop.time()) >= near.segment
        await until(lambda: len(at_far.come) == sent)
        await until(lambda: near.backlog(loop.time()) == 0)
        assert near.latency >= 0.0

    held(make, scenario)


@pytest.mark.parametrize("make", [in_memory, over_tcp])
def test_an_end_is_told_once_to_both_and_takes_nothing_more(make: Callable[[], Pair]) -> None:
    async def scenario(near: Carrier, far: Carrier, at_near: Reader, at_far: Reader) -> None:
        near.close()
        near.close()
        await until(lambda: at_far.ends and at_near.ends)
        assert at_near.ends == at_far.ends == [None]
        assert near.room(asyncio.get_running_loop().time()) == 0

    held(make, scenario)
