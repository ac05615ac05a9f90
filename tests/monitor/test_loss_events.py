"""Loss events and timeouts are inferred from scripted views, once each."""

from __future__ import annotations

import pytest

from monitor.sensors.loss_events import LossEvents
from monitor.tcp_view import DISORDER, REDUCED, TcpInfo
from tests.monitor.views import START, USUAL, recovery, script, timed_out, told


def counted(views: list[tuple[float, TcpInfo]]) -> LossEvents:
    losses = LossEvents()
    told(views, losses)
    return losses


def test_without_a_loss_there_is_none() -> None:
    losses = counted(script({}, {"congestion_state": DISORDER}, USUAL, {}))
    assert (losses.events, losses.timeouts, losses.first_loss) == (0, 0, None)


def test_a_recovery_over_several_views_is_one_event_whatever_it_has_lost() -> None:
    losses = counted(script({}, recovery(1, 20), recovery(9, 20), recovery(17, 20), USUAL))
    assert (losses.events, losses.timeouts) == (1, 0)
    assert losses.first_loss == START.segments + 10


def test_a_second_recovery_between_two_views_shows_in_the_threshold() -> None:
    assert counted(script(recovery(3, 20), recovery(5, 10), USUAL)).events == 2
    assert counted(script(recovery(3, 20), {**USUAL, **recovery(5, 20)}, USUAL)).events == 1
    gone = {**recovery(5, 10), **USUAL}
    assert counted(script(recovery(3, 20), gone)).events == 2


def test_a_recovery_that_no_view_saw_shows_in_segments_sent_again() -> None:
    gone = {"retransmitted_segments": 2, "slow_start_threshold": 20}
    assert counted(script({}, gone, {})).events == 1


def test_a_probe_that_changes_nothing_is_no_loss() -> None:
    settled = {"slow_start_threshold": 20}
    assert counted(script(settled, {"retransmitted_segments": 1}, {})).events == 0
    smaller = {"retransmitted_segments": 1, "window_segments": 5}
    assert counted(script(settled, smaller, {})).events == 1


def test_where_several_round_trips_pass_between_views_there_may_have_been_several_events() -> None:
    gone = {"retransmitted_segments": 4, "slow_start_threshold": 5, "rtt": 0.01}
    events = counted(script({}, gone, {})).events
    assert events == pytest.approx(5 * (1 - (4 / 5) ** 4))  # 4 losses on 5 round trips
    alone = {**gone, "retransmitted_segments": 1}
    assert counted(script({}, alone)).events == 1
    assert counted(script({}, {**gone, "rtt": 0.0})).events == 1


def test_a_window_reduced_for_a_mark_is_an_event_without_a_loss() -> None:
    reduced = {"congestion_state": REDUCED, "slow_start_threshold": 5}
    losses = counted(script({}, reduced, reduced, USUAL))
    assert (losses.events, losses.timeouts) == (1, 0)


def test_a_loss_that_the_kernel_takes_back_does_not_count() -> None:
    begun = {"slow_start_threshold": 40}
    losses = counted(script(begun, recovery(3, 20), {**USUAL, "slow_start_threshold": 40}))
    assert losses.events == 0
    kept = counted(script(begun, recovery(3, 20), USUAL))
    assert kept.events == 1


def test_a_timeout_takes_from_the_last_progress_to_the_next() -> None:
    views = script(
        {},  # progress at 0.05 s
        {"bytes_acked": 5000},
        {"bytes_acked": 5000},
        timed_out(1, 5, acked=5000),
        timed_out(2, 5, acked=5000, backoff=2),
        timed_out(2, 5, acked=6000, backoff=0),  # ... and at 0.3 s
        {**USUAL, "bytes_acked": 20_000},
    )
    losses = counted(views)
    assert (losses.events, losses.timeouts) == (1, 1)
    assert losses.timeout_seconds == pytest.approx(0.25)


def test_a_timeout_that_lasts_counts_as_far_as_it_has_come() -> None:
    over = {**USUAL, "bytes_acked": 6000}
    again = timed_out(2, 4, acked=6000)
    losses = counted(script({}, timed_out(1, 5, acked=5000), over, again, again, again))
    assert losses.timeouts == 2
    assert losses.timeout_seconds == pytest.approx(0.1 + 0.15)


def test_a_timeout_within_a_recovery_is_the_same_event() -> None:
    losses = counted(script(recovery(1, 20), timed_out(2, 20, acked=5000), USUAL))
    assert (losses.events, losses.timeouts) == (1, 1)


def test_another_timeout_in_what_the_first_had_begun_to_repair_counts() -> None:
    first = timed_out(1, 5, acked=5000)
    mended = timed_out(1, 5, acked=6000, backoff=0)
    again = timed_out(2, 5, acked=6000)
    done = {**USUAL, "bytes_acked": 9000}
    losses = counted(script({}, first, mended, again, done))
    assert (losses.timeouts, losses.events) == (2, 1)
    assert losses.timeout_seconds == pytest.approx(0.2)


def test_views_that_go_back_are_left_out() -> None:
    views = script({}, recovery(3, 20), USUAL)
    losses = counted([*views, views[1], (99.0, views[2][1])])
    assert losses.events == 1
