"""Tests of ImTCP's transmission modes: what a result says of a window."""

from __future__ import annotations

import pytest

from monitor.inline.modes import (
    background_ceiling,
    full_speed_increase,
    full_speed_reduced,
)

PACKET = 1000


def test_in_the_background_a_window_is_a_share_of_what_others_leave() -> None:
    assert background_ceiling(1e6, 0.1, packet=PACKET) == pytest.approx(90)
    assert background_ceiling(1e6, 0.1, packet=PACKET, share=0.5) == pytest.approx(50)


def test_it_is_never_too_small_to_measure_with() -> None:
    assert background_ceiling(1e5, 0.1, packet=PACKET) == 25
    assert background_ceiling(1e5, 0.1, packet=PACKET, count=8) == 40


def test_at_full_speed_a_window_grows_fast_while_it_is_far_from_what_is_available() -> None:
    assert full_speed_increase(20, 1e6, 0.1, packet=PACKET, eagerness=50) == pytest.approx(40)
    assert full_speed_increase(99.5, 1e6, 0.1, packet=PACKET) == 1.0
    assert full_speed_increase(300, 1e6, 0.1, packet=PACKET) == 1.0
    assert full_speed_increase(10, 1e6, 0.0, packet=PACKET) == 1.0, "no round trip is known"


def test_after_a_loss_it_keeps_what_fills_the_path_and_is_never_larger_than_before() -> None:
    assert full_speed_reduced(130, 1e6, 0.1, packet=PACKET) == pytest.approx(125)
    assert full_speed_reduced(100, 1e6, 0.1, packet=PACKET) == 100
    assert full_speed_reduced(400, 1e6, 0.1, packet=PACKET) == 200
