"""A device is told what it was refused, and how much it may hold."""

from __future__ import annotations

from remote_proxy.jobs.held_pictures import Gathered
from remote_proxy.jobs.refusals import AGAIN, Refusals


def test_a_device_is_told_at_once_and_then_now_and_again() -> None:
    refusals = Refusals()
    others = {"low busy": 2}
    refusals.begin(others)
    assert refusals.news(others, now=0.0) == ""  # of an earlier session
    others = {"low busy": 5, "levels late": 1}
    assert refusals.news(others, now=1.0) == (
        "The remote proxy left out 1 finer levels of pictures (it took too long), "
        "3 coarse versions of pictures (too many were waiting)"
    )
    refusals.add("gathered memory")
    assert refusals.news(others, now=1.1) == ""
    assert refusals.news(others, now=1.0 + AGAIN) == (
        "The remote proxy left out 1 pictures that would be held whole (remote.memory was full)"
    )
    assert refusals.news(others, now=99.0) == ""
    assert refusals.counts(others) == {"low busy": 5, "levels late": 1, "gathered memory": 1}


def test_pictures_hold_no_more_than_they_may_together() -> None:
    gathered = Gathered(100)
    with gathered.hold() as one:
        assert one.add(60)
        with gathered.hold() as other:
            assert other.add(40)
            assert not other.add(1) and not one.add(1)
        assert one.add(40) and gathered.used == 100
    assert gathered.used == 0
