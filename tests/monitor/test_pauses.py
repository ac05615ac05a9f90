"""Tests of how much a pause ages what is known of a path."""

from __future__ import annotations

import pytest

from monitor.pauses import PAUSE, uncounted


@pytest.mark.parametrize(
    ("pause", "counts"), [(0.0, 0.0), (PAUSE, PAUSE), (30.0, PAUSE), (40.0, PAUSE), (600.0, 30.0)]
)
def test_a_long_pause_counts_as_two_seconds_or_a_twentieth(pause: float, counts: float) -> None:
    assert pause - uncounted(pause) == pytest.approx(counts)
