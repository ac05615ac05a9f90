"""The model that fits is chosen by how many loss events there were."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.facts import ConnectionFacts
from monitor.models import model
from monitor.models.padhye import TimeoutsSeen

FACTS = ConnectionFacts(
    at=30.0, since=10.0, rtt=0.1, segment_size=1000, segments=5000, bytes_acked=4_900_000,
    retransmitted=60, loss_events=30.0, first_loss=100,
)  # fmt: skip


def test_from_thirty_loss_events_on_it_is_padhye_s_and_before_cardwell_s() -> None:
    for events, source in ((0.0, "cardwell"), (29.9, "cardwell"), (30.0, "padhye")):
        found = model.estimate(replace(FACTS, loss_events=events))
        assert found is not None
        assert (found.source, found.at) == (source, 30.0)


def test_without_its_start_a_connection_is_judged_by_its_losses_alone() -> None:
    late = replace(FACTS, from_start=False, loss_events=3.0)
    assert model.estimate(late).source == "padhye"
    assert model.estimate(replace(late, loss_events=0.0, receive_window=1e5)) is None
    with pytest.raises(ValueError, match="no known limit"):
        model.long_run(replace(late, loss_events=0.0))
    limited = model.long_run(replace(late, loss_events=0.0, receive_window=1e5, retransmitted=0))
    assert limited.rate == pytest.approx(1e6)


def test_confidence_grows_with_loss_events() -> None:
    sure = [
        model.estimate(replace(FACTS, loss_events=events)).confidence
        for events in (0.0, 5.0, 40.0, 400.0)
    ]
    assert sure == sorted(sure)
    assert 0 < sure[0] < 0.6 < sure[2] < sure[-1] < 1


def test_the_rate_is_of_new_bytes() -> None:
    found = model.estimate(FACTS)
    sent = model.path_of(FACTS).observed(30 / 5000, TimeoutsSeen(0.0, 0.0))
    assert found.rate == pytest.approx(sent * 1000 * (1 - 60 / 5000))


def test_a_window_limits_where_nothing_is_lost() -> None:
    limited = replace(
        FACTS, loss_events=0.0, first_loss=None, retransmitted=0, receive_window=20_000.0,
        segments=10**6,
    )  # fmt: skip
    assert model.estimate(limited).rate == pytest.approx(200_000, rel=0.01)


def test_timeouts_make_it_slower_by_what_they_took() -> None:
    plain = model.estimate(FACTS).rate
    waiting = model.estimate(replace(FACTS, timeouts=10, timeout_seconds=10.0)).rate
    events_a_second = plain / 1000 / (1 - 60 / 5000) * 30 / 5000
    assert plain / waiting == pytest.approx(1 + events_a_second * 10 / 30)


def test_too_little_says_nothing() -> None:
    assert model.estimate(replace(FACTS, segments=9, loss_events=0, retransmitted=0)) is None
    assert model.estimate(replace(FACTS, segments=60, loss_events=30.0)) is None
    none_yet = replace(FACTS, segments=10, loss_events=0.0, retransmitted=0, first_loss=None)
    assert model.estimate(none_yet).rate == pytest.approx(10 * 1000 / 0.1)


def test_a_first_loss_beyond_all_segments_or_without_an_event_is_put_up_with() -> None:
    late = replace(FACTS, loss_events=1.0, first_loss=6000)
    assert model.estimate(late).rate == model.estimate(replace(late, first_loss=5000)).rate
    undone = replace(FACTS, loss_events=0.0, retransmitted=0)
    assert model.estimate(undone).rate == model.estimate(replace(undone, first_loss=None)).rate
    every = replace(FACTS, segments=40, loss_events=40.0, retransmitted=0)
    assert model.estimate(every).rate > 0
