"""Links over several paths whose frames go in any order, in virtual time."""

from __future__ import annotations

import asyncio
import random
from functools import partial

import pytest

from emulation.memory.memory_paths import MemoryPaths
from tests.transport.apart_ends import ApartSink, ApartSource
from tests.transport.spp_ends import link
from tests.transport.test_last_words import connected
from tests.transport.test_multipath import QUICK, SLOW, run
from transport.link.connection import Connection
from transport.link.interface import LinkError
from transport.multipath.words import (
    DroppedWord,
    GivenWord,
    KeptWord,
    LagWord,
    NumberWord,
    SegmentWord,
    StreamWord,
    VoidWord,
    Word,
    encode,
)
from transport.rcp.pending import ByteRange
from transport.rcp.segments import Block, DataSegment, Req
from transport.rcp.segments import encode as encode_segment
from transport.rcp.settings import RcpSettings
from transport.stream.stream_link import StreamLink
from transport.tcp.connection import TcpConnection
from wire.frames import Control, Data

FAR = link(name="far", rate_down=250_000, rate_up=60_000, delay=0.3, queue=90_000)


class ApartWorld:
    """Two links over paths: the remote's sends, the device's checks."""

    def __init__(self, *, seed: int = 1, alone: bool = False) -> None:
        """`alone`: over one path at first, whose order the source keeps."""
        self.paths = MemoryPaths([QUICK] if alone else [QUICK, FAR], seed=seed)
        self.ordered = OrderedFirst(seed=seed)
        self.source = self.ordered if alone else ApartSource(seed=seed)
        self.sink = ApartSink()
        self.said: list[LinkError | None] = []
        self.near = StreamLink(self.paths.device, on_lost=self.said.append)
        self.far = StreamLink(self.paths.remote, on_lost=lambda error: None)
        self.near.start(ApartSource(seed=0), self.sink)
        self.far.start(self.source, ApartSink())

    def open(self, component: int, body: bytes) -> None:
        self.source.open(component, body)
        self.far.wake()

    async def settled(self, within: float) -> None:
        """All is there, as it was sent."""
        async with asyncio.timeout(within):
            await self.sink.until(
                lambda: (
                    self.sink.done == set(self.source.bodies)
                    and len(self.sink.messages) >= len(self.source.messages)
                )
            )
        assert self.sink.bodies == self.source.bodies
        assert self.sink.messages == self.source.messages

    def change_over(self, *, seed: int, single: bool = False) -> None:
        """The connection breaks, and another one carries the link on, `single`: over one path."""
        self.paths.close()
        self.near.lose(LinkError("it broke"))
        self.paths = MemoryPaths([QUICK] if single else [QUICK, FAR], seed=seed)
        self.resume(self.paths.device, self.paths.remote)

    def resume(self, device: Connection, remote: Connection) -> None:
        """Has the link go on over these two ends."""
        received, sent = self.near.release(), self.far.release()
        self.far.resume(remote, received)
        self.near.resume(device, sent)


def test_all_comes_and_both_paths_bring_it() -> None:
    async def play() -> None:
        world, chance = ApartWorld(), random.Random(1)
        before = [0, 0]
        for load in range(3):
            before = [path.carried for path in world.paths.device.statistics()]
            await asyncio.sleep(2)
            for component in range(8 * load + 1, 8 * load + 9):
                world.open(component, chance.randbytes(150_000))
            await world.settled(within=(3.5, 2.6, 2.2)[load])  # 1.6 s at the rates, and the way
        carried = [path.carried for path in world.paths.device.statistics()]
        far = carried[1] - before[1]
        assert far > 0.8 * (1.6 - 0.3) * FAR.rate_down, f"{far} bytes: as long as they are in time"
        assert sum(carried) < 1.04 * 3_600_000
        await asyncio.sleep(4)
        assert world.far.statistics().under_way == 0, "nothing is left that has gaps before it"
        world.near.close()
        await asyncio.sleep(2)
        assert world.sink.closed == [None]

    run(play)


def test_what_turns_out_to_be_urgent_overtakes_what_a_long_path_brings() -> None:
    """A word comes as soon as the quick path can bring it, whatever else is under way."""

    async def play() -> None:
        world, loop = ApartWorld(), asyncio.get_running_loop()
        await asyncio.sleep(2)
        world.open(1, bytes(2_000_000))
        for _ in range(5):
            await asyncio.sleep(0.4)
            world.source.say(b"urgent")
            world.far.wake()
            began = loop.time()
            await world.sink.until(lambda: world.sink.messages == world.source.messages)
            assert loop.time() - began < 0.08
        world.paths.close()

    run(play)


