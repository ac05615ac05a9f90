"""Tests of the observer: whose word counts, what is cached, and what is let go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.estimate import BandwidthEstimate
from monitor.observer.observer import IDLE, SWEEP, BandwidthObserver, Registration
from monitor.samples import ProgressSample, SensorKind, TransportSample
from tests.monitor.facts import transport

SND, RCV, TRANSPORT = SensorKind.APP_SND, SensorKind.APP_RCV, SensorKind.TRANSPORT


def observing(*names: int, sensor: SensorKind = SND) -> BandwidthObserver:
    """One to which these connections, of "us", carry 1000 bytes/second times their name."""
    observer = BandwidthObserver()
    for name in names:
        observer.register(name, "a", "b", sensor=sensor, now=0.0, owner="us")
    for at in (0.0, 1.0):
        said = [ProgressSample(name, int(1000 * name * at)) for name in names]
        observer.update(sensor, said, at=at, now=at, owner="us")
    return observer


def test_a_connection_is_known_from_its_second_report_until_it_ends() -> None:
    observer = observing(3)
    assert observer.getinfo(3, now=1.0) == {SND: BandwidthEstimate(3000.0, 1.0, 0.5, "app_snd")}
    assert observer.getinfo(4, now=1.0) == {}
    assert observer.unregister(3, sensor=SND, owner="us") is Registration.DONE
    assert observer.getinfo(3, now=1.0) == {}
    assert observer.unregister(3, sensor=SND, owner="us") is Registration.UNKNOWN
    assert repr(observer) == "<BandwidthObserver of 0 connections>"


def test_one_connection_may_have_sensors_of_all_kinds_at_once() -> None:
    observer = observing(3)
    for sensor, owner in ((RCV, "them"), (TRANSPORT, "us")):
        done = observer.register(3, "a", "b", sensor=sensor, now=1.0, owner=owner)
        assert done is Registration.DONE
    for at in (5.0, 6.0):
        observer.update(RCV, [ProgressSample(3, int(at) * 2800)], at=at, now=at, owner="them")
        acked = [transport(connection=3, acked=int(at) * 2900)]
        observer.update(TRANSPORT, acked, at=at, now=at, owner="us")
    found = observer.getinfo(3, now=6.0)
    rates = {kind.name: estimate.rate for kind, estimate in found.items()}
    assert rates == {"TRANSPORT": 2900.0, "APP_RCV": 2800.0, "APP_SND": 3000.0}
    assert list(found) == [TRANSPORT, RCV, SND]
    between = observer.getinfo_between("a", "b", now=6.0)
    assert between is not None
    assert (between.connections, between.rate) == (1, 2900.0)
    only = observer.getinfo_between("a", "b", now=6.0, sensor=SND)
    assert only is not None and (only.rate, only.at) == (3000.0, 1.0)
    assert observer.facts(3) == acked[0]
    assert observer.facts(4) is None


def test_nobody_speaks_for_the_connection_of_another() -> None:
    observer = observing(3)
    assert (
        observer.register(3, "x", "y", sensor=SND, now=2.0, owner="mallory") is Registration.TAKEN
    )
    assert observer.unregister(3, sensor=SND, owner="mallory") is Registration.TAKEN
    lie = [ProgressSample(3, 10**12)]
    assert observer.update(SND, lie, at=2.0, now=2.0, owner="mallory") == 0
    assert observer.update(RCV, lie, at=2.0, now=2.0, owner="us") == 0  # no such sensor
    assert observer.getinfo(3, now=1.0)[SND].rate == 3000.0
    said = observer.statistics()
    assert (said.strays, said.refused, said.samples) == (2, 2, 2)


def test_all_between_two_hosts_count_together_the_surer_by_their_rate() -> None:
    observer = observing(1, 2, 3)
    observer.register(9, "a", "elsewhere", sensor=SND, now=0.0, owner="us")
    found = observer.getinfo_between("a", "b", now=1.0)
    assert found is not None
    assert (found.connections, found.rate, found.at) == (3, 6000.0, 1.0)
    assert found.confidence == pytest.approx(0.5)
    assert observer.getinfo_between("a", "elsewhere", now=1.0) is None  # no report yet
    assert observer.getinfo_between("b", "a", now=1.0) is None


def test_connections_that_stand_still_are_as_sure_as_they_are() -> None:
    observer = BandwidthObserver()
    observer.register(1, "a", "b", sensor=SND, now=0.0)
    for at in (0.0, 2.0):
        observer.update(SND, [ProgressSample(1, 5)], at=at, now=at)
    found = observer.getinfo_between("a", "b", now=2.0)
    assert found is not None and (found.rate, found.confidence) == (0.0, 0.5)


def test_registered_once_more_it_keeps_what_is_known_and_may_have_moved() -> None:
    observer = observing(3)
    assert observer.register(3, "a", "c", sensor=SND, now=1.0, owner="us") is Registration.DONE
    assert observer.getinfo(3, now=1.0)[SND].rate == 3000.0
    assert observer.getinfo_between("a", "b", now=1.0) is None
    assert observer.getinfo_between("a", "c", now=1.0) is not None


def test_an_estimate_is_less_sure_the_older_it_is() -> None:
    observer = observing(3)
    new, old = (observer.getinfo(3, now=at)[SND].confidence for at in (1.0, 61.0))
    assert (new, old) == (0.5, pytest.approx(0.25))


def test_what_is_idle_is_let_go_and_its_name_is_free() -> None:
    observer = observing(3)
    assert observer.getinfo(3, now=1.0 + IDLE) == {}
    done = observer.register(3, "x", "y", sensor=SND, now=1.0 + IDLE, owner="other")
    assert done is Registration.DONE
    assert not observer.owns("us") and observer.owns("other")
    assert observer.getinfo_between("a", "b", now=1.0 + IDLE) is None
    assert observer.let_go(now=2 * IDLE + 2.0) == 1
    assert observer.statistics().connections == 0


def test_updates_of_others_let_go_what_is_idle() -> None:
    observer = observing(3)
    observer.register(5, "a", "b", sensor=SND, now=IDLE, owner="us")
    observer.update(SND, [ProgressSample(5, 1)], at=0.0, now=IDLE + 1.0 + SWEEP, owner="us")
    assert (observer.statistics().connections, observer.statistics().let_go) == (1, 1)


def test_places_are_bounded_in_all_and_for_one() -> None:
    observer = BandwidthObserver(most=3, most_of_one=2)
    outcomes = [
        observer.register(name, "a", "b", sensor=SND, now=0.0, owner=owner)
        for name, owner in ((1, "x"), (2, "x"), (3, "x"), (3, "y"), (4, "y"), (1, "x"))
    ]
    full, done = Registration.FULL, Registration.DONE
    assert outcomes == [done, done, full, done, full, done]
    late = observer.register(4, "a", "b", sensor=SND, now=IDLE, owner="y")
    assert late is Registration.DONE  # idle ones made place


def test_another_model_of_tcp_plugs_in_and_remembers_each_connection() -> None:
    class Counts:
        """Takes the number of samples for the rate."""

        def __init__(self) -> None:
            self.seen = 0

        def estimate(
            self, sample: TransportSample, *, at: float, now: float
        ) -> BandwidthEstimate | None:
            self.seen += 1
            return BandwidthEstimate(float(self.seen), now, 1.0, "counts")

    observer = BandwidthObserver(model=Counts)
    for name in (1, 2):
        observer.register(name, "a", "b", sensor=TRANSPORT, now=0.0)
    observer.update(TRANSPORT, [transport(connection=1)] * 3, at=0.0, now=0.0)
    observer.update(TRANSPORT, [transport(connection=2)], at=0.0, now=0.0)
    rates = [observer.getinfo(name, now=0.0)[TRANSPORT].rate for name in (1, 2)]
    assert rates == [3.0, 1.0]


steps = st.lists(
    st.tuples(
        st.sampled_from(("register", "unregister", "update", "ask", "let go")),
        st.integers(0, 4),
        st.sampled_from(SensorKind),
        st.sampled_from(("us", "them")),
        st.sampled_from(("a", "b")),
        st.floats(0, 100),
    )
)


@given(steps)
def test_it_never_holds_more_than_it_may_and_forgets_whole(
    done: list[tuple[str, int, SensorKind, str, str, float]],
) -> None:
    observer, now = BandwidthObserver(most=6, most_of_one=4), 0.0
    for what, name, sensor, owner, host, wait in done:
        now += wait
        if what == "register":
            observer.register(name, host, "z", sensor=sensor, now=now, owner=owner)
        elif what == "unregister":
            observer.unregister(name, sensor=sensor, owner=owner)
        elif what == "update" and sensor is TRANSPORT:
            observer.update(sensor, [transport(connection=name)], at=now, now=now, owner=owner)
        elif what == "update":
            observer.update(sensor, [ProgressSample(name, 5)], at=now, now=now, owner=owner)
        elif what == "ask":
            observer.getinfo_between(host, "z", now=now)
        else:
            observer.let_go(now=now)
        assert observer.statistics().connections <= 6
    observer.let_go(now=now + IDLE)
    assert observer.statistics().connections == 0
    assert not observer.owns("us") and not observer.owns("them")
