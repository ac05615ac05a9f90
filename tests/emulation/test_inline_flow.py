"""Tests of connections that measure while they send, and of what they are compared with."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable

import pytest

from emulation.dumbbell.cross_traffic import CrossTraffic, RandomSizes
from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import PACKET, Route, SackFlow
from emulation.dumbbell.hops import Hop
from emulation.dumbbell.inline_flow import ImTcpFlow, Transmission
from emulation.dumbbell.web_clients import OBJECTS, WebClient
from emulation.tcp.rivals import HighSpeedSender, LedbatSender, WestwoodSender
from emulation.tcp.sack_receiver import SackReceiver
from emulation.tcp.sack_sender import SackSegment, SackSender
from monitor.inline.pause import AdaptivePause

RATE = 625_000.0
"""Bytes/second."""
ROUND_TRIP = 0.06
Make = Callable[[Events, Route, Route], SackFlow]


class Line:
    """One line, with others' UDP on it."""

    def __init__(
        self, *, others: float = 0.0, queue: int = 40, loss: float = 0.0, rate: float = RATE
    ) -> None:
        self.events, self.rate = Events(), rate
        chance = random.Random(3)
        self.down = Hop(
            *(self.events,), rate=rate, delay=ROUND_TRIP / 2, queue=queue, loss=loss, chance=chance
        )
        self.up = Hop(self.events, rate=rate, delay=ROUND_TRIP / 2, queue=1000)
        if others:
            CrossTraffic(self.events, self.down, lambda _: others * rate, chance)

    def add(self, make: Make, *, at: float = 0.0) -> SackFlow:
        flow = make(self.events, Route((self.down,)), Route((self.up,)))
        self.events.at(at, flow.start)
        return flow

    def share(self, flow: SackFlow, since: float, until: float) -> float:
        """What it has of the line, with headers."""
        self.events.run(since)
        before = flow.delivered
        self.events.run(until)
        return (flow.delivered - before) / flow.data * PACKET / self.rate / (until - since)


def reno(events: Events, down: Route, up: Route) -> SackFlow:
    return SackFlow(events, down, up, every=1)


def background(events: Events, down: Route, up: Route) -> SackFlow:
    return ImTcpFlow(events, down, up, mode=Transmission.BACKGROUND)


def full_speed(events: Events, down: Route, up: Route) -> SackFlow:
    return ImTcpFlow(events, down, up, mode=Transmission.FULL_SPEED)


@pytest.mark.long
def test_it_knows_what_others_leave_and_is_as_fast_as_reno() -> None:
    results: list[tuple[float, float]] = []
    line = Line(others=0.4)
    note = lambda now, found: results.append((now, found))  # noqa: E731
    flow = line.add(lambda *ends: ImTcpFlow(*ends, heard=note))
    share = line.share(flow, 5.0, 40.0)
    found = [value / RATE for at, value in results if at > 5.0]
    assert statistics.median(found) == pytest.approx(0.6, rel=0.15)
    assert len(found) > 100
    alone = Line(others=0.4)
    assert share >= 0.97 * alone.share(alone.add(reno), 5.0, 40.0)
    assert flow.facts()["streams"] > flow.facts()["failures"]


@pytest.mark.long
def test_in_the_background_it_fills_nine_tenths_and_leaves_the_queue_empty() -> None:
    line = Line()
    flow = line.add(background)
    took: list[float] = []

    def ping(_: object) -> None:
        began = line.events.now
        line.down.send(64, lambda _: took.append(line.events.now - began), None)
        line.events.at(began + 0.1, ping)

    line.events.at(5.0, ping)
    assert 0.8 < line.share(flow, 5.0, 40.0) < 0.95
    assert statistics.median(took) < ROUND_TRIP / 2 + 0.005


@pytest.mark.long
def test_it_gives_way_to_who_comes_and_takes_again_what_is_left() -> None:
    line = Line()
    flow = line.add(background)
    CrossTraffic(
        *(line.events, line.down),
        lambda now: RATE * (0.6 if 20.0 <= now < 40.0 else 0.0),
        random.Random(1),
    )
    shares = [line.share(flow, begin, begin + 10.0) for begin in (10.0, 28.0, 50.0)]
    assert shares[0] > 0.8
    assert shares[1] < 0.42
    assert shares[2] > 0.8


@pytest.mark.long
def test_at_full_speed_the_airs_losses_cost_little() -> None:
    shares = {}
    for name, make in (("reno", reno), ("full speed", full_speed)):
        line = Line(loss=0.03)
        shares[name] = line.share(line.add(make), 5.0, 60.0)
    assert shares["full speed"] > 0.9 * 0.97
    assert shares["full speed"] > 1.2 * shares["reno"]


@pytest.mark.long
def test_westwood_keeps_what_it_gets_and_knows_its_rate() -> None:
    shares = {}
    for sender in (SackSender(), WestwoodSender()):
        line = Line(loss=0.01)
        flow = line.add(lambda *ends, one=sender: SackFlow(*ends, sender=one, every=1))
        shares[type(sender)] = line.share(flow, 5.0, 60.0)
        if isinstance(sender, WestwoodSender):
            got = shares[WestwoodSender] * RATE
            assert sender.bandwidth * PACKET == pytest.approx(got, rel=0.2)
    assert shares[WestwoodSender] > 1.1 * shares[SackSender]