def test_over_one_path_what_begins_after_a_rest_waits_for_no_round_trip() -> None:
    """Its pulls stand there, too."""

    async def play() -> None:
        paths, loop = MemoryPaths([FAR]), asyncio.get_running_loop()
        near, far = StreamLink(paths.device), StreamLink(paths.remote)
        source, sink = ApartSource(), ApartSink()
        near.start(ApartSource(), sink)
        far.start(source, ApartSink())
        for component in range(1, 4):
            await asyncio.sleep(4)
            source.open(component, bytes([component]) * 10_000)
            far.wake()
            began = loop.time()
            await sink.until(lambda: sink.done == set(source.bodies))
            assert sink.bodies == source.bodies
            assert loop.time() - began < FAR.delay + 12_000 / FAR.rate_down
        paths.close()

    run(play)


class OrderedFirst(ApartSource):
    """One that can send in order as well, as long as there is one."""

    def __init__(self, *, seed: int = 1) -> None:
        super().__init__(seed=seed)
        self.keeps = True
        """The order: the device does not say yet that it can do without."""
        self.in_order: dict[int, int] = {}
        """Bytes of each that have gone so."""

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        if self._said:
            return self._said.pop(0)
        data = [] if urgent else self._take(0, self.quantum)
        for one in data:
            assert isinstance(one, Data)
            assert one.offset == self.in_order.get(one.component, 0)
            self.in_order[one.component] = one.offset + len(one.payload)
            return Data(one.component, one.payload, one.last)
        return None

    def part(self) -> list[tuple[int, int]] | None:
        if self.keeps:
            return None
        return [(one, self.in_order[one]) for one in self._waiting if one in self.in_order]


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("seed", [*range(12), 39, 59])
def test_another_path_may_join_in_the_middle(seed: int, keeps: bool) -> None:
    """What has gone in order in part, where the first path `keeps` one, goes on without, from where
    it was."""

    async def play() -> None:
        chance = random.Random(seed)
        world = ApartWorld(seed=seed, alone=True)
        world.ordered.keeps = keeps
        joins = chance.uniform(0.1, 2.0)
        for component in range(1, 14):
            world.open(component, chance.randbytes(chance.choice([10, 4_000, 90_000])))
            if component == 4:
                world.open(100, chance.randbytes(500_000))
            if joins < 0.15 * component and len(world.paths.wires) == 1:
                world.paths.open(FAR if chance.random() < 0.7 else SLOW)
                world.ordered.keeps = False
            await asyncio.sleep(0.15)
        await world.settled(within=30)
        carried = [path.carried for path in world.paths.device.statistics()]
        assert bool(world.ordered.in_order) == keeps
        assert len(carried) == 2
        world.open(200, chance.randbytes(3_000_000))
        await world.settled(within=30)
        after = [path.carried for path in world.paths.device.statistics()]
        assert after[1] - carried[1] > 450_000, "the newcomer carries its share"
        assert not world.sink.closed
        world.paths.close()

    run(play)


@pytest.mark.parametrize("seed", range(12))
def test_cuts_returns_losses_and_newcomers_change_no_byte(seed: int) -> None:
    async def play() -> None:
        chance = random.Random(seed)
        world = ApartWorld(seed=seed)
        cut: set[int] = set()
        await asyncio.sleep(chance.uniform(0.0, 1.5))
        for component in range(1, 20):
            world.open(component, chance.randbytes(chance.choice([10, 4_000, 90_000])))
            await asyncio.sleep(chance.uniform(0, 0.4))
            place = chance.randrange(2)
            match chance.randrange(6):
                case 0 if not cut:
                    world.paths.cut(place)
                    cut.add(place)
                case 1 if cut:
                    world.paths.mend(cut.pop())
                case 2 if len(world.paths.wires) < 4:
                    world.paths.open(SLOW)
                case 3:
                    world.source.say(chance.randbytes(chance.randint(1, 3_000)))
        for place in cut:
            world.paths.mend(place)
        await world.settled(within=60)
        assert not world.sink.closed
        world.paths.close()

    run(play)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_another_connection_goes_on_where_the_one_before_broke(seed: int, single: bool) -> None:
    async def play() -> None:
        chance = random.Random(seed)
        world = ApartWorld(seed=seed)
        await asyncio.sleep(1)
        for turn in range(4):
            for component in range(10 * turn + 1, 10 * turn + 6):
                world.open(component, chance.randbytes(chance.choice([10, 4_000, 60_000])))
            world.source.say(b"turn %d" % turn)
            await asyncio.sleep(chance.uniform(0.35, 0.9))
            world.change_over(seed=seed + turn, single=single and turn % 2 == 0)
        await world.settled(within=30)
        world.paths.close()

    run(play)


