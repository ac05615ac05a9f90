"""The world of a receiver with several paths: what they carry, what stripes get, what is cut."""

from __future__ import annotations

import pytest

from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import PACKET
from emulation.dumbbell.several_paths import PathModel, R2cpFlow, StripedFlows
from transport.rcp.settings import RcpSettings

MBIT = 125_000.0
SHARE = RcpSettings().size / PACKET


def rate(flow: R2cpFlow | StripedFlows, events: Events) -> float:
    """Bytes/second from the 10th second to the 30th."""
    flow.start()
    events.run(10.0)
    before = flow.delivered
    events.run(30.0)
    return (flow.delivered - before) / 20


def test_one_path_carries_its_rate() -> None:
    events = Events()
    assert rate(R2cpFlow(events, [PathModel(2 * MBIT, 0.05)]), events) == pytest.approx(
        2 * MBIT * SHARE, rel=0.03
    )


def test_two_carry_their_sum_and_stripes_twice_the_slower_one() -> None:
    models = [PathModel(4 * MBIT, 0.03), PathModel(1 * MBIT, 0.1)]
    first, second = Events(), Events()
    assert rate(R2cpFlow(first, models), first) >= 0.97 * 5 * MBIT * SHARE
    assert rate(StripedFlows(second, models), second) <= 1.05 * 2 * MBIT * SHARE


def test_a_path_that_is_cut_carries_nothing() -> None:
    events = Events()
    flow = R2cpFlow(events, [PathModel(2 * MBIT, 0.05)])
    flow.start()
    events.run(2.0)
    flow.cut(0)
    before = flow.delivered
    events.run(5.0)
    assert before > 0 and flow.delivered == before


def test_without_ranks_a_slow_path_fills_the_buffer_with_what_must_wait() -> None:
    full = []
    for ranked in (True, False):
        events = Events()
        models = [PathModel(4 * MBIT, 0.03), PathModel(4 * MBIT, 0.21)]
        settings = RcpSettings(buffer=256 * 1024)
        flow = R2cpFlow(events, models, settings=settings, ranked=ranked)
        assert rate(flow, events) >= 0.9 * 8 * MBIT * SHARE
        full.append(flow.full / flow.arrivals)
    assert full[0] < 0.05
    assert full[1] > 0.4