@pytest.mark.parametrize("kind", [SackFlow, ImTcpFlow])
def test_a_host_that_takes_its_time_sends_later_and_all_the_same(
    kind: type[SackFlow] | type[ImTcpFlow],
) -> None:
    line = Line()
    flow = line.add(lambda *ends: kind(*ends, overhead=lambda: 0.01))
    line.events.run(0.009)
    assert line.down.offered == 0
    line.events.run(0.1)
    assert line.down.offered >= 10
    line.events.run(10.0)
    assert flow.delivered > 0.8 * 9 * RATE
    assert flow.facts()["timeouts"] == 0


@pytest.mark.long
def test_those_that_measure_share_a_line_and_use_it_as_reno_does() -> None:
    used = {}
    for name in ("reno", "measuring"):
        line = Line(queue=40, rate=4 * RATE)
        flows = []
        for number in range(2):
            draw = random.Random(number)
            overhead = lambda one=draw: one.uniform(0.0, PACKET / RATE / 4)  # noqa: E731
            kind = ImTcpFlow if name == "measuring" else None
            flows.append(
                line.add(
                    lambda *ends, take=overhead, kind=kind: (
                        kind(*ends, overhead=take)
                        if kind
                        else SackFlow(*ends, every=1, overhead=take)
                    ),
                    at=0.31 * number,
                )
            )
        line.events.run(10.0)
        before = [flow.delivered for flow in flows]
        line.events.run(130.0)
        had = [flow.delivered - one for flow, one in zip(flows, before, strict=True)]
        used[name] = sum(had)
        assert sum(had) ** 2 / (2 * sum(one**2 for one in had)) > 0.95
    assert used["measuring"] > 0.97 * used["reno"]


def test_high_speed_is_reno_with_small_windows_and_bolder_with_large_ones() -> None:
    sender = HighSpeedSender()
    sender.window = 38.0
    assert (sender.increase(), sender.reduced()) == (1.0, 19.0)
    sender.window = 83_000.0
    assert sender.increase() == pytest.approx(72, abs=2), "RFC 3649, appendix B"
    assert sender.reduced() == pytest.approx(0.9 * 83_000)


@pytest.mark.long
def test_ledbat_fills_a_line_and_gives_way_to_reno() -> None:
    line = Line(queue=200)
    polite = line.add(lambda *ends: SackFlow(*ends, sender=LedbatSender(), every=1))
    assert line.share(polite, 20.0, 60.0) > 0.95
    line.add(reno, at=60.0)
    assert line.share(polite, 80.0, 120.0) < 0.3


def test_a_sender_with_an_end_stops_there() -> None:
    line = Line()
    flow = line.add(lambda *ends: SackFlow(*ends, sender=SackSender(amount=100), every=1))
    line.events.run(60.0)
    assert flow.delivered == 100 * flow.data
    assert flow.sender.timer is None


@pytest.mark.long
def test_a_lost_acknowledgement_of_a_stream_does_not_end_the_measuring() -> None:
    line = Line(loss=0.1)
    flow = line.add(full_speed)
    line.events.run(20.0)
    before = flow.facts()["streams"]
    line.events.run(60.0)
    assert flow.facts()["streams"] > before + 50


@pytest.mark.long
def test_a_pause_that_adapts_hears_of_losses() -> None:
    streams = {}
    for loss in (0.0, 0.02):
        line = Line(loss=loss)
        pause = AdaptivePause()
        flow = line.add(
            lambda *ends, one=pause: ImTcpFlow(*ends, mode=Transmission.BACKGROUND, pause=one)
        )
        line.events.run(60.0)
        streams[loss] = flow.facts()["streams"]
    assert streams[0.02] < streams[0.0] / 2


def test_a_receiver_may_acknowledge_each() -> None:
    receiver = SackReceiver(every=1)
    for number in range(3):
        ack = receiver.received(SackSegment(number, 0.1), 0.2)
        assert ack is not None
        assert (ack.upto, ack.at) == (number + 1, 0.2)


def test_udp_of_random_sizes_has_its_rate() -> None:
    line = Line()
    RandomSizes(line.events, line.down, 12_500.0, random.Random(1), sizes=(300, 600))
    line.events.run(100.0)
    assert line.down.carried == pytest.approx(1_250_000, rel=0.01)


def test_a_reader_loads_page_after_page_and_knows_what_each_took() -> None:
    line = Line(queue=200)
    took: list[tuple[float, float]] = []
    WebClient(
        *(line.events, Route((line.down,)), Route((line.up,)), random.Random(4)),
        round_trip=ROUND_TRIP,
        took=lambda began, seconds: took.append((began, seconds)),
    )
    line.events.run(120.0)
    assert len(took) > 10
    assert all(seconds >= 2 * 2 * ROUND_TRIP for _, seconds in took), "two rounds of four objects"
    begins = [began for began, _ in took]
    assert begins == sorted(begins)
    assert line.down.carried > len(took) * OBJECTS * 2_000
