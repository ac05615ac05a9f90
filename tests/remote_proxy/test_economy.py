"""Economy: the link, the queue and the picture decide whether it is worth adapting."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.jobs.economy import (
    LEAST,
    LONG,
    PAGE,
    TWICE,
    UNMEASURED,
    WORTH,
    AdaptationReason,
    Economy,
)

MODEM, DSL, BROADBAND, FIBRE = 56e3 / 8, 1.6e6 / 8, 20e6 / 8, 100e6 / 8


@pytest.mark.parametrize(
    ("size", "ahead", "rate", "adapts"),
    [
        (30_000, 0, None, True),  # perhaps slow
        (5_000, 0, MODEM, True),
        (30_000, 0, DSL, True),  # others will follow
        (150_000, 0, BROADBAND, False),
        (150_000, 400_000, BROADBAND, True),  # would be waited for behind others
        (30_000, 3_000_000, BROADBAND, False),  # so would it, but is no sooner shown twice
        (30_000, 6_000_000, BROADBAND, True),  # for seconds
        (2_000_000, 0, FIBRE, False),
    ],
)
def test_what_would_be_here_at_once_is_left_alone(
    size: int, ahead: int, rate: float | None, adapts: bool
) -> None:
    assert Economy().adapts(size, ahead=ahead, rate=rate) is adapts


@pytest.mark.parametrize(
    ("size", "ahead", "rate", "work", "outruns"),
    [
        (57_000, 600_000, BROADBAND, 0.12, True),  # a screenshot of 1.5 megapixels
        (57_000, 600_000, BROADBAND, 0.01, False),
        (57_000, 600_000, BROADBAND, 0.0, False),
        (57_000, 6_000_000, BROADBAND, 0.12, False),  # waited for seconds: others' work counts less
        (57_000, 600_000, 5e6 / 8, 0.05, False),
        (57_000, 0, MODEM, 0.12, False),
        (57_000, 0, None, 0.12, False),
    ],
)
def test_what_is_sooner_carried_than_made_is_not_adapted(
    size: int, ahead: int, rate: float | None, work: float, outruns: bool
) -> None:
    assert Economy().outruns(size, ahead=ahead, rate=rate, work=work) is outruns
    assert not Economy().outruns(size, ahead=ahead, rate=rate, work=work, worth=0.0)


@pytest.mark.parametrize(
    ("size", "ahead", "rate", "work", "refines"),
    [
        (30_000, 0, None, 9.0, True),
        (30_000, 0, DSL, 0.008, True),  # a page of such takes seconds
        (30_000, 0, DSL, 0.02, False),  # on a machine that is too slow, or busy
        (40_000, 300_000, 2e6 / 8, 0.01, True),
        (40_000, 100_000, 5e6 / 8, 0.0, False),
        (40_000, 3_000_000, 5e6 / 8, 0.007, True),  # waited for behind many others
        (40_000, 3_000_000, 5e6 / 8, 0.01, False),  # so is the work
        (2_000_000, 0, BROADBAND, 0.0, False),
    ],
)
def test_finer_levels_are_for_who_would_wait_a_second_and_where_they_end_sooner(
    size: int, ahead: int, rate: float | None, work: float, refines: bool
) -> None:
    economy = Economy()
    assert economy.refines(size, ahead=ahead, rate=rate, work=work, saves=0.06) is refines
    assert economy.counts() == ({} if refines else {AdaptationReason.WHOLE: 1})


def test_decisions_are_counted_by_what_decided() -> None:
    economy = Economy()
    for rate in (None, MODEM, FIBRE, FIBRE):
        economy.adapts(9_000, ahead=0, rate=rate)
    economy.late()
    assert economy.counts() == {
        AdaptationReason.UNMEASURED: 1,
        AdaptationReason.SLOW: 1,
        AdaptationReason.SOON: 2,
        AdaptationReason.LATE: 1,
    }


def test_sketches_are_made_quickly_where_the_link_is_quick() -> None:
    assert [Economy().hurries(rate) for rate in (None, MODEM, DSL, BROADBAND)] == [
        *(False, False, False),
        True,
    ]
    assert not Economy().hurries(BROADBAND, worth=0.0)
    assert not Economy(worth=0.0).hurries(BROADBAND)


def test_another_price_moves_the_line() -> None:
    assert Economy().adapts(1, ahead=0, rate=FIBRE, worth=0.0)
    assert not Economy().adapts(30_000, ahead=0, rate=MODEM, worth=60.0)


@given(st.integers(1, 10**8), st.integers(0, 10**8), st.floats(100.0, 1e9))
def test_work_gets_the_time_that_the_link_needs_anyhow(size: int, ahead: int, rate: float) -> None:
    economy = Economy()
    assert economy.patience(ahead + size, rate=rate, shown=True) >= LEAST
    waits = (max(ahead, PAGE) + size) / rate
    here_at_once = waits < WORTH or (waits < LONG * WORTH and size / rate < TWICE * WORTH)
    assert economy.adapts(size, ahead=ahead, rate=rate) is not here_at_once
    assert economy.patience(size, rate=None, shown=False) == inf
    assert economy.patience(size, rate=None, shown=True) == UNMEASURED


def test_the_device_is_told_once_a_second_at_most_and_all_in_the_end() -> None:
    economy = Economy()
    assert economy.news(0.0) is None
    economy.late()
    assert economy.news(0.0) == {"late": 1}
    assert economy.news(5.0) is None
    assert not economy.untold
    for now in (5.0, 5.1, 5.9):
        economy.late()
        told = economy.news(now)
        assert (told is not None) == (now == 5.0)
    assert economy.untold
    assert economy.news(6.0) == {"late": 4}


@pytest.mark.parametrize(
    ("size", "rate", "most"), [(40_000, 48_000.0, 4), (40_000, 7_000.0, 28), (None, None, 21)]
)
def test_a_text_waits_for_coders_no_longer_than_that_saves(
    size: int | None, rate: float | None, most: int
) -> None:
    economy = Economy()
    gains = [economy.waits_for_coders(size, rate=rate, waiting=waiting) for waiting in range(40)]
    assert gains == [waiting <= most for waiting in range(40)]