def test_tcp_goes_on_where_paths_broke_and_paths_where_that_did() -> None:
    """In real time: sockets have no other."""

    async def play() -> None:
        world, chance = ApartWorld(), random.Random(2)
        for turn in range(2):
            for component in range(10 * turn + 1, 10 * turn + 6):
                world.open(component, chance.randbytes(40_000))
            world.source.say(b"turn %d" % turn)
            await asyncio.sleep(1.0)
            world.paths.close()
            world.near.lose(LinkError("it broke"))
            near, far = connected()
            world.resume(TcpConnection(near), TcpConnection(far))
            if turn:
                await world.settled(within=10)
            world.open(10 * turn + 7, chance.randbytes(200_000))
            await asyncio.sleep(0.01)
            if not turn:
                world.near.lose(LinkError("it broke"))
                world.paths = MemoryPaths([QUICK, FAR], seed=3)
                world.resume(world.paths.device, world.paths.remote)
        await world.settled(within=10)
        world.near.close()

    asyncio.run(play())


@pytest.mark.parametrize(
    "word",
    [
        StreamWord(0, b"pushed"),
        LagWord(0, 0, 0, 0),
        KeptWord((ByteRange(0, 1 << 23),)),
        GivenWord((ByteRange(0, 1 << 23),)),
        DroppedWord(1, (ByteRange(0, 1 << 23),)),
        NumberWord(0),
        VoidWord(0, 1),
    ],
)
def test_a_remote_that_breaks_the_rules_loses_its_link(word: Word) -> None:
    async def play() -> None:
        world = ApartWorld()
        await asyncio.sleep(1)
        world.paths.wires[0].far.send(encode(word))
        await asyncio.sleep(1)
        assert len(world.sink.closed) == 1
        assert world.sink.closed[0] is not None
        world.paths.close()

    run(play)


@pytest.mark.parametrize("seed", range(6))
def test_noise_ends_the_link_or_changes_nothing(seed: int) -> None:
    """Who can seal datagrams is the peer: whatever it says, there is an error or nothing."""

    async def play() -> None:
        chance = random.Random(seed)
        world = ApartWorld(seed=seed)
        world.open(1, chance.randbytes(100_000))
        await asyncio.sleep(0.5)
        size = RcpSettings().size
        far = partial(chance.randrange, 1 << 40)
        for turn in range(150):
            wire = chance.choice(world.paths.wires)
            begin = size * chance.randrange(1_000)
            ranges = (ByteRange(begin, begin + chance.randrange(1, 9 * size)),)
            word = chance.choice(
                [
                    LagWord(far(), far(), far(), turn),
                    SegmentWord(chance.randbytes(20)),
                    NumberWord(far()),
                    VoidWord(chance.randrange(3), chance.randrange(2 * turn + 1)),
                ]
            )
            if wire.near.open and chance.random() < 0.9:
                block = Block(1_000 + turn, *ranges[0])
                pull = Req(1_000 + turn, 0, 0, True, (block,))
                wire.near.send_segment(encode_segment(pull))
                wire.near.send(encode(word if chance.random() < 0.05 else LagWord(0, 0, 0, 0)))
            if wire.far.open:
                said = [KeptWord(ranges), GivenWord(ranges), DroppedWord(turn, ranges)]
                wire.far.send(encode(chance.choice(said)))
                data = (chance.randbytes(chance.randrange(1, 60)) + b"\1").ljust(size, b"\0")
                cell = DataSegment(chance.randrange(3), begin, data, cell=True)
                if chance.random() < 0.02:
                    wire.far.send_segment(encode_segment(cell))
            await asyncio.sleep(0.02)
        await asyncio.sleep(3)
        if world.sink.closed or world.said:
            assert isinstance(world.sink.closed[0], LinkError)
        else:
            assert world.sink.bodies == world.source.bodies
        world.paths.close()

    run(play)
