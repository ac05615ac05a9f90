"""How long TCP's models wait, held against RFC 6298's own arithmetic."""

from __future__ import annotations

import pytest

from emulation.tcp.retransmission_timeout import LEAST, MOST, RetransmissionTimeout


def test_before_anything_is_measured_it_is_a_second() -> None:
    assert RetransmissionTimeout().seconds == 1.0


def test_it_is_the_mean_and_four_times_how_it_varies() -> None:
    timeout = RetransmissionTimeout()
    timeout.measured(0.4)
    assert timeout.seconds == pytest.approx(0.4 + 4 * 0.2)  # RFC 6298, 2.2
    timeout.measured(0.8)  # 2.3: the variation first, by the mean of before
    assert timeout.seconds == pytest.approx(0.45 + 4 * (0.2 * 3 / 4 + 0.4 / 4))


def test_a_steady_round_trip_ends_at_the_least() -> None:
    timeout = RetransmissionTimeout()
    for _ in range(200):
        timeout.measured(0.01)
    assert timeout.seconds == LEAST


def test_it_doubles_until_something_comes_and_never_beyond_a_minute() -> None:
    timeout = RetransmissionTimeout()
    found = []
    for _ in range(8):
        found.append(timeout.seconds)
        timeout.back_off()
    assert found == [1, 2, 4, 8, 16, 32, MOST, MOST]
    assert timeout.backed_off
    timeout.relax()
    assert timeout.seconds == 1.0 and not timeout.backed_off
