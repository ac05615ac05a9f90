"""The worlds in which RCP and TCP share bottlenecks: hops, bursts, the model of TCP, the flows."""

from __future__ import annotations

import random

import pytest

from emulation.dumbbell.events import Alarm, Events
from emulation.dumbbell.flows import PACKET, EndlessContent, RcpFlow, Route, SackFlow
from emulation.dumbbell.hops import Hop
from emulation.dumbbell.on_off import BURST, IDLE, RATE, SIZE, OnOffSource
from emulation.dumbbell.worlds import AIR_RATE, Dumbbell, MobileHost
from emulation.tcp.retransmission_timeout import LEAST
from emulation.tcp.sack_receiver import DELAY, SackReceiver
from emulation.tcp.sack_sender import (
    FIRST_WINDOW,
    SackAck,
    SackSegment,
    SackSender,
)


def test_events_happen_in_the_order_of_their_times() -> None:
    events, seen = Events(), []
    for at, name in ((0.3, "c"), (0.1, "a"), (0.1, "b"), (0.9, "late")):
        events.at(at, seen.append, name)
    events.run(0.5)
    assert (seen, events.now) == (["a", "b", "c"], 0.5)


def test_an_alarm_that_moves_rings_once_at_its_last_time() -> None:
    events, rung = Events(), []
    alarm = Alarm(events, lambda: rung.append(events.now))
    alarm.set(0.5)
    alarm.set(0.2)
    events.at(0.1, lambda _: alarm.set(0.4))
    events.run(1.0)
    assert rung == [0.4]
    alarm.set(1.5)
    alarm.set(None)
    events.run(2.0)
    assert rung == [0.4]


def test_a_hop_serialises_delays_and_drops_from_its_tail() -> None:
    events, came = Events(), []
    hop = Hop(events, rate=1_000.0, delay=0.5, queue=3)
    for number in range(5):
        hop.send(100, lambda what: came.append((round(events.now, 3), what)), number)
    events.run(2.0)
    assert came == [(0.6, 0), (0.7, 1), (0.8, 2)]
    assert (hop.offered, hop.dropped) == (5, 2)


def test_the_air_loses_its_share_and_says_what() -> None:
    events, came, lost = Events(), [], []
    hop = Hop(events, rate=1e9, delay=0.0, queue=9, chance=random.Random(1), loss=0.1)
    for number in range(10_000):
        events.at(
            number * 0.001, lambda n: hop.send(9, came.append, n, on_lost=lost.append), number
        )
    events.run(100.0)
    assert sorted(came + lost) == list(range(10_000))
    assert 900 < len(lost) == hop.lost < 1_100


def test_a_route_crosses_its_hops_in_order() -> None:
    events, came = Events(), []
    hops = [Hop(events, rate=1_000.0, delay=delay, queue=9) for delay in (0.1, 0.2)]
    Route(hops, 0.05).send(100, lambda _: came.append(events.now), None)
    events.run(1.0)
    assert came == [pytest.approx(0.1 + 0.1 + 0.1 + 0.2 + 0.05)]


@pytest.mark.long
def test_bursts_take_a_third_of_the_time_at_their_rate() -> None:
    events = Events()
    hop = Hop(events, rate=1e9, delay=0.0, queue=1_000)
    for seed in range(60):
        OnOffSource(events, hop, random.Random(seed))
    events.run(300.0)
    share = hop.offered * SIZE / (60 * 300.0 * RATE)
    assert share == pytest.approx(BURST / (BURST + IDLE), rel=0.15)


def acked(
    sender: SackSender, upto: int, *blocks: tuple[int, int], now: float = 0.1, eln: bool = False
) -> list[int]:
    sender.acknowledged(SackAck(upto, blocks, now - 0.1, eln), now)
    return [one.number for one in sender.to_send(now)]


def test_slow_start_doubles_and_avoidance_adds_one() -> None:
    sender = SackSender()
    assert len(sender.to_send(0.0)) == FIRST_WINDOW
    for upto in range(2, 11, 2):
        assert len(acked(sender, upto)) == 4
    sender.threshold = sender.window
    first = sender.window
    for upto in range(12, 31, 2):
        acked(sender, upto)
    assert sender.window == pytest.approx(first + 1, abs=0.05)


def test_a_hole_is_sent_again_once_and_the_window_halved_once() -> None:
    sender = SackSender()
    sender.to_send(0.0)
    assert acked(sender, 1, (2, 3)) == [10, 11, 12]  # slow start has made room for one more
    assert acked(sender, 1, (2, 4)) == [13]
    assert acked(sender, 1, (2, 5)) == [1]
    assert (sender.cuts, sender.window, sender.pipe) == (1, 5.5, 10)
    for end in (6, 7, 8):
        assert acked(sender, 1, (2, end)) == []
    assert acked(sender, 8, (9, 10)) == []
    assert acked(sender, 10) == [14]
    assert sender.cuts == 1


