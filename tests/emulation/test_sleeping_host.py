"""A mobile host whose radio sleeps while its channel is bad."""

from __future__ import annotations

import pytest

from emulation.dumbbell import sleeping_host
from emulation.dumbbell.flows import RcpFlow, SackFlow
from emulation.dumbbell.sleeping_host import ASLEEP, BEACON, BEACONS, RECEIVE, SleepingHost
from emulation.dumbbell.worlds import AIR_RATE


def test_a_radio_that_never_sleeps_listens_or_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sleeping_host, "GOOD", 1e9)
    host = SleepingHost(RcpFlow, bad=1.0, sleeps=True)
    assert host.delivered(10.0) > 0.9 * 10 * AIR_RATE * RcpFlow.data / 1_228
    sending = host.air[1].carried / AIR_RATE
    assert 0 < sending < 1
    assert host.energy == pytest.approx(10 * RECEIVE + 0.25 * sending)


def test_a_radio_that_sleeps_takes_little_and_hears_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sleeping_host, "GOOD", 1e-9)
    host = SleepingHost(RcpFlow, bad=1e9, sleeps=True)
    before = host.delivered(0.2)
    energy = host.energy
    assert host.delivered(10.2) == before
    listening = 10 / BEACONS * BEACON
    expected = RECEIVE * listening + ASLEEP * (10 - listening)
    assert host.energy - energy == pytest.approx(expected, rel=0.02)


@pytest.mark.long
def test_what_was_lost_asleep_comes_once_it_is_awake() -> None:
    awake, asleep = (SleepingHost(RcpFlow, bad=2.0, sleeps=sleeps) for sleeps in (False, True))
    rates = [host.delivered(120.0) / 120 for host in (awake, asleep)]
    assert rates[1] > 0.9 * rates[0]
    assert asleep.energy < 0.95 * awake.energy
    assert isinstance(asleep.flow, RcpFlow)
    assert asleep.flow.receiver.pipe.timeouts == 0, "none of its timers runs while it is asleep"


def test_tcp_beside_it_has_the_same_channel() -> None:
    hosts = [SleepingHost(kind, bad=3.0, sleeps=False, seed=5) for kind in (RcpFlow, SackFlow)]
    for at in range(1, 60):
        for host in hosts:
            host.events.run(float(at))
        assert hosts[0].air[0].loss == hosts[1].air[0].loss
    assert {host.air[0].loss for host in hosts} <= {0.0001, 0.1}
