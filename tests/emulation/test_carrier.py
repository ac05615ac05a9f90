"""Tests of carriers in memory: segments after the line, room that comes back, and an end."""

from __future__ import annotations

import asyncio

import pytest

from emulation.lines.schedule import Steps
from emulation.memory.carrier import CarrierModel, memory_carriers
from emulation.memory.virtual_time import run


class Reader:
    """Keeps what its carrier tells, and when."""

    def __init__(self) -> None:
        self.come: list[tuple[float, bytes]] = []
        self.rooms: list[float] = []
        self.ends: list[Exception | None] = []

    def segment_received(self, payload: bytes, *, now: float) -> None:
        self.come.append((now, payload))

    def room_made(self) -> None:
        self.rooms.append(asyncio.get_running_loop().time())

    def carrier_closed(self, error: Exception | None) -> None:
        self.ends.append(error)

    @property
    def payloads(self) -> list[bytes]:
        return [payload for _, payload in self.come]


def test_segments_come_whole_and_in_order_after_the_line_and_the_delay() -> None:
    async def main() -> Reader:
        near, far = memory_carriers(CarrierModel(rate=1000.0, delay=0.5, header=20))
        reader = Reader()
        far.start(reader)
        near.send(b"a" * 80, 0.0)
        near.send(b"b" * 30, 0.0)
        await asyncio.sleep(2.0)
        return reader

    assert run(main()).come == [
        (pytest.approx(0.6), b"a" * 80),
        (pytest.approx(0.65), b"b" * 30),
    ]


def test_the_way_back_has_a_rate_of_its_own_and_a_schedule_goes_before_the_rate() -> None:
    async def main() -> tuple[Reader, Reader]:
        late = Steps([(0.0, 0.0), (3.0, 1000.0)], duration=1e6)
        near, far = memory_carriers(CarrierModel(rate=1e9, schedule=late, rate_back=100.0))
        readers = Reader(), Reader()
        near.start(readers[0])
        far.start(readers[1])
        near.send(bytes(100), 0.0)
        far.send(bytes(100), 0.0)
        await asyncio.sleep(9.0)
        return readers

    at_near, at_far = run(main())
    assert [at for at, _ in at_near.come] == [pytest.approx(1.0)]
    assert [at for at, _ in at_far.come] == [pytest.approx(3.1)]


def test_who_finds_no_room_is_told_when_there_is_some() -> None:
    async def main() -> tuple[list[int], Reader]:
        model = CarrierModel(rate=1000.0, queue=3000, segment=1000, header=20)
        near, _ = memory_carriers(model)
        reader, rooms = Reader(), []
        near.start(reader)
        for _ in range(3):
            rooms.append(near.room(0.0))
            near.send(bytes(min(1000, rooms[-1])), 0.0)
        assert near.takes(1000) == 1020
        assert near.backlog(0.0) == 2 * 1020 + rooms[-1] + 20
        rooms.append(near.room(0.0))
        await asyncio.sleep(5.0)
        rooms.append(near.room(5.0))
        return rooms, reader

    rooms, reader = run(main())
    assert rooms == [2980, 1960, 940, 0, 2980]
    assert reader.rooms == [pytest.approx(1.02)]  # the first segment has left


def test_what_comes_early_or_while_nobody_wants_it_waits() -> None:
    async def main() -> list[list[bytes]]:
        near, far = memory_carriers(CarrierModel())
        reader, seen = Reader(), []
        near.send(b"before", 0.0)
        await asyncio.sleep(1.0)
        far.start(reader)
        seen.append(list(reader.payloads))
        far.reading(False)
        near.send(b"kept", 1.0)
        near.inject(b"kept too")
        await asyncio.sleep(1.0)
        seen.append(list(reader.payloads))
        far.reading(True)
        return [*seen, reader.payloads]

    early, paused, after = run(main())
    assert early == paused == [b"before"]
    assert after == [b"before", b"kept", b"kept too"]


def test_an_end_is_told_to_both_once_and_nothing_comes_after_it() -> None:
    async def main() -> tuple[Reader, Reader, list[int]]:
        near, far = memory_carriers(CarrierModel(delay=0.1))
        readers = Reader(), Reader()
        near.start(readers[0])
        far.start(readers[1])
        near.send(b"on its way", 0.0)
        near.close()
        near.close()
        await asyncio.sleep(1.0)
        far.close()
        assert near.closed and far.closed
        return *readers, [near.room(1.0), far.room(1.0)]

    at_near, at_far, rooms = run(main())
    assert at_near.ends == at_far.ends == [None]
    assert at_far.come == []
    assert rooms == [0, 0]


def test_a_carrier_without_order_brings_each_so_many_th_a_delay_later() -> None:
    async def main() -> list[bytes]:
        near, far = memory_carriers(CarrierModel(rate=1e6, delay=0.1, reorder=2))
        reader = Reader()
        far.start(reader)
        for payload in (b"1", b"2", b"3", b"4", b"5"):
            near.send(payload, 0.0)
        await asyncio.sleep(1.0)
        return reader.payloads

    assert run(main()) == [b"1", b"3", b"5", b"2", b"4"]


def test_a_line_that_stalls_goes_on_at_the_rate_it_is_given() -> None:
    async def main() -> Reader:
        near, far = memory_carriers(CarrierModel(rate=1000.0))
        reader = Reader()
        far.start(reader)
        near.send(bytes(100), 0.0)
        near.set_rate(0.0)
        await asyncio.sleep(10.0)
        assert reader.come == []
        near.set_rate(100.0)
        await asyncio.sleep(10.0)
        assert near.line.statistics().carried == 100
        return reader

    assert [at for at, _ in run(main()).come] == [pytest.approx(11.0)]
