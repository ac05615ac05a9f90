"""A session reckons with what its link carries, or has carried, and looks at it rarely."""

from __future__ import annotations

import pytest

from monitor.estimate import BandwidthEstimate
from remote_proxy.jobs.link_rate import GLANCE, LinkRate
from tests.remote_proxy.test_fitted_quantum import QuietLink
from transport.link.interface import LinkStatistics


class Looked(QuietLink):
    looks = 0
    seen = 0.0

    def statistics(self) -> LinkStatistics:
        self.looks += 1
        return LinkStatistics(0, 0, 0, 0.0, None, None, self.estimate, None, seen=self.seen)


@pytest.mark.parametrize(
    ("confidence", "seen", "measured", "expected"),
    [
        (1.0, 5000.0, 48_000.0, 48_000.0),
        (0.3, 5000.0, None, 5000.0),
        (0.3, 0.0, None, None),
    ],
)
def test_a_guess_is_no_measurement(
    confidence: float, seen: float, measured: float | None, expected: float | None
) -> None:
    link = Looked()
    link.estimate, link.seen = BandwidthEstimate(48_000.0, 0.0, confidence, "reports"), seen
    rate = LinkRate(link, lambda: 0.0)
    assert (rate.measured, rate.expected) == (measured, expected)


def test_a_look_is_good_for_a_moment() -> None:
    link, now = Looked(), 0.0
    rate = LinkRate(link, lambda: now)
    assert rate.measured is None
    link.estimate = BandwidthEstimate(48_000.0, 0.0, 1.0, "reports")
    for _ in range(100):
        assert rate.expected is None
    assert link.looks == 1
    now = GLANCE
    assert rate.measured == 48_000.0
    assert link.looks == 2
