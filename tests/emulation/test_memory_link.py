"""Tests of links in memory: packets on a line, bytes in order, and ends that hear of an end."""

from __future__ import annotations

import asyncio

import pytest

from emulation.lines.profiles import profile
from emulation.memory.memory import LinkModel, MemoryLink, Path, memory_links
from emulation.memory.virtual_time import run
from tests.transport.ends import Arrivals, Queue
from transport.link.interface import LinkError, PeerFault
from wire.frames import Data

BYTES = bytes(range(200)) * 10
THIN = LinkModel(rate_up=1000.0, rate_down=1000.0, delay=0.1, queue=500, segment=100)


class Sink:
    """What a path brings, and when it ended."""

    def __init__(self, path: Path) -> None:
        self.got = bytearray()
        self.last = self.ended_at = -1.0
        self.rooms = 0
        self._loop = asyncio.get_running_loop()
        path.deliver, path.ended, path.writable = self.arrived, self.ended, self.room

    def arrived(self, data: bytes) -> None:
        assert self.ended_at < 0
        self.got += data
        self.last = self._loop.time()

    def ended(self) -> None:
        self.ended_at = self._loop.time()

    def room(self) -> None:
        self.rooms += 1


def test_a_lossless_line_makes_its_sender_wait_and_says_when_it_need_not() -> None:
    async def main() -> None:
        path = Path(THIN, down=True, seed=1)
        sink = Sink(path)
        path.send(BYTES)
        assert path.full
        await asyncio.sleep(60.0)
        assert not path.full
        assert sink.got == BYTES
        assert sink.last == pytest.approx(2.1)  # two seconds of the rate, and the delay
        assert sink.rooms == 1
        assert path.statistics().dropped == 0
        assert path.statistics().peak_backlog <= 500

    run(main())


def test_a_droptail_line_drops_and_what_was_dropped_comes_again_in_its_place() -> None:
    async def main() -> None:
        model = LinkModel(1000.0, 1000.0, delay=0.1, queue=500, segment=100, droptail=True)
        path = Path(model, down=False, seed=1)
        sink = Sink(path)
        path.send(BYTES)
        path.end()
        assert not path.full
        await asyncio.sleep(60.0)
        assert sink.got == BYTES
        assert path.statistics().dropped_packets >= 15
        assert path.statistics().carried == len(BYTES)
        assert sink.ended_at >= sink.last > 2.1

    run(main())


def test_packets_have_headers_and_the_first_of_a_chunk_that_of_its_record() -> None:
    async def main() -> int:
        model = LinkModel(1000.0, 1000.0, segment=100, header=50, record=20)
        path = Path(model, down=False, seed=1)
        sink = Sink(path)
        path.send(bytes(180))
        await asyncio.sleep(10.0)
        assert len(sink.got) == 180
        return path.statistics().carried

    assert run(main()) == (20 + 80 + 50) + (100 + 50)


def test_another_rate_and_another_route_hold_from_then_on() -> None:
    async def main() -> list[float]:
        path = Path(THIN, down=False, seed=1)
        sink, came = Sink(path), []
        for _ in range(2):
            began = asyncio.get_running_loop().time()
            path.send(bytes(100))
            await asyncio.sleep(10.0)
            came.append(sink.last - began)
            path.set_rate(100.0)
            path.set_delay(3.0)
        return came

    assert run(main()) == [pytest.approx(0.2), pytest.approx(4.0)]


def test_a_model_of_a_profile_is_droptail_and_follows_its_schedule() -> None:
    model = LinkModel.of(profile("polar-storm"), seed=7)
    said = profile("polar-storm")
    assert (model.rate_up, model.rate_down) == (said.rate_up, said.rate_down)
    assert (model.delay, model.queue, model.seed) == (said.delay, said.queue, 7)
    assert model.droptail

    async def main() -> tuple[bytes, int]:
        path = Path(model, down=True, seed=7)
        sink = Sink(path)
        path.send(BYTES)
        await asyncio.sleep(600.0)
        path.rewind()
        return bytes(sink.got), path.statistics().carried

    got, carried = run(main())
    assert got == BYTES
    assert carried >= len(BYTES)


class Pair:
    """Two links that have started, and what comes at each."""

    def __init__(self) -> None:
        self.near, self.far = memory_links(LinkModel(48_000.0, 48_000.0, delay=0.05))
        self.at_near, self.at_far, self.from_far = Arrivals(), Arrivals(), Queue()
        self.near.start(Queue(), self.at_near)
        self.far.start(self.from_far, self.at_far)


def test_frames_cross_no_sooner_than_the_line_brings_them() -> None:
    async def main() -> None:
        pair = Pair()
        sent = [Data(1, bytes([number]) * 200, number == 9) for number in range(10)]
        pair.from_far.frames += sent
        pair.far.wake()
        await pair.at_near.count(10)
        assert pair.at_near.frames == sent
        assert asyncio.get_running_loop().time() >= 0.05 + 2000 / 48_000
        pair.far.close()
        assert await pair.at_near.end() is None
        assert await pair.at_far.end() is None

    run(main())


@pytest.mark.parametrize("hostile", [b"\x07\x00\x00\x01", b"\x0f" * 9])
def test_a_peer_that_breaks_the_protocol_is_told_from_one_that_ends(hostile: bytes) -> None:
    async def main() -> tuple[LinkError | None, LinkError | None]:
        pair = Pair()
        pair.far.inject(hostile)
        return await pair.at_near.end(), await pair.at_far.end()

    at_near, at_far = run(main())
    assert isinstance(at_near, PeerFault)
    assert at_far is None


def test_bytes_that_end_within_a_frame_are_an_error() -> None:
    async def main() -> LinkError | None:
        pair = Pair()
        await asyncio.sleep(1.0)
        pair.far.inject(b"\x40\x00\x05ab")  # of a message of five bytes
        pair.far.outgoing.end()
        return await pair.at_near.end()

    error = run(main())
    assert error is not None
    assert not isinstance(error, PeerFault)


def test_what_came_before_the_start_is_not_lost_and_there_is_no_core_until_then() -> None:
    async def main() -> MemoryLink:
        near, far = memory_links(LinkModel(48_000.0, 48_000.0))
        with pytest.raises(RuntimeError, match="not been started"):
            near.statistics()
        queue, arrivals = Queue(), Arrivals()
        queue.frames.append(Data(1, b"early", True))
        far.start(queue, Arrivals())
        await asyncio.sleep(1.0)
        near.start(Queue(), arrivals)
        assert arrivals.frames == [Data(1, b"early", True)]
        near.close()
        await asyncio.sleep(1.0)
        return near

    assert run(main()).endpoint.ended is False
