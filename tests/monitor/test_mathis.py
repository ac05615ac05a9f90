"""The square-root law of TCP's throughput."""

from __future__ import annotations

import math

import pytest

from monitor.models.mathis import PERIODIC, RANDOM, throughput


def test_the_rate_is_that_of_the_equation() -> None:
    rate = throughput(0.01, rtt=0.1, segment_size=1000, constant=PERIODIC["every"])
    assert rate == pytest.approx(122_474, rel=1e-5)
    fourfold = throughput(0.04, rtt=0.1, segment_size=1000, constant=PERIODIC["every"])
    assert fourfold == pytest.approx(rate / 2)
    assert PERIODIC["delayed"] < PERIODIC["every"] < RANDOM["every"]


@pytest.mark.parametrize("loss", [0.0, -0.1, 1.1, math.nan, math.inf])
def test_a_loss_rate_that_is_none_is_refused(loss: float) -> None:
    with pytest.raises(ValueError, match="loss rate"):
        throughput(loss, rtt=0.1, segment_size=1000, constant=1.0)


@pytest.mark.parametrize(("rtt", "size"), [(0, 1000), (math.nan, 1000), (0.1, 0), (0.1, -5)])
def test_a_path_that_is_none_is_refused(rtt: float, size: float) -> None:
    with pytest.raises(ValueError, match="no path"):
        throughput(0.1, rtt=rtt, segment_size=size, constant=1.0)
