"""A peer of a connection over several paths that breaks the rules, and links that close within."""

from __future__ import annotations

import asyncio
import random

import pytest

from emulation.memory.memory_paths import MemoryPaths
from tests.transport.test_multipath import QUICK, SLOW, noise, run
from transport.multipath.words import (
    DroppedWord,
    KeptWord,
    LagWord,
    SegmentWord,
    StreamWord,
    VoidWord,
)
from transport.multipath.words import encode as encode_word
from transport.rcp.segments import Block, Limit, Req, encode
from wire.errors import PeerError


@pytest.mark.long
def test_whatever_a_device_asks_for_the_remote_holds_no_more_than_its_buffer() -> None:
    """A hostile device: it asks for all there ever will be, and reads nothing."""

    async def scenario() -> None:
        world = MemoryPaths([QUICK])
        _, far = world.links()
        far.write(bytes(20_000_000))
        await asyncio.sleep(0.5)
        wire, end = world.wires[0], 1 << 40
        for clock in range(1, 40):
            pull = Req(1_000 * clock, 0, end, True, (Block(1_000 * clock, 0, end),))
            wire.near.send_segment(encode(pull))
            wire.near.send(encode_word(SegmentWord(encode(pull))))
            await asyncio.sleep(0.01)
        await asyncio.sleep(5)
        assert len(far.to_send) > 16_000_000
        world.close()

    run(scenario)


@pytest.mark.parametrize(
    "said",
    [
        b"\xff\x01x",
        encode_word(SegmentWord(b"\x07")),
        encode_word(SegmentWord(encode(Limit(0, 5)))),
        encode_word(StreamWord(1 << 40, b"x")),
        encode_word(KeptWord(())),
        encode_word(DroppedWord(0, ())),
        encode_word(VoidWord(0, 1))[:-1] + b"\xff",
        encode_word(LagWord(0, 0, 0, 0)) + b"\x04\x05\0\0\0\0\0",
    ],
)
def test_a_device_that_breaks_the_rules_loses_its_connection(said: bytes) -> None:
    async def scenario() -> None:
        world = MemoryPaths([QUICK, SLOW])
        near, far = world.links()
        await asyncio.sleep(0.5)
        world.wires[0].near.send(said)
        await far.over.wait()
        assert isinstance(far.error, PeerError)
        world.close()
        assert near.error is None

    run(scenario)


@pytest.mark.parametrize(
    "said",
    [
        b"\xff\x01x",
        encode_word(StreamWord(0, b"pushed")),
        encode_word(SegmentWord(encode(Req(0, 0, 5)))),
        encode_word(SegmentWord(encode(Limit(1 << 30, 5)))),
    ],
)
def test_a_remote_that_breaks_the_rules_loses_its_connection(said: bytes) -> None:
    async def scenario() -> None:
        world = MemoryPaths([QUICK, SLOW])
        near, _ = world.links()
        await asyncio.sleep(0.5)
        world.wires[0].far.send(said)
        await near.over.wait()
        assert isinstance(near.error, PeerError)
        world.close()

    run(scenario)


@pytest.mark.parametrize("seed", range(5))
def test_noise_in_segments_ends_the_connection_or_changes_nothing(seed: int) -> None:
    """Who can seal datagrams is the peer: whatever it says, there is an error or nothing."""

    async def scenario() -> None:
        chance = random.Random(seed)
        world = MemoryPaths([QUICK])
        near, far = world.links()
        await asyncio.sleep(0.5)
        for _ in range(200):
            if far.error is None:
                world.wires[0].near.send_segment(chance.randbytes(chance.randrange(1, 40)))
            if near.error is None:
                world.wires[0].far.send_segment(chance.randbytes(chance.randrange(1, 40)))
            await asyncio.sleep(0.01)
        assert isinstance(near.error or far.error, PeerError)
        world.close()

    run(scenario)


@pytest.mark.parametrize("which", ["device", "remote"])
def test_a_link_may_close_its_connection_when_it_hears_something(which: str) -> None:
    """As it does at a farewell, or when the peer breaks the protocol of frames."""

    async def scenario() -> None:
        loop, raised = asyncio.get_running_loop(), list[object]()
        loop.set_exception_handler(lambda _, context: raised.append(context))
        world = MemoryPaths([QUICK, SLOW])
        near, far = world.links()
        await asyncio.sleep(1)
        hearer, other = (near, far) if which == "device" else (far, near)
        hearer.heard = lambda _: hearer.connection.close()  # type: ignore[method-assign]
        other.write(noise(100_000))
        await other.over.wait()
        await asyncio.sleep(5)
        assert raised == []
        world.close()

    run(scenario)
