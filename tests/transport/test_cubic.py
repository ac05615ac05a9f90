"""A window grows and is cut as CUBIC's is (RFC 9438)."""

from __future__ import annotations

import pytest

from transport.contention.cubic import SEGMENT, Cubic

WINDOW = 100.0 * SEGMENT


def grown(cubic: Cubic, *, seconds: float, loop: float, since: float = 0.0) -> float:
    """After round trips that were all used up."""
    for number in range(round(seconds / loop)):
        cubic.round(since + number * loop, loop=loop)
    return cubic.window


def test_after_a_loss_it_is_level_where_it_was_lost_and_then_grows_faster_and_faster() -> None:
    cubic = Cubic()
    cubic.begin(WINDOW)
    cubic.cut()
    assert cubic.window == pytest.approx(0.7 * WINDOW)
    level = (0.3 * 100 / 0.4) ** (1 / 3)  # K, in seconds (4.2)
    assert grown(cubic, seconds=level, loop=0.2) == pytest.approx(WINDOW, rel=0.02)
    assert grown(cubic, seconds=2.0, loop=0.2, since=level) == pytest.approx(
        WINDOW + 0.4 * 2.0**3 * SEGMENT, rel=0.03
    )


def test_on_a_short_path_it_has_as_much_as_reno() -> None:
    """.53 segments a round trip up to where it was lost (4.3), where the curve is slower."""
    cubic = Cubic()
    cubic.begin(20.0 * SEGMENT)
    cubic.cut()
    rounds = 8
    assert grown(cubic, seconds=rounds * 0.01, loop=0.01) == pytest.approx(
        (14 + rounds * 9 / 17) * SEGMENT
    )


def test_in_one_round_trip_it_grows_by_half_at_most() -> None:
    cubic = Cubic()
    cubic.begin(10.0 * SEGMENT)
    before = cubic.window
    for number in range(12):
        cubic.round(number * 5.0, loop=5.0)
        assert cubic.window <= 1.5 * before
        before = cubic.window


def test_who_is_lost_below_where_he_was_lost_before_leaves_room() -> None:
    once, twice = Cubic(), Cubic()
    for cubic in (once, twice):
        cubic.begin(WINDOW)
        cubic.cut()
    twice.cut()
    once.begin(twice.window / 0.7)
    once.cut()
    assert once.window == twice.window
    assert grown(twice, seconds=4.0, loop=0.2) < WINDOW * 0.7
    assert grown(once, seconds=4.0, loop=0.2) == pytest.approx(WINDOW * 0.7, rel=0.1)


def test_what_was_held_goes_on_from_there() -> None:
    cubic = Cubic()
    cubic.begin(WINDOW)
    grown(cubic, seconds=3.0, loop=0.5)
    cubic.rest(WINDOW / 2)
    cubic.round(100.0, loop=0.5)
    assert WINDOW / 2 < cubic.window <= 0.75 * WINDOW


def test_a_rest_does_not_count() -> None:
    once, rested = Cubic(), Cubic()
    for cubic in (once, rested):
        cubic.begin(WINDOW)
        grown(cubic, seconds=2.0, loop=0.2)
    once.round(2.0, loop=0.2)
    rested.round(3600.0, loop=0.2)
    assert rested.window <= 1.05 * once.window


def test_a_loss_leaves_two_segments() -> None:
    cubic = Cubic()
    cubic.begin(10.0 * SEGMENT)
    for _ in range(20):
        cubic.cut()
    assert cubic.window == 2 * SEGMENT
