"""A usual round trip is looked at without a queue, and used where it is longer than the least."""

import pytest

from transport.spp.congestion.usual_trip import UsualTrip

LEAST = 0.06
OWN = 0.003


def rounds(usual: UsualTrip, count: int, *, trip: float, searching: bool = False) -> None:
    for _ in range(count):
        usual.came(trip)
        usual.end_round(0.0, 0, searching=searching, less=False)


@pytest.mark.parametrize(("trip", "base"), [(0.08, 0.08), (0.064, LEAST), (0.2, 2 * LEAST)])
def test_it_is_used_where_it_is_longer_and_within_twice_the_least(trip: float, base: float) -> None:
    usual = UsualTrip()
    usual.came(trip)
    usual.see(LEAST, own=OWN)
    assert usual.base(LEAST) == pytest.approx(base)
    usual.forget()
    assert usual.base(LEAST) == LEAST


def test_where_what_is_always_under_way_makes_up_for_it_it_is_not() -> None:
    usual = UsualTrip()
    usual.came(0.08)
    usual.see(LEAST, own=0.015)
    assert usual.base(LEAST) == LEAST


@pytest.fixture
def due() -> UsualTrip:
    """One of whose path a look is due."""
    usual = UsualTrip()
    rounds(usual, 3, trip=0.3, searching=True)
    rounds(usual, 4, trip=0.08)
    usual.came(0.08)
    return usual


def test_it_is_looked_for_when_the_queue_of_the_search_is_gone(due: UsualTrip) -> None:
    assert not due.unexplained(LEAST, own=0.03)
    assert due.unexplained(LEAST, own=OWN)


@pytest.mark.parametrize(
    ("seen", "again"),
    [
        pytest.param(0.0625, False, id="nothing"),
        pytest.param(0.065, True, id="too-little"),
        pytest.param(0.075, False, id="enough"),
    ],
)
def test_it_is_looked_for_again_where_one_look_is_not_sure(
    due: UsualTrip, seen: float, again: bool
) -> None:
    """A round of few packets may be a lucky one."""
    rounds(due, 1, trip=0.08)
    due.came(seen)
    due.see(LEAST, own=OWN)
    rounds(due, 1, trip=seen)
    due.came(0.08)
    assert due.unexplained(LEAST, own=OWN) == again
    rounds(due, 2, trip=0.08)
    due.came(0.08)
    assert not due.unexplained(LEAST, own=OWN)  # it is too late


def test_another_path_is_looked_at_anew() -> None:
    usual = UsualTrip()
    rounds(usual, 20, trip=0.08)
    usual.forget(5_000.0)
    rounds(usual, 4, trip=0.08)
    usual.came(0.08)
    assert usual.unexplained(LEAST, own=OWN)


def test_what_waits_long_after_a_search_is_the_queue_of_others() -> None:
    usual = UsualTrip()
    rounds(usual, 20, trip=LEAST)
    usual.came(0.2)
    assert not usual.unexplained(LEAST, own=OWN)


def test_its_rate_is_that_of_whole_rounds() -> None:
    usual = UsualTrip()
    for now, delivered in ((0.0, 0), (0.1, 1_000), (0.2, 3_000), (0.3, 3_500)):
        usual.end_round(now, delivered, searching=False, less=False)
    assert usual.rate == pytest.approx(20_000)
    for now in (0.4, 0.5, 0.6, 0.7):
        usual.end_round(now, 3_500, searching=False, less=False)
    assert usual.rate == pytest.approx(5_000)
    usual.end_round(0.8, 3_500, searching=False, less=True)
    usual.end_round(0.9, 3_900, searching=False, less=False)
    usual.end_round(1.0, 3_900, searching=False, less=True)  # less was asked for
    assert usual.rate == pytest.approx(4_000)
    usual.forget(700.0)
    assert usual.rate == 700.0


def test_the_queue_of_what_stood_is_our_own() -> None:
    """It was given to its path at once, a page's first window."""
    usual = UsualTrip()
    rounds(usual, 5, trip=LEAST * 1.25)
    usual.came(LEAST * 1.25)
    assert usual.unexplained(LEAST, own=0.001)
    usual.stood()
    assert not usual.unexplained(LEAST, own=LEAST / 10)
    rounds(usual, 2, trip=LEAST * 1.25)
    usual.came(LEAST * 1.25)
    assert usual.unexplained(LEAST, own=LEAST / 10)
