"""Wraps a socket's send and receive: app-snd and app-rcv on real sockets.

What passes is counted, and reported at the first call after 1/f seconds. All else of the socket is
left as it is. For sockets of blocking and of non-blocking programs alike; who uses a transport of
asyncio's watches its socket with the transport sensor. Source: Bolliger and Gross, 2.2.
"""

from __future__ import annotations

import socket
import time
from typing import Any, Final

from monitor.samples import ProgressSample, SensorKind
from monitor.sensors.app import AppSensor
from observation.reporter import MonitoredConnection, Reporter

SLICE: Final = 1 << 16
"""Bytes that `sendall` sends at a time: a blocking socket would take all before it tells."""


class MonitoredSocket:
    """A socket that reports what is sent (app-snd) or received (app-rcv) on it."""

    def __init__(
        self,
        wrapped: socket.socket,
        connection: MonitoredConnection,
        reporter: Reporter,
        *,
        sensor: SensorKind,
        interval: float,
    ) -> None:
        """`interval`: seconds between two reports at least. Raises ValueError."""
        if sensor is SensorKind.TRANSPORT:
            raise ValueError("a wrapper sees no transport; that is the transport sensor's")
        self.wrapped = wrapped
        self._connection = connection.name
        self._reporter = reporter
        self._kind = sensor
        self._sensor = AppSensor(interval=interval)
        self._sends = sensor is SensorKind.APP_SND
        reporter.register(connection, sensor)

    def send(self, data: Any, flags: int = 0) -> int:
        """Send as the socket does; the bytes that it took count."""
        sent = self.wrapped.send(data, flags)
        if self._sends:
            self._count(sent)
        return sent

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all of it, in turns, so that a long one is reported while it goes.

        A time limit of the socket is for each turn.
        """
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[self.send(rest[:SLICE], flags) :]

    def recv(self, most: int, flags: int = 0) -> bytes:
        """Receive as the socket does; what has come counts, unless it is only looked at."""
        data = self.wrapped.recv(most, flags)
        if not self._sends and not flags & socket.MSG_PEEK:
            self._count(len(data))
        return data

    def recv_into(self, buffer: Any, most: int = 0, flags: int = 0) -> int:
        """Receive into a buffer, likewise."""
        received = self.wrapped.recv_into(buffer, most, flags)
        if not self._sends and not flags & socket.MSG_PEEK:
            self._count(received)
        return received

    def close(self) -> None:
        """Close the socket; the observer hears of it."""
        self._reporter.unregister(self._connection, self._kind)
        self.wrapped.close()

    def fileno(self) -> int:
        """The socket's, for selectors."""
        return self.wrapped.fileno()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)

    def _count(self, amount: int) -> None:
        now = time.monotonic()
        if self._sensor.count(amount, now=now):
            sample = ProgressSample(self._connection, self._sensor.total)
            self._reporter.update(self._kind, [sample], at=now)


def app_snd(
    wrapped: socket.socket, connection: MonitoredConnection, reporter: Reporter, *, interval: float
) -> MonitoredSocket:
    """A socket whose sending is reported."""
    kind = SensorKind.APP_SND
    return MonitoredSocket(wrapped, connection, reporter, sensor=kind, interval=interval)


def app_rcv(
    wrapped: socket.socket, connection: MonitoredConnection, reporter: Reporter, *, interval: float
) -> MonitoredSocket:
    """A socket whose receiving is reported."""
    kind = SensorKind.APP_RCV
    return MonitoredSocket(wrapped, connection, reporter, sensor=kind, interval=interval)
