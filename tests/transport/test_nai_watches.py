"""Bandwidth callbacks are told once, refusals in words."""

from __future__ import annotations

import pytest

from transport.nai.errors import NaiError, NotTaken
from transport.nai.estimators.bandwidth import MOST_WATCHES, Watches
from transport.nai.headers import RefusalReason, RefusedMessage
from transport.nai.receiving.refusals import Known


def test_a_watch_is_told_of_the_first_estimate_outside_and_no_other() -> None:
    watches = Watches()
    heard: list[float] = []
    watches.add(10.0, 20.0, heard.append)
    assert watches.leaving(10.0) == watches.leaving(20.0) == []
    for watch in watches.leaving(20.5):
        watch.callback(20.5)
    assert heard == [20.5]
    assert watches.leaving(0.0) == []


def test_one_that_is_removed_is_not_told() -> None:
    watches = Watches()
    first, second = (watches.add(1.0, 2.0, lambda rate: None) for _ in range(2))
    watches.remove(first)
    watches.remove(first)
    assert watches.leaving(3.0) == [second]


def test_ranges_that_hold_nothing_and_watches_without_end_are_refused() -> None:
    watches = Watches()
    with pytest.raises(NaiError, match="empty"):
        watches.add(2.0, 1.0, lambda rate: None)
    with pytest.raises(NaiError, match="empty"):
        watches.add(float("nan"), 1.0, lambda rate: None)
    for _ in range(MOST_WATCHES):
        watches.add(1.0, 2.0, lambda rate: None)
    with pytest.raises(NaiError, match="remove some"):
        watches.add(1.0, 2.0, lambda rate: None)


def test_a_refusal_of_nobody_s_message_says_all_the_same_why() -> None:
    known = Known()
    message, error = known.refusal(RefusedMessage(7, RefusalReason.TOO_LARGE, 100))
    assert message is None
    assert isinstance(error, NotTaken)
    assert "100 bytes at most" in str(error)
    assert known.refused == 1
