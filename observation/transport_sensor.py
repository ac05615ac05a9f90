"""Samples a program's TCP connections on one timer and reports each round as one batch.

The timer's times are absolute, so a round that was late does not shift the next ones. Knows the
loop's clock and TCP_INFO; where reports go is the reporter's business. Source: Bolliger and Gross,
2.2 (tcpmon, tcpmond); Linux answers what they had to add to a kernel.
"""

from __future__ import annotations

import asyncio
import socket

from monitor.samples import SensorKind
from monitor.sensors.transport import TransportSensor
from observation.reporter import MonitoredConnection, Reporter
from transport.tcp.tcp_sample import reader


class TransportMonitor:
    """Watches connections of this process on the running loop, until it is closed."""

    def __init__(self, reporter: Reporter, *, interval: float) -> None:
        """`interval`: seconds between two rounds. Raises ValueError."""
        self._loop = asyncio.get_running_loop()
        self._reporter = reporter
        self._sensor = TransportSensor(interval=interval, now=self._loop.time())
        self._names: set[int] = set()
        self._timer = self._loop.call_at(self._sensor.next_timer(), self._round)

    def watch(self, watched: socket.socket, connection: MonitoredConnection) -> None:
        """Sample this socket, which stays whoever's it is. Raises ValueError: too many."""
        self._sensor.register(connection.name, reader(connection.name, watched))
        self._names.add(connection.name)
        self._reporter.register(connection, SensorKind.TRANSPORT)

    def forget(self, connection: int) -> None:
        """Sample it no more."""
        self._sensor.unregister(connection)
        if connection in self._names:
            self._names.remove(connection)
            self._reporter.unregister(connection, SensorKind.TRANSPORT)

    def close(self) -> None:
        """End the timer; the observer hears that all connections have ended."""
        self._timer.cancel()
        for name in list(self._names):
            self.forget(name)

    def _round(self) -> None:
        now = self._loop.time()
        samples = self._sensor.sample(now=now)
        self._timer = self._loop.call_at(self._sensor.next_timer(), self._round)
        if samples:
            self._reporter.update(SensorKind.TRANSPORT, samples, at=now)
        if len(self._sensor) < len(self._names):  # sockets that were closed meanwhile
            for name in self._names - {sample.connection for sample in samples}:
                self.forget(name)