def test_a_lost_repetition_is_found_without_a_timeout() -> None:
    sender = SackSender()
    sender.to_send(0.0)
    acked(sender, 0, (1, 4))
    again = acked(sender, 0, (1, 10))  # 0 went again before; new segments since
    assert again == [10, 11, 12, 13]
    assert acked(sender, 0, (1, 13)) == [0, 14, 15, 16]
    assert sender.timeouts == 0


def test_a_timeout_clears_the_scoreboard_and_begins_with_one() -> None:
    sender = SackSender()
    sender.to_send(0.0)
    acked(sender, 0, (1, 3))
    sender.time_out(sender.timer)
    assert (sender.window, sender.pipe) == (1.0, 0)
    assert [one.number for one in sender.to_send(2.0)] == [0]
    assert sender.timer is not None
    assert sender.timer >= 2.0 + LEAST
    assert acked(sender, 3, now=2.1) == [3, 4, 5]


def test_eln_spares_the_segment_that_is_waited_for_and_no_other() -> None:
    sender = SackSender()
    sender.to_send(0.0)
    assert 0 in acked(sender, 0, (1, 4), eln=True)
    assert (sender.spared, sender.cuts) == (1, 0)
    acked(sender, 0, (5, 8), (1, 4), eln=True)
    assert (sender.spared, sender.cuts) == (1, 1)  # 4 was lost too, and nobody can say why


def test_a_receiver_acknowledges_every_second_and_what_is_out_of_order_at_once() -> None:
    receiver = SackReceiver()
    assert receiver.received(SackSegment(0, 0.0), 0.1) is None
    assert receiver.timer == 0.1 + DELAY
    assert receiver.received(SackSegment(1, 0.01), 0.11) == SackAck(2, (), 0.0, at=0.11)
    receiver.corrupted(2)
    assert receiver.received(SackSegment(3, 0.02), 0.12) == SackAck(2, ((3, 4),), 0.02, True, 0.12)
    assert receiver.received(SackSegment(5, 0.03), 0.13).blocks == ((5, 6), (3, 4))
    assert receiver.received(SackSegment(4, 0.04), 0.14).blocks == ((3, 6),)
    assert receiver.received(SackSegment(4, 0.04), 0.14).blocks == ((3, 6),)
    assert receiver.received(SackSegment(2, 0.05), 0.15) == SackAck(6, (), 0.05, at=0.15)


def test_endless_content_has_whatever_is_asked_for() -> None:
    content = EndlessContent()
    content.purge(1 << 30)
    assert content.slice(1 << 30, (1 << 30) + 9) == bytes(9)
    assert content.purged == 1 << 30


@pytest.mark.long
@pytest.mark.parametrize(("tcp", "rcp"), [(6, 0), (3, 3), (0, 6)])
def test_the_bottleneck_is_full_and_shared(tcp: int, rcp: int) -> None:
    world = Dumbbell(tcp=tcp, rcp=rcp, seed=2)
    before = sum(world.delivered(5.0))
    rate = (sum(world.delivered(25.0)) - before) / 20
    assert 0.93 < rate / 1_250_000 < 1.0
    assert min(flow.delivered for flow in world.flows) > 0.3 * before / 6
    assert sum(isinstance(flow, RcpFlow) for flow in world.flows) == rcp


@pytest.mark.parametrize("kind", [RcpFlow, SackFlow])
def test_a_seed_gives_the_same_world_again(kind: type) -> None:
    first, again, other = (
        MobileHost(kind, loss=0.02, eln=False, seed=seed).delivered(20.0) for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.long
def test_who_knows_of_the_air_is_faster_and_who_asks_more_so() -> None:
    rates = {
        (kind, eln): MobileHost(kind, loss=0.05, eln=eln).delivered(40.0) / 40 / AIR_RATE
        for kind in (RcpFlow, SackFlow)
        for eln in (True, False)
    }
    assert rates[RcpFlow, True] > 0.8
    assert rates[RcpFlow, True] > 1.5 * rates[SackFlow, True] > 1.5 * rates[SackFlow, False]
    assert rates[RcpFlow, False] < rates[RcpFlow, True]


def test_facts_say_why() -> None:
    host = MobileHost(RcpFlow, loss=0.05, eln=True)
    host.delivered(20.0)
    facts = host.flow.facts()
    assert 0 < facts["spared"] <= facts["lost"]
    assert facts["request_bytes"] < 0.1 * host.flow.delivered
    assert PACKET == 1_228
    tcp = MobileHost(SackFlow, loss=0.05, eln=True)
    tcp.delivered(20.0)
    assert tcp.flow.facts()["cuts"] > 10
