"""Tests of estimates of what a link carries: values, which nobody changes under another's hands."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from monitor.estimate import BandwidthEstimate

MEASURED = BandwidthEstimate(48_000.0, 12.5, 1.0, "reports")


def test_what_is_measured_alike_is_the_same() -> None:
    assert BandwidthEstimate(rate=48_000.0, at=12.5, confidence=1.0, source="reports") == MEASURED
    assert len({MEASURED, pickle.loads(pickle.dumps(MEASURED))}) == 1


@pytest.mark.parametrize(
    "change", [{"rate": 1.0}, {"at": 0.0}, {"confidence": 0.1}, {"source": "tcp_info"}]
)
def test_a_later_or_a_less_sure_one_is_another(change: dict[str, object]) -> None:
    assert replace(MEASURED, **change) != MEASURED  # type: ignore[arg-type]


def test_nobody_changes_one_that_others_hold() -> None:
    with pytest.raises(FrozenInstanceError):
        MEASURED.rate = 1.0  # type: ignore[misc]
