"""Cardwell's model: slow start by hand, windows that limit, losses that cost."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.models.cardwell import Transfer, expected_start
from monitor.models.padhye import TcpPath, TimeoutsSeen

RTT = 0.1
FREE = Transfer(TcpPath(RTT))


@pytest.mark.parametrize(("rounds", "segments"), [(1, 10), (2, 30), (3, 70), (5, 310)])
def test_slow_start_doubles_ten_segments_each_round(rounds: int, segments: int) -> None:
    assert FREE.slow_start(segments) == pytest.approx(rounds * RTT)
    assert FREE.latency(segments, 0.0) == pytest.approx(rounds * RTT)


def test_delayed_acknowledgements_slow_a_window_that_grows_by_them() -> None:
    delayed = Transfer(TcpPath(RTT, acks=2))
    assert delayed.growth == 1.5
    assert delayed.slow_start(10 + 15 + 22.5) == pytest.approx(3 * RTT)


def test_a_window_ends_slow_start_and_holds_from_then_on() -> None:
    narrow = Transfer(TcpPath(RTT, window=40))
    assert narrow.slow_start(70) == pytest.approx(3 * RTT)  # 10, 20, 40
    assert narrow.slow_start(70 + 400) == pytest.approx(13 * RTT)
    tiny = Transfer(TcpPath(RTT, window=4))
    assert tiny.slow_start(40) == pytest.approx(10 * RTT)
    assert 1e6 / tiny.latency(1e6, 0.0) == pytest.approx(4 / RTT, rel=1e-4)


def test_the_first_loss_is_expected_after_the_mean_of_its_distribution() -> None:
    loss, segments = 0.05, 60
    chances = [loss * (1 - loss) ** k for k in range(segments)]
    mean = sum((k + 1) * one for k, one in enumerate(chances))
    mean += segments * (1 - loss) ** segments
    # Equation 5 counts the lost one even where none was lost.
    assert expected_start(segments, loss) == pytest.approx(mean + (1 - loss) ** segments, abs=0.1)
    assert expected_start(segments, 0.0) == segments
    assert expected_start(segments, 1.0) == 1
    assert expected_start(segments, 1e-12) == segments


def test_a_loss_costs_a_round_trip_or_the_timeout_that_was_seen() -> None:
    segments = 70.0
    plain = FREE.latency(segments, 0.5, first_loss=segments, seen=TimeoutsSeen(0.0, 0.0))
    slow = FREE.latency(segments, 0.5, first_loss=segments, seen=TimeoutsSeen(1.0, 3.0))
    assert plain == pytest.approx(4 * RTT)
    assert slow == pytest.approx(3 * RTT + 3.0)


def test_what_follows_an_expected_loss_comes_at_the_steady_rate() -> None:
    path, seen = TcpPath(RTT), TimeoutsSeen(0.0, 0.0)
    start = expected_start(10_000, 0.01)
    took = FREE.latency(10_000, 0.01, seen=seen)
    rest = (10_000 - start) / path.observed(0.01, seen)
    assert took == pytest.approx(FREE.slow_start(start) + RTT + rest, rel=1e-9)


def test_what_follows_a_loss_that_was_seen_begins_with_half_its_window() -> None:
    none = TimeoutsSeen(0.0, 0.0)
    took = FREE.latency(70.0 + 20 + 21 + 22, 1 / 133, first_loss=70.0, seen=none)
    # Three rounds until then, one to find out, one of 20 that repairs, and 43 as 20 grows.
    growing = math.sqrt(20**2 + 2 * 43) - 20
    assert took == pytest.approx((3 + 1 + 1 + growing) * RTT)
    narrow = Transfer(TcpPath(RTT, window=21))
    rounds = narrow.latency(4000.0, 1 / 4000, first_loss=100.0, seen=none) / RTT
    assert 4000 / 21 < rounds < 4000 / 21 + 10  # the window holds it soon again


def test_many_losses_bring_a_seen_one_to_nearly_the_steady_rate() -> None:
    path, none = TcpPath(RTT), TimeoutsSeen(0.0, 0.0)
    for segments in (5_000.0, 50_000.0):  # fewer and more than epochs that are followed
        rate = segments / FREE.latency(segments, 0.01, first_loss=70.0, seen=none)
        assert rate == pytest.approx(path.observed(0.01, none), rel=0.1)


def test_a_lone_first_segment_waits_for_its_acknowledgement() -> None:
    old = Transfer(TcpPath(RTT), initial_window=1, delayed_ack=0.1)
    assert old.latency(1, 0.0) == pytest.approx(RTT + 0.1)
    assert Transfer(TcpPath(RTT), delayed_ack=0.1).latency(10, 0.0) == pytest.approx(RTT)


@given(
    segments=st.floats(1, 1e6),
    loss=st.floats(0, 0.3),
    rtt=st.floats(0.001, 2),
    window=st.one_of(st.just(math.inf), st.floats(4, 1000)),
    more=st.floats(1.1, 4),
)
def test_more_segments_or_a_longer_round_trip_take_longer(
    segments: float, loss: float, rtt: float, window: float, more: float
) -> None:
    took = Transfer(TcpPath(rtt, window=window)).latency(segments, loss)
    assert 0 < took < math.inf
    assert Transfer(TcpPath(rtt * more, window=window)).latency(segments, loss) > took * 0.999
    # Equation 15's two cases do not quite meet either.
    assert Transfer(TcpPath(rtt, window=window)).latency(segments * more, loss) > took * 0.9


@pytest.mark.parametrize(
    ("segments", "loss", "first"),
    [(0, 0.1, None), (math.inf, 0.1, None), (5, -0.1, None), (5, math.nan, None), (5, 0.1, 6),
     (5, 0.1, 0)],
)  # fmt: skip
def test_a_transfer_that_is_none_is_refused(
    segments: float, loss: float, first: float | None
) -> None:
    with pytest.raises(ValueError, match=r"transfer|first_loss"):
        FREE.latency(segments, loss, first_loss=first)


@pytest.mark.parametrize("wrong", [{"initial_window": 0.5}, {"delayed_ack": math.nan}])
def test_a_start_that_is_none_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="no transfer"):
        Transfer(TcpPath(RTT), **wrong)


def test_all_lost_takes_long_but_an_end() -> None:
    assert 0 < FREE.latency(10, 1.0) < math.inf
