"""Tests of how many round trips lie between measurements."""

from __future__ import annotations

from monitor.inline.pause import CONGESTED, AdaptivePause


def test_measurements_follow_each_other_until_something_is_lost() -> None:
    pause = AdaptivePause(after=2)
    assert [pause(), pause()] == [0.0, 0.0]
    pause.lost()
    pause.lost()
    assert [pause() for _ in range(3)] == [CONGESTED, CONGESTED, 0.0]


def test_another_loss_begins_anew() -> None:
    pause = AdaptivePause(congested=7.0, after=2)
    pause.lost()
    assert pause() == 7.0
    pause.lost()
    assert [pause() for _ in range(3)] == [7.0, 7.0, 0.0]
