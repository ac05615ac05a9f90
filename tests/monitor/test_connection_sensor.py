"""The sensor makes facts of views: means over round trips, windows, acknowledgements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.facts import ConnectionFacts
from monitor.sensors.connection import ConnectionSensor
from monitor.tcp_view import TcpInfo
from tests.monitor.views import START, USUAL, recovery, script, timed_out, told


def facts(views: list[tuple[float, TcpInfo]]) -> ConnectionFacts:
    sensor = ConnectionSensor()
    told(views, sensor)
    found = sensor.facts()
    assert found is not None
    return found


def test_one_view_says_nothing_nor_does_none() -> None:
    sensor = ConnectionSensor()
    assert sensor.facts() is None
    sensor.add(1.0, None)
    sensor.add(1.0, START)
    sensor.add(1.0, START)  # no time has passed
    assert sensor.facts() is None


def test_counts_are_those_since_the_first_view() -> None:
    found = facts(script({}, recovery(2, 20), USUAL, timed_out(3, 7, acked=20_000), USUAL))
    assert (found.since, found.at) == (100.0, pytest.approx(100.25))
    assert (found.segments, found.bytes_acked, found.retransmitted) == (25, 25_000, 3)
    assert (found.loss_events, found.timeouts, found.first_loss) == (2, 1, 10)
    assert (found.rtt_deviation, found.retransmission_timeout) == (0.01, 0.3)


def test_a_connection_that_had_sent_before_was_not_seen_from_its_start() -> None:
    assert facts(script({}, {})).from_start
    assert not facts(script({}, {}, first=replace(START, segments=11))).from_start
    lossy = replace(START, retransmitted_segments=1)
    assert not facts(script({}, {}, first=lossy)).from_start


def test_the_round_trip_is_the_mean_over_round_trips() -> None:
    found = facts(script({"rtt": 0.1}, {"rtt": 0.3}))
    assert found.rtt == pytest.approx(0.15)  # 50 ms of each are 2/3 of a round trip together


def test_the_receiver_s_window_is_its_mean_and_unknown_of_old_kernels() -> None:
    assert facts(script({"peer_window": 20_000}, {"peer_window": 40_000})).window == 30
    old = replace(START, peer_window=None, buffer_limited=None)
    assert facts(script({}, {}, first=old)).window is None


def test_a_send_buffer_is_a_limit_where_it_kept_the_kernel_from_sending() -> None:
    full = [{"buffer_limited": 0.05 * n, "unacked_segments": 5 + n % 3} for n in range(1, 6)]
    assert facts(script(*full)).send_window == 7000
    hardly = [{}] * 20 + [{"buffer_limited": 0.01}]
    assert facts(script(*hardly)).send_window is None


def test_acknowledgements_are_what_came_without_data() -> None:
    delayed = {"segments_in": 30, "data_segments_in": 5}
    assert facts(script(*[{}] * 9, delayed)).segments_per_ack == 2
    assert facts(script({}, {})).segments_per_ack == 1
    assert facts(script({}, {"segments_in": 1000})).segments_per_ack == 1


def test_a_view_of_another_connection_changes_nothing() -> None:
    views = script({}, {}, {})
    sound = facts(views)
    for name in ("segments", "bytes_acked", "retransmitted_segments"):
        counts = {"segments": 10**6, "bytes_acked": 10**6, name: -1}
        other = replace(START, **counts)
        assert facts([*views, (101.0, other)]) == sound
    for nothing in (replace(views[-1][1], rtt=0.0), replace(views[-1][1], segment_size=0)):
        assert facts([*views, (101.0, nothing)]) == sound
