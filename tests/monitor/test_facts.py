"""Facts of a connection are refused where no connection can have them."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace

import pytest

from monitor.facts import ConnectionFacts

FACTS = ConnectionFacts(
    at=20.0, since=10.0, rtt=0.1, segment_size=1000, segments=1000, bytes_acked=980_000
)


def test_rates_and_windows_follow_from_counts() -> None:
    assert (FACTS.duration, FACTS.loss_rate, FACTS.window) == (10, 0, None)
    assert replace(FACTS, loss_events=5.0).loss_rate == 0.005
    limited = replace(FACTS, receive_window=30_000.0, send_window=20_000.0)
    assert limited.window == 20
    assert replace(FACTS, receive_window=10.0).window == 1
    assert replace(FACTS, segments=0).loss_rate == 0
    with pytest.raises(FrozenInstanceError):
        FACTS.rtt = 1.0


def test_delayed_acknowledgements_slow_windows_that_grow_by_acknowledgements() -> None:
    delayed = replace(FACTS, segments_per_ack=2.0)
    assert delayed.acks_per_growth == 1
    assert replace(delayed, grows_by_segments=False).acks_per_growth == 2


@pytest.mark.parametrize(
    "change",
    [
        {"rtt": 0.0}, {"rtt": math.nan}, {"rtt": math.inf}, {"rtt": -1.0}, {"segment_size": 0},
        {"segments": -1}, {"loss_events": 1001.0}, {"retransmitted": 1001}, {"since": 21.0},
        {"timeout_seconds": -0.1}, {"segments_per_ack": 0.0}, {"receive_window": 0.0},
        {"send_window": math.nan}, {"first_loss": -1},
    ],
)  # fmt: skip
def test_impossible_facts_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"connection|counting|losses"):
        replace(FACTS, **change)
