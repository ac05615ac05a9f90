"""Components on their way out: order, credit, memory, and what a link sees of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hats.disciplines.registry import create
from hats.multiplexer import Multiplexer
from hats.tree.hierarchy import Hierarchy
from transport.sending.incoming import Incoming, StreamCut
from transport.sending.outbox import TreeOutbox
from transport.sending.outgoing import HIGH_WATER, MOST_SKIPPED, Budget, Outgoing
from wire import abilities
from wire import messages as m
from wire.credit import INITIAL
from wire.errors import PeerError
from wire.frames import Control, Data
from wire.session import Session, Side


class Bench:
    """An outbox over a tree with one round-robin node, past the hello."""

    def __init__(
        self, *, quantum: int = 100, memory: int = 1 << 20, accepts: Sequence[str] = ()
    ) -> None:
        self.hierarchy = Hierarchy(root=create("round_robin"))
        self.budget = Budget(memory)
        self.session = Session(Side.REMOTE, agent="test")
        self.wakes = 0
        multiplexer = Multiplexer(self.hierarchy, quantum=quantum)
        self.outbox = TreeOutbox(
            self.session, self.hierarchy, multiplexer, self.budget, wake=self.wake
        )
        assert self.session.next_control() is not None
        self.session.receive(m.encode(m.Hello([1], accepts=list(accepts))))

    def wake(self) -> None:
        self.wakes += 1

    def open(self, component: int) -> Outgoing:
        leaf = self.hierarchy.attach(self.hierarchy.root, str(component))
        return self.outbox.open(component, leaf)

    def frames(self, *, urgent: bool = False) -> list[Data | Control]:
        found = []
        while (frame := self.outbox.next_frame(now=0.0, urgent=urgent)) is not None:
            found.append(frame)
        return found

    def bytes_of(self, component: int, frames: list[Data | Control]) -> bytes:
        return b"".join(
            frame.payload
            for frame in frames
            if isinstance(frame, Data) and frame.component == component
        )


@given(st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=350)), max_size=25))
def test_every_byte_once_and_in_order(writes: list[tuple[int, bytes]]) -> None:
    bench = Bench()
    outgoing = [bench.open(component) for component in range(3)]
    frames = []
    for which, data in writes:
        outgoing[which].write(data)
        frames += bench.frames()[:1]
    for one in outgoing:
        one.finish()
    frames += bench.frames()
    for component in range(3):
        want = b"".join(data for which, data in writes if which == component)
        assert bench.bytes_of(component, frames) == want
    lasts = [frame.component for frame in frames if isinstance(frame, Data) and frame.last]
    assert sorted(lasts) == [0, 1, 2]
    assert bench.budget.used == 0


def test_round_robin_by_quantum() -> None:
    bench = Bench()
    for component in (1, 2):
        outgoing = bench.open(component)
        outgoing.write(bytes(250))
        outgoing.finish()
    order = ",".join(str(f.component) for f in bench.frames() if isinstance(f, Data))
    assert order == "1,2,1,2,1,2"


def test_quanta_may_be_marked_for_who_accepts_it_alone() -> None:
    for accepts in ([], [abilities.PACED]):
        bench = Bench(accepts=accepts)
        bench.open(2).write(b"x")
        frames = bench.frames()
        assert [one.paced for one in frames if isinstance(one, Data)] == [bool(accepts)]


def test_control_goes_first_and_alone_when_urgent() -> None:
    bench = Bench()
    bench.open(1).write(b"abc")
    bench.session.enqueue(m.Ping(1))
    assert [type(frame) for frame in bench.frames(urgent=True)] == [Control]
    bench.session.enqueue(m.Ping(2))
    assert [type(frame) for frame in bench.frames()] == [Control, Data]


def test_a_stalled_reader_stops_its_own_component_only() -> None:
    bench = Bench(quantum=16384, memory=8 << 20)
    stalled, other = bench.open(1), bench.open(2)
    stalled.write(bytes(INITIAL + 5))
    stalled.finish()
    other.write(bytes(50))
    frames = bench.frames()
    assert len(bench.bytes_of(1, frames)) == INITIAL
    assert len(bench.bytes_of(2, frames)) == 50
    assert not any(frame.last for frame in frames if isinstance(frame, Data))
    stalled.grant(5)
    last = bench.frames()[-1]
    assert isinstance(last, Data)
    assert (len(last.payload), last.last) == (5, True)
    with pytest.raises(PeerError):
        other.grant(-1)


def test_an_introduction_goes_right_before_the_first_byte() -> None:
    bench = Bench()
    text, picture = bench.open(1), bench.hierarchy.attach(bench.hierarchy.root, "2")
    introduced = bench.outbox.open(2, picture, preface=[(m.Head(2, 200, b""), [("a", "b")])])
    introduced.write(b"pixels")
    introduced.finish()
    text.write(b"words")
    text.finish()
    order = [f.component if isinstance(f, Data) else "head" for f in bench.frames()]
    assert order == ["head", 2, 1]


def test_an_introduction_is_not_urgent() -> None:
    bench = Bench()
    leaf = bench.hierarchy.attach(bench.hierarchy.root, "2")
    bench.outbox.open(2, leaf, preface=[(m.Head(2, 200, b""), [])]).finish()
    assert bench.frames(urgent=True) == []
    frames = bench.frames()
    assert isinstance(frames[0], Control)
    assert isinstance(m.decode(frames[0].payload), m.Head)
    assert frames[1:] == [Data(2, b"", last=True)]


def test_writing_wakes_the_link_and_dropping_frees_memory() -> None:
    bench = Bench()
    outgoing = bench.open(1)
    outgoing.write(b"abc")
    assert (bench.wakes, bench.budget.used) == (1, 3)
    assert bench.outbox.drop(1)
    assert not bench.outbox.drop(1)
    assert bench.budget.used == 0
    outgoing.write(b"late")
    outgoing.finish()
    assert bench.frames() == []
    assert bench.hierarchy.root.children == {}


def test_room_waits_for_the_link() -> None:
    async def scenario() -> list[str]:
        bench = Bench(quantum=16384)
        outgoing, said = bench.open(1), []
        outgoing.write(bytes(HIGH_WATER))

        async def writer() -> None:
            await outgoing.room()
            said.append("room")

        task = asyncio.create_task(writer())
        await asyncio.sleep(0)
        said.append("waiting")
        bench.outbox.next_frame(now=0.0, urgent=False)
        await task
        return said

    assert asyncio.run(scenario()) == ["waiting", "room"]


def test_budget_is_shared_by_all_components() -> None:
    async def scenario() -> list[str]:
        bench, said = Bench(quantum=16384, memory=1000), []
        bench.open(1).write(bytes(1000))
        poor = bench.open(2)

        async def writer() -> None:
            await poor.room()
            said.append("room")

        task = asyncio.create_task(writer())
        await asyncio.sleep(0)
        said.append("waiting")
        bench.outbox.drop(1)
        await task
        return said

    assert asyncio.run(scenario()) == ["waiting", "room"]


async def collect(incoming: Incoming) -> bytes:
    return b"".join([chunk async for chunk in incoming.read()])


def test_incoming_gives_credit_as_it_is_read() -> None:
    given: list[int] = []
    incoming = Incoming(given.append)
    for _ in range(2):
        incoming.arrive(bytes(INITIAL // 2), last=False)
    with pytest.raises(PeerError, match="credit"):
        incoming.arrive(b"x", last=True)
    incoming = Incoming(given.append)
    incoming.arrive(bytes(INITIAL // 2), last=False)
    incoming.arrive(b"end", last=True)
    assert len(asyncio.run(collect(incoming))) == INITIAL // 2 + 3
    assert given == [INITIAL // 2]


def test_incoming_after_its_end_and_cut() -> None:
    incoming = Incoming(lambda more: None)
    incoming.arrive(b"end", last=True)
    with pytest.raises(PeerError, match="after the last"):
        incoming.arrive(b"x", last=False)
    cut = Incoming(lambda more: None)
    cut.arrive(b"half", last=False)
    cut.cut()
    with pytest.raises(StreamCut):
        asyncio.run(collect(cut))


def test_what_is_parked_does_not_stop_others_and_has_a_bound_of_its_own() -> None:
    async def go() -> None:
        parked = 0
        budget = Budget(100, parked=lambda: parked)
        budget.add(100)
        waiting = asyncio.ensure_future(budget.room(50))
        await asyncio.sleep(0)
        assert not waiting.done()
        parked = 60
        budget.reconsider()
        await asyncio.wait_for(waiting, 1)
        budget.add(100)
        parked = 150  # more than may be
        late = asyncio.ensure_future(budget.room(50))
        await asyncio.sleep(0)
        budget.reconsider()
        await asyncio.sleep(0)
        assert not late.done()
        late.cancel()

    asyncio.run(go())


def test_a_component_holds_more_where_a_long_way_goes_without_what_it_holds() -> None:
    """What is left to quicker ways must not be all that there is."""

    async def go() -> None:
        bench = Bench(memory=64 << 20)
        outgoing = bench.open(1)
        outgoing.write(bytes(HIGH_WATER))
        waits = asyncio.ensure_future(outgoing.room())
        await asyncio.sleep(0)
        assert bench.outbox.next_far(now=0.0, most=1_000, behind=600_000) == []
        assert not waits.done()
        assert bench.frames()[:1]  # something goes the quick way, and it looks again
        await asyncio.wait_for(waits, 1)
        outgoing.write(bytes(HIGH_WATER + 600_000 - outgoing.held))
        waits = asyncio.ensure_future(outgoing.room())
        await asyncio.sleep(0)
        assert not waits.done()
        # Whatever a device says of its paths.
        assert bench.outbox.next_far(now=0.0, most=1_000, behind=1 << 60) == []
        assert bench.budget.high_water == HIGH_WATER + MOST_SKIPPED
        outgoing.close()
        await waits

    asyncio.run(go())
