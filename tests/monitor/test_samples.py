"""Tests of samples: what the kernel's units are in ours."""

from __future__ import annotations

import pytest

from monitor.observer.datagrams import TRANSPORT
from monitor.samples import SensorKind
from tests.monitor.facts import transport


def test_times_are_seconds() -> None:
    sample = transport(rtt_us=40_000, rttvar_us=5_000, min_rtt_us=30_000, timeout_us=200_000)
    assert (sample.rtt, sample.rttvar) == (pytest.approx(0.04), pytest.approx(0.005))
    assert (sample.min_rtt, sample.timeout) == (pytest.approx(0.03), pytest.approx(0.2))


@pytest.mark.parametrize(("flags", "limited"), [(0, False), (1, True), (2, False), (7, True)])
def test_only_the_first_flag_says_that_the_application_was_the_limit(
    flags: int, limited: bool
) -> None:
    assert transport(limited=flags).application_limited is limited


def test_a_sample_has_a_place_for_each_field_of_the_layout() -> None:
    assert len(transport()) == len(TRANSPORT.unpack(bytes(TRANSPORT.size))) == 19
    assert transport(connection=9)[0] == 9
    assert [kind.value for kind in SensorKind] == [1, 2, 3]  # they are on the wire
