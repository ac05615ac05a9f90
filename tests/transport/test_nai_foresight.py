"""ATP reckons with priorities to come and links that recover, beside what is queued."""

from __future__ import annotations

import asyncio

from admission.admission import Protects
from emulation.memory.carrier import CarrierModel, memory_carriers
from emulation.memory.virtual_time import run
from tests.transport.nai_world import World, in_world, let, sender
from transport.nai import headers
from transport.nai.endpoint import NaiConnection, paper
from transport.nai.estimators.estimator import Figure3
from transport.nai.headers import Poll
from transport.nai.messages.handles import SubmittedMessage
from transport.nai.messages.message import Cancel, Expiry, MessageState, NaiMessage


def test_low_messages_are_refused_rather_than_interrupted_to_their_ends() -> None:
    """A tenth more than passes, two thirds of it low: most of the low ones are to be delivered."""

    async def scenario(world: World) -> None:
        sent: list[SubmittedMessage] = []
        for tick in range(80):
            await asyncio.sleep(0.25)
            world.near.submit(bytes(16_000), priority=1, timer=1.0)
            if tick % 2:
                sent.append(world.near.submit(bytes(64_000), timer=1.0))
        outcomes.extend(one.state for one in sent)
        wasted.append(world.near.statistics()[0].wasted)

    outcomes: list[MessageState] = []
    wasted: list[int] = []
    world = in_world(scenario, CarrierModel(rate=170_000.0), protects=Protects.PEERS)
    high = [one for _, one in world.arrived if one.priority == 1]
    assert len(high) >= 78
    assert outcomes.count(MessageState.DELIVERED) >= 25  # 4 of 40 without foresight
    assert wasted[0] < 0.1 * 170_000 * 20  # 0.53 without


def test_on_standby_a_message_goes_when_the_bandwidth_is_back() -> None:
    atp, box, known = sender(100.0, standby=True)
    waits = NaiMessage(bytes(2000), timer=5.0)
    late = NaiMessage(bytes(2000), timer=1.0)
    asked = NaiMessage(bytes(2000), timer=5.0, on_timer=lambda *_: Cancel())
    for message in (waits, late, asked):
        atp.submit(message, 0.0)
    assert [one.state for one in (waits, late, asked)] == [
        MessageState.DEFERRED, MessageState.DEFERRED, MessageState.SUSPENDED
    ]  # fmt: skip
    assert [expiry for _, expiry in atp.expired] == [Expiry.REFUSED]
    assert atp.next_time(0.0) == 0.0  # somebody is to be asked
    atp.expired.clear()
    let(atp, box, 0, now=1.0)
    assert late.state is MessageState.REJECTED
    assert atp.statistics().refused == 2
    known.tell(1000.0)
    sent = let(atp, box, 9, now=2.0)
    assert waits.state is MessageState.DELIVERED
    assert sum(len(one) for one in sent) > 2000


def test_on_standby_the_highest_priority_is_first_and_may_be_cancelled() -> None:
    atp, box, known = sender(10.0, standby=True, protects=Protects.PEERS)
    low, high, gone = (NaiMessage(bytes(3000), priority=n, timer=9.0) for n in (0, 1, 2))
    for message in (low, high, gone):
        atp.submit(message, 0.0)
    atp.cancel(gone)
    known.tell(500.0)  # for one of them
    let(atp, box, 9, now=1.0)
    assert gone.state is MessageState.CANCELLED
    assert high.state is MessageState.DELIVERED
    assert low.state is MessageState.DEFERRED
    let(atp, box, 9, now=9.0)
    assert low.state is MessageState.REJECTED
    assert atp.statistics().waiting == 0


def test_one_on_standby_keeps_what_was_sent_of_it() -> None:
    atp, box, known = sender(1000.0, standby=True)
    message = NaiMessage(bytes(4000), timer=8.0)
    atp.submit(message, 0.0)
    let(atp, box, 2, now=1.0)
    known.tell(10.0)
    let(atp, box, 0, now=2.0)
    assert (message.state, message.sent > 1900) == (MessageState.DEFERRED, True)
    known.tell(2000.0)
    sent = let(atp, box, 9, now=3.0)
    assert message.state is MessageState.DELIVERED
    assert all(not isinstance(headers.parse(one), headers.Cancelled) for one in sent)


def test_a_few_bytes_pass_a_link_that_a_full_segment_would_block() -> None:
    """2 KB/s: 1,460 bytes take 0.73 s, and 64 bytes are to be sent within half a second."""

    async def scenario(world: World) -> None:
        await asyncio.sleep(1.0)
        for _ in range(50):
            await asyncio.sleep(0.1)
            world.near.submit(bytes(64), priority=1, timer=0.5)
            world.near.submit(bytes(64_000), timer=1.0)  # refused, and so the link is polled

    world = in_world(scenario, CarrierModel(rate=2_000.0), protects=Protects.PEERS)
    assert sum(one.priority == 1 for _, one in world.arrived) >= 40


def test_packet_pairs_are_small_where_the_link_is_slow() -> None:
    async def main() -> list[int]:
        near, far = memory_carriers(CarrierModel(rate=4_000.0))
        sender, receiver = NaiConnection(near), NaiConnection(far)
        sizes = []
        received = receiver.segment_received

        def watched(payload: bytes, *, now: float) -> None:
            if isinstance(headers.parse(payload), Poll):
                sizes.append(len(payload))
            received(payload, now=now)

        receiver.segment_received = watched  # type: ignore[method-assign]
        await sender.send(bytes(20_000))
        for _ in range(4):
            await asyncio.sleep(1.5)
            sender.submit(bytes(100_000), timer=1.0)
        await asyncio.sleep(1.0)
        found.append(sender.estimate.available)
        async with sender, receiver:
            return sizes

    found: list[float] = []
    sizes = run(main())
    assert len(sizes) == 8  # a pair each time
    assert max(sizes) <= 300
    assert 3_800 < found[0] < 4_200


def test_steady_use_is_stale_where_nothing_was_refused() -> None:
    told = [Figure3(capacity=75_000, curbw=100_000) for _ in range(2)]
    found = [
        [figure.bandwidth_estimate(100_000, 0, saturated=saturated)[1] for _ in range(4)]
        for figure, saturated in zip(told, (True, False), strict=True)
    ]
    assert found[0] == [137_500] * 4
    assert found[1] == [137_500, 175_000, 212_500, 250_000]
    assert told[1].bandwidth_estimate(150_000, 0) == (150_000, 187_500)
    assert told[1].bandwidth_estimate(0, 0)[1] > 0


def test_the_papers_estimator_does_not_keep_low_priorities_out() -> None:
    """It knows only what is used: leaving room of that to others would be for ever."""

    async def scenario(world: World) -> None:
        for _ in range(60):
            world.near.submit(bytes(8_000), priority=1, timer=1.0)
            world.near.submit(bytes(20_000), timer=4.0)
            await asyncio.sleep(0.5)

    world = in_world(
        scenario, CarrierModel(rate=200_000.0), estimator=paper, protects=Protects.PEERS
    )
    assert sum(one.priority == 0 for _, one in world.arrived) >= 50
