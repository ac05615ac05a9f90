"""Tests of reporters: what goes out, what is said again, and that nothing harms the application."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from monitor.observer.datagrams import MOST, MOST_SAMPLES, Register, Unregister, Update, decode
from monitor.observer.observer import BandwidthObserver
from monitor.samples import ProgressSample, SensorKind
from observation.addresses import datagrams_at
from observation.reporter import RENEW, InProcessReporter, UdpReporter
from tests.observation.observed import named

SND = SensorKind.APP_SND


@pytest.fixture
def heard() -> Iterator[socket.socket]:
    """What a daemon would read from."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.settimeout(60)
        yield bound


def test_all_is_said_in_datagrams_and_the_end_as_well(heard: socket.socket) -> None:
    reporter = UdpReporter(*heard.getsockname())
    reporter.register(named(5), SND)
    reporter.update(SND, [ProgressSample(5, 100)], at=3.0)
    reporter.close()
    said = [decode(heard.recv(MOST)) for _ in range(3)]
    assert said == [
        Register(5, SND, "near.test", "far.test"),
        Update(SND, 3.0, [ProgressSample(5, 100)]),
        Unregister(5, SND),
    ]


def test_connections_are_registered_again_now_and_then(heard: socket.socket) -> None:
    reporter = UdpReporter(*heard.getsockname())
    reporter.register(named(5), SND)
    for at in (0.0, RENEW / 2, RENEW, RENEW + 1):
        reporter.update(SND, [ProgressSample(5, 100)], at=at)
    kinds = [type(decode(heard.recv(MOST))) for _ in range(6)]
    assert kinds == [Register, Update, Update, Register, Update, Update]
    reporter.unregister(5, SND)
    reporter.unregister(5, SND)
    reporter.close()
    assert isinstance(decode(heard.recv(MOST)), Unregister)
    heard.setblocking(False)
    with pytest.raises(BlockingIOError):
        heard.recv(MOST)


def test_a_large_batch_goes_in_several_datagrams(heard: socket.socket) -> None:
    reporter = UdpReporter(*heard.getsockname())
    samples = [ProgressSample(name, 1) for name in range(MOST_SAMPLES + 3)]
    reporter.update(SND, samples, at=0.0)
    got: list[object] = []
    for _ in range(2):
        said = decode(heard.recv(MOST))
        assert isinstance(said, Update)
        got += said.samples
    assert got == samples
    reporter.close()


def test_a_daemon_that_is_gone_is_counted_and_no_more() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        address = bound.getsockname()
    reporter = UdpReporter(*address)
    reporter.register(named(5), SND)
    for at in range(4):
        reporter.update(SND, [ProgressSample(5, 100)], at=float(at))
    assert reporter.lost > 0
    reporter.close()


def test_an_address_that_can_not_be_is_an_error() -> None:
    with pytest.raises(OSError, match=r"not known|[Nn]ame"):
        UdpReporter("no-such-host.invalid", 1)


def test_a_daemon_s_address_may_be_of_either_family() -> None:
    for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
        made, address = datagrams_at(host, 8120)
        with made:
            assert (made.family, made.type, address[:2]) == (
                family, socket.SOCK_DGRAM, (host, 8120)
            )  # fmt: skip


def test_in_process_the_observer_is_told_without_datagrams() -> None:
    observer, clock = BandwidthObserver(most=1), [10.0]
    reporter = InProcessReporter(observer, lambda: clock[0])
    reporter.register(named(5), SND)
    reporter.register(named(6), SND)
    assert reporter.refused == 1
    for at in (3.0, 4.0):
        clock[0] += 1.0
        reporter.update(SND, [ProgressSample(5, int(at * 1000))], at=at)
    found = observer.getinfo(5, now=12.0)[SND]
    assert (found.rate, found.at) == (1000.0, 12.0)
    reporter.unregister(5, SND)
    assert observer.statistics().connections == 0
