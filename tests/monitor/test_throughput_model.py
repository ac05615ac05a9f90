"""Tests of the observer's way to TCP's models: they judge losses, and delivery the rest."""

from __future__ import annotations

import pytest

from monitor.models.padhye import TcpPath
from monitor.observer.model import ConnectionModel
from monitor.observer.throughput_model import ThroughputModel, view_of
from monitor.samples import TransportSample
from tests.monitor.facts import transport

MSS, RTT = 1_000, 0.1
EVERY = 0.05
"""Seconds between samples."""


def lossy(number: int, *, limited: int = 0) -> TransportSample:
    """The sample of that number of a connection of 100 segments a second, a loss event a second,
    that began long ago."""
    sent = 1_000 + round(100 * number * EVERY)
    seconds, within = divmod(number, round(1 / EVERY))
    return transport(
        mss=MSS,
        rtt_us=round(RTT * 1e6),
        timeout_us=300_000,
        segments=sent,
        acked=(sent - seconds) * MSS,
        acknowledgements=sent,
        retransmitted=50 + seconds,
        state=3 if seconds and within < 3 else 0,
        unacked=10,
        limited=limited,
    )


def test_losses_and_round_trips_tell_by_padhyes_model() -> None:
    model: ConnectionModel = ThroughputModel()
    found = None
    for number in range(round(60 / EVERY)):
        found = model.estimate(lossy(number), at=number * EVERY, now=1_000.0 + number)
    assert found is not None
    assert (found.source, found.at) == ("padhye", 1_000.0 + number)
    path = TcpPath(rtt=RTT, timeout=0.3)
    ideal = path.throughput(path.chance(0.01)) * MSS
    assert found.rate == pytest.approx(ideal, rel=0.35), "a loss event in a hundred segments"


def test_what_was_delivered_is_the_answer_while_models_know_nothing() -> None:
    model = ThroughputModel()
    assert model.estimate(lossy(0), at=0.0, now=0.0) is None
    found = model.estimate(lossy(1), at=EVERY, now=EVERY)
    assert found is not None and found.source == "transport"
    for number in range(2, round(40 / EVERY)):
        found = model.estimate(lossy(number, limited=1), at=number * EVERY, now=0.0)
    assert found is not None and found.source == "transport", "the application had little to send"


def test_a_sample_is_a_view_in_seconds() -> None:
    view = view_of(transport(rtt_us=50_000, rttvar_us=2_000, timeout_us=250_000, peer_window=0))
    assert (view.rtt, view.rtt_deviation, view.retransmission_timeout) == pytest.approx(
        (0.05, 0.002, 0.25)
    )
    assert view.peer_window is None
