"""The public interface: in virtual time over an emulated line, and over real TCP."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from admission.admission import Protects
from emulation.memory.carrier import CarrierModel, memory_carriers
from emulation.memory.virtual_time import run
from tests.transport.nai_world import World, in_world
from transport.nai.carriers.segments import Filler, TcpSegments
from transport.nai.endpoint import NaiConnection, connect, listen, paper
from transport.nai.errors import CarrierError, NaiError, NotSent, NotTaken, SegmentFault
from transport.nai.messages.handles import SubmittedMessage
from transport.nai.messages.message import Cancel, Continue, Defer, Expiry, MessageState, Verdict
from transport.nai.receiving.receiver import Received
from transport.tcp.sockets import dial

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "nai.md"


def test_messages_arrive_whole_and_in_order_even_if_segments_do_not() -> None:
    for reorder in (0, 3):

        async def scenario(world: World) -> None:
            for number in range(50):
                world.near.submit(bytes((number,)) * (200 * number))
            await world.near.send(b"")

        world = in_world(scenario, CarrierModel(delay=0.03, reorder=reorder))
        assert [len(one.data) for _, one in world.arrived] == [200 * n for n in range(50)] + [0]


def test_an_urgent_message_overtakes_bulk_within_a_few_segments() -> None:
    async def scenario(world: World) -> None:
        world.near.submit(bytes(2_000_000))
        for _ in range(10):
            await asyncio.sleep(0.7)
            await world.near.send(b"now", priority=1, timer=0.5)

    world = in_world(scenario, CarrierModel(rate=200_000.0))
    urgent = [at for at, one in world.arrived if one.data == b"now"]
    assert max(at - 0.7 * (n + 1) for n, at in enumerate(urgent)) < 0.15
    assert len(world.arrived) == 11


def test_callbacks_may_be_sync_or_async_may_raise_and_may_send() -> None:
    said: list[tuple[str, Expiry]] = []
    reports: list[str] = []

    async def scenario(world: World) -> None:
        near = world.near
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: reports.append(context["message"])
        )

        def sends(message: SubmittedMessage, expiry: Expiry) -> None:
            assert message.state is MessageState.SUSPENDED
            said.append(("sends", expiry))
            near.submit(b"from within")

        async def later(message: SubmittedMessage, expiry: Expiry) -> Verdict:
            await asyncio.sleep(1.0)
            said.append(("later", expiry))
            return Continue(60.0)

        def raises(message: SubmittedMessage, expiry: Expiry) -> Verdict:
            raise ValueError("no")

        async def raises_later(message: SubmittedMessage, expiry: Expiry) -> Verdict:
            await asyncio.sleep(0.1)
            raise ValueError("no")

        def defers(message: SubmittedMessage, expiry: Expiry) -> Verdict:
            said.append(("defers", expiry))
            return Defer(2.0) if len(said) < 9 else Cancel()

        a = near.submit(bytes(500_000), timer=0.1, on_timer=sends)
        b = near.submit(b"late", timer=-1.0, on_timer=later)
        c = near.submit(b"c", timer=0.0, on_timer=raises)
        d = near.submit(b"d", timer=0.0, on_timer=raises_later)
        e = near.submit(b"e", timer=0.0, on_timer=defers)
        await b.done()
        assert [m.state for m in (a, c, d)] == [
            MessageState.REJECTED,
            MessageState.CANCELLED,
            MessageState.CANCELLED,
        ]
        assert isinstance(c.error, ValueError) and isinstance(d.error, ValueError)
        assert await e.done() is MessageState.CANCELLED

    world = in_world(scenario)
    assert [one.data for _, one in world.arrived] == [b"from within", b"late"]
    assert said[:2] == [("sends", Expiry.REFUSED), ("defers", Expiry.LATE)]
    assert ("later", Expiry.LATE) in said and said[-1] == ("defers", Expiry.LATE)
    assert len(reports) == 2


def test_bandwidth_callbacks_register_anew_from_within() -> None:
    seen: list[float] = []

    async def scenario(world: World) -> None:
        def changed(available: float) -> None:
            seen.append(available)
            world.near.watch_bandwidth(available * 0.7, available * 1.4, changed)

        world.near.watch_bandwidth(0, 1, changed)
        world.near.submit(lambda _, length: bytes(length), size=16 << 20)
        await asyncio.sleep(3.0)
        world.carrier.set_rate(50_000.0)
        await asyncio.sleep(5.0)
        world.near.close()

    in_world(scenario)
    assert seen[0] == 64_000 and any(150_000 < one < 250_000 for one in seen)
    assert 40_000 < seen[-1] < 65_000 and len(seen) < 12


@pytest.mark.long
@pytest.mark.parametrize("estimator", [paper, None])
def test_no_admitted_message_is_late_over_a_steady_link(estimator: object) -> None:
    """Once the rate is known: timed messages of all sizes, more than the link can carry."""
    outcomes: list[tuple[Expiry, float]] = []

    async def scenario(world: World) -> None:
        near = world.near
        if estimator is None:
            await near.send(bytes(100_000))
        for number in range(600):

            def told(message: SubmittedMessage, expiry: Expiry) -> None:
                outcomes.append((expiry, near.now))

            size, timer = 500 + number * 7919 % 60_000, 0.3 + number * 31 % 17 * 0.2
            near.submit(bytes(size), priority=number % 3, timer=timer, on_timer=told)
            await asyncio.sleep(0.05)

    kind = {} if estimator is None else {"estimator": estimator}
    world = in_world(scenario, CarrierModel(rate=200_000.0), **kind)  # type: ignore[arg-type]
    refused = sum(expiry is Expiry.REFUSED for expiry, _ in outcomes)
    assert len(world.arrived) + len(outcomes) >= 600
    assert refused > 250
    if estimator is None:
        assert refused == len(outcomes)
        assert sum(len(one.data) for _, one in world.arrived) > 0.85 * 200_000 * 30


def test_protecting_peers_only_lets_urgent_messages_in() -> None:
    def delivered(protects: Protects) -> int:
        async def scenario(world: World) -> None:
            await world.near.send(bytes(50_000))
            for number in range(100):
                if number % 10 == 0:
                    world.near.submit(bytes(60_000), timer=1.0)
                world.near.submit(bytes(4000), priority=1, timer=0.3)
                await asyncio.sleep(0.1)

        world = in_world(scenario, CarrierModel(rate=64_000.0), protects=protects)
        return sum(len(one.data) == 4000 for _, one in world.arrived)

    assert delivered(Protects.PEERS) == 100 > delivered(Protects.ALL)


def test_minutes_without_bandwidth_are_survived() -> None:
    for estimator in (paper, None):

        async def scenario(world: World) -> None:
            near = world.near
            sent = near.submit(bytes(300_000))
            await asyncio.sleep(0.5)
            world.carrier.set_rate(0.0)
            await asyncio.sleep(30.0)
            timed = near.submit(bytes(10_000), timer=1.0)
            await asyncio.sleep(170.0)
            assert timed.state in (MessageState.REJECTED, MessageState.CANCELLED)
            world.carrier.set_rate(100_000.0)
            assert await sent.done() is MessageState.DELIVERED

        kind = {} if estimator is None else {"estimator": estimator}
        world = in_world(scenario, **kind)  # type: ignore[arg-type]
        assert [len(one.data) for _, one in world.arrived] == [300_000]


def test_zero_bandwidth_is_polled_by_packet_pairs() -> None:
    async def scenario(world: World) -> None:
        await asyncio.sleep(8.0)
        assert world.near.estimate.curbw == 0
        assert world.near.estimate.available == pytest.approx(200_000, rel=0.05)

    in_world(scenario, CarrierModel(delay=0.05), estimator=paper)


def test_a_hostile_peer_ends_the_connection_with_its_reason() -> None:
    async def scenario(world: World) -> None:
        world.near.submit(b"good")
        await asyncio.sleep(1.0)
        world.carrier.inject(b"\x99bad")
        await asyncio.sleep(1.0)
        with pytest.raises(CarrierError):
            world.near.submit(b"more")

    world = in_world(scenario)
    assert [one.data for _, one in world.arrived] == [b"good"]
    assert isinstance(world.error, SegmentFault)


def test_the_sender_is_told_why_the_receiver_did_not_take_a_message() -> None:
    async def main() -> None:
        near_carrier, far_carrier = memory_carriers(CarrierModel(delay=0.02))
        told: list[NotTaken] = []
        near = NaiConnection(near_carrier, on_refused=told.append)
        far = NaiConnection(far_carrier, memory=50_000, queues={"", "files"})
        with pytest.raises(NotSent) as refused:
            await near.send(bytes(500_000), queue="files")
        assert "50000 bytes at most" in str(refused.value.__cause__)
        unknown = near.submit(b"?", queue="nowhere")
        assert (
            await unknown.done() is MessageState.DELIVERED
        )  # to the carrier: it is as small as that
        await asyncio.sleep(1.0)
        assert "no messages of that queue" in str(unknown.error)
        await near.send(b"fine", queue="files")
        assert [one.data async for one in _first(far, 1)] == [b"fine"]
        assert [error.id for error in told] == [1, 2]
        near.close()
        far.close()

    run(main())


def test_who_breaks_the_protocol_is_told_so() -> None:
    async def main() -> None:
        served: asyncio.Future[NaiConnection] = asyncio.get_running_loop().create_future()
        async with await listen("127.0.0.1", 0, served.set_result) as listener:
            carrier = TcpSegments(await dial(*listener.address))
            near = NaiConnection(carrier)
            carrier.send(b"\x99bad", near.now)
            far = await served
            with pytest.raises(SegmentFault):
                await anext(far.messages())
            with pytest.raises(CarrierError, match=r"other end ended the connection: .* 0x90"):
                await anext(near.messages())
            near.close()
            far.close()

    asyncio.run(main())


@pytest.mark.long
def test_who_does_not_read_stops_the_carrier() -> None:
    async def main() -> None:
        near_carrier, far_carrier = memory_carriers(CarrierModel(rate=50e6))
        near, far = NaiConnection(near_carrier), NaiConnection(far_carrier)
        for _ in range(30):
            await near.send(bytes(1 << 20))
        await asyncio.sleep(1.0)
        assert far.unread < 18 << 20
        count = 0
        async for _ in far.messages():
            count += 1
            if count == 30:
                break
        near.close()
        far.close()

    run(main())


def test_closing_and_cancelling() -> None:
    async def scenario(world: World) -> None:
        near = world.near
        waiting = asyncio.create_task(near.send(bytes(1 << 20)))
        await asyncio.sleep(0.1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(NotSent, match="rejected"):
            await near.send(bytes(1 << 20), timer=0.1)
        left = near.submit(bytes(1 << 20))
        near.queue("a").submit(b"in a", priority=2)
        await asyncio.sleep(1.0)
        near.close()
        assert await left.done() is MessageState.CANCELLED and isinstance(left.error, CarrierError)
        with pytest.raises(NaiError):
            left.suspend()

    world = in_world(scenario)
    assert [(one.data, one.queue, one.priority) for _, one in world.arrived] == [(b"in a", "a", 2)]
    assert world.far.statistics()[1].cancelled == 1


async def over_tcp(padding: Filler) -> list[Received]:
    got: list[Received] = []
    served: asyncio.Future[NaiConnection] = asyncio.get_running_loop().create_future()
    async with await listen("127.0.0.1", 0, served.set_result, padding=padding) as listener:
        near = await connect(*listener.address, padding=padding)
        far = await served

        async def read() -> None:
            async for message in far.messages():
                got.append(message)
                await far.send(b"thanks for " + str(len(message.data)).encode())

        reading = asyncio.create_task(read())
        async with near:
            bulk = near.submit(bytes(1_000_000))
            await near.send(b"small", priority=1, queue="talk", timer=5.0)
            assert await bulk.done() is MessageState.DELIVERED
            thanks = [message.data async for message in _first(near, 2)]
            assert sorted(thanks) == [b"thanks for 1000000", b"thanks for 5"]
        await asyncio.wait_for(reading, 60)
        async with far:
            pass
    return got


async def _first(connection: NaiConnection, count: int) -> AsyncIterator[Received]:
    messages = connection.messages()
    for _ in range(count):
        yield await anext(messages)


@pytest.mark.parametrize("padding", Filler)
def test_over_tcp(padding: Filler) -> None:
    got = asyncio.run(over_tcp(padding))
    assert {(len(one.data), one.queue, one.priority) for one in got} == {
        (1_000_000, "", 0),
        (5, "talk", 1),
    }


def test_tcp_that_breaks_within_a_segment() -> None:
    async def main() -> None:
        served: asyncio.Future[NaiConnection] = asyncio.get_running_loop().create_future()
        async with await listen("127.0.0.1", 0, served.set_result) as listener:
            with socket.create_connection(listener.address) as raw:
                raw.sendall(b"\x00\x40" + bytes(10))
                far = await served
            with pytest.raises(CarrierError, match="within a segment"):
                async for _ in far.messages():
                    pass
            far.close()

    asyncio.run(main())


def test_the_program_of_the_guide_runs_and_is_short() -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    program = next(block for block in blocks if "async def main" in block)
    assert len(program.splitlines()) <= 30
    scope: dict[str, object] = {"__name__": "guide"}
    exec(compile(program, str(GUIDE), "exec"), scope)
    printed: list[str] = []
    scope["print"] = lambda *words: printed.append(" ".join(map(str, words)))
    asyncio.run(scope["main"]())  # type: ignore[operator]
    assert "arrived: 5 bytes" in printed
    assert any(line.startswith("the link carries") for line in printed)
    assert any("refused" in line for line in printed)
