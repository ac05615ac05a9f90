"""Tests of ImTCP's transmission modes: what a result says of a window."""

from __future__ import annotations

import pytest

from monitor.inline.modes import (
    QUEUE,
    BackgroundWindow,
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


def behind(available: float = 1e6, round_trip: float = 0.1) -> BackgroundWindow:
    """A window that has a result, and nothing in front of it."""
    window = BackgroundWindow(packet=PACKET)
    window.measured(available)
    window.acknowledged(1, round_trip)
    return window


def test_before_the_first_result_the_background_has_no_bound() -> None:
    window = BackgroundWindow(packet=PACKET)
    window.acknowledged(1, 0.1)
    assert window.packets == float("inf")


def test_a_queue_takes_the_background_back_at_once_and_down_to_what_measuring_needs() -> None:
    window = behind()
    assert window.packets == pytest.approx(90)
    own = 5 * PACKET / 1e6
    window.acknowledged(1, 0.1 + own)
    assert window.packets == pytest.approx(90), "a stream of its own makes that queue"
    window.acknowledged(1, 0.1 + own + QUEUE / 3)
    assert window.packets == pytest.approx(60)
    window.acknowledged(1, 0.1 + own + QUEUE)
    assert window.packets == 25


def test_it_comes_back_by_a_tenth_in_a_round_trip() -> None:
    window = behind()
    window.acknowledged(1, 0.5)
    window.acknowledged(25, 0.1)
    assert window.packets == pytest.approx(27.5)
    for _ in range(20):
        window.acknowledged(round(window.packets), 0.1)
    assert window.packets == pytest.approx(90), "and no further"


def test_a_loss_halves_what_the_background_may_have() -> None:
    window = behind()
    window.lost()
    window.acknowledged(1, 0.1)
    assert window.packets == pytest.approx(45.1)


def test_at_full_speed_a_window_grows_fast_while_it_is_far_from_what_is_available() -> None:
    assert full_speed_increase(20, 1e6, 0.1, packet=PACKET, eagerness=50) == pytest.approx(40)
    assert full_speed_increase(99.5, 1e6, 0.1, packet=PACKET) == 1.0
    assert full_speed_increase(300, 1e6, 0.1, packet=PACKET) == 1.0
    assert full_speed_increase(10, 1e6, 0.0, packet=PACKET) == 1.0, "no round trip is known"


def test_after_a_loss_it_keeps_what_fills_the_path_and_is_never_larger_than_before() -> None:
    assert full_speed_reduced(130, 1e6, 0.1, packet=PACKET) == pytest.approx(125)
    assert full_speed_reduced(100, 1e6, 0.1, packet=PACKET) == 100
    assert full_speed_reduced(400, 1e6, 0.1, packet=PACKET) == 200
