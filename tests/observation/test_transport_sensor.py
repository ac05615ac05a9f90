"""Tests of the transport sensor on real connections: batches at even times, until they close."""

from __future__ import annotations

import asyncio

from monitor.samples import Samples, SensorKind, TransportSample
from observation.reporter import MonitoredConnection
from observation.transport_sensor import TransportMonitor
from tests.observation.observed import carry, named, tcp
from tests.watched import run, until

TRANSPORT = SensorKind.TRANSPORT


class Kept:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.known: set[int] = set()
        self.batches: list[tuple[float, Samples]] = []

    def register(self, connection: MonitoredConnection, sensor: SensorKind) -> None:
        assert sensor is TRANSPORT
        self.known.add(connection.name)

    def unregister(self, connection: int, sensor: SensorKind) -> None:
        self.known.remove(connection)

    def update(self, sensor: SensorKind, samples: Samples, *, at: float) -> None:
        assert sensor is TRANSPORT
        self.batches.append((at, samples))


def test_all_connections_are_sampled_together_and_again_and_again() -> None:
    async def main() -> None:
        kept = Kept()
        monitor = TransportMonitor(kept, interval=0.02)
        with tcp() as (near, far), tcp() as (other, _):
            monitor.watch(near, named(1))
            monitor.watch(other, named(2))
            carry(near, far, 100_000)
            await until(lambda: len(kept.batches) >= 4)
            monitor.close()
        assert kept.known == set()
        at, samples = kept.batches[-1]
        assert [sample[0] for sample in samples] == [1, 2]
        one = samples[0]
        assert isinstance(one, TransportSample)
        assert one.acked >= 90_000
        times = [when for when, _ in kept.batches]
        assert times == sorted(times)
        before = len(kept.batches)
        await asyncio.sleep(0.05)
        assert len(kept.batches) == before  # it has ended
        assert at > times[0]

    run(main())


def test_a_socket_that_closes_is_forgotten_and_without_any_nothing_is_reported() -> None:
    async def main() -> None:
        kept = Kept()
        monitor = TransportMonitor(kept, interval=0.01)
        with tcp() as (near, _):
            monitor.watch(near, named(1))
            await until(lambda: kept.batches)
        await until(lambda: not kept.known)
        count = len(kept.batches)
        await asyncio.sleep(0.03)
        assert len(kept.batches) == count
        monitor.forget(1)
        monitor.close()

    run(main())
