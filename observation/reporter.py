"""Sends what sensors report to an observer: a daemon over UDP, or one in this process.

Nothing here raises for a daemon that is gone, and nothing waits: monitoring must cost its
application no more than time. A daemon that comes back learns of the connections within RENEW
seconds. Must not know what a sample says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from monitor.observer.datagrams import (
    MOST_SAMPLES,
    Register,
    Unregister,
    encode,
    encode_update,
)
from monitor.observer.observer import BandwidthObserver, Registration
from monitor.samples import Samples, SensorKind
from observation.addresses import datagrams_at

RENEW: Final = 30.0
"""Seconds between two registrations of the same connection: a quarter of observer.IDLE, so that a
quiet one is kept though two datagrams are lost."""


@dataclass(frozen=True, slots=True)
class MonitoredConnection:
    """Names a connection to an observer."""

    name: int
    """0 to 2**64 - 1; no other connection of the same observer has it."""
    source: str
    """The sending host, by name or address."""
    destination: str


class Reporter(Protocol):
    """What a sensor needs of an observer, wherever that is."""

    def register(self, connection: MonitoredConnection, sensor: SensorKind) -> None:
        """The sensor will speak of that connection."""

    def unregister(self, connection: int, sensor: SensorKind) -> None:
        """The connection has ended."""

    def update(self, sensor: SensorKind, samples: Samples, *, at: float) -> None:
        """One batch of samples; `at`: seconds on the sensor's clock."""


class UdpReporter:
    """Reports to a daemon, without waiting for an answer."""

    def __init__(self, host: str, port: int) -> None:
        """Raises OSError for an address that can't be."""
        self._socket, address = datagrams_at(host, port)
        try:
            self._socket.setblocking(False)
            self._socket.connect(address)
        except OSError:
            self._socket.close()
            raise
        self._known: dict[tuple[int, SensorKind], bytes] = {}
        """Registrations, to be said again."""
        self._renew_at: float | None = None
        self.lost = 0
        """Datagrams that did not even leave: nobody listens, or a buffer is full."""

    def register(self, connection: MonitoredConnection, sensor: SensorKind) -> None:
        said = Register(connection.name, sensor, connection.source, connection.destination)
        data = self._known[connection.name, sensor] = encode(said)
        self._send(data)

    def unregister(self, connection: int, sensor: SensorKind) -> None:
        if self._known.pop((connection, sensor), None) is not None:
            self._send(encode(Unregister(connection, sensor)))

    def update(self, sensor: SensorKind, samples: Samples, *, at: float) -> None:
        if self._renew_at is None:
            self._renew_at = at + RENEW
        elif at >= self._renew_at:
            self._renew_at = at + RENEW
            for data in self._known.values():
                self._send(data)
        for first in range(0, len(samples), MOST_SAMPLES):
            part = samples[first : first + MOST_SAMPLES]
            self._send(encode_update(sensor, part, at=at))

    def close(self) -> None:
        """Say that all connections have ended."""
        for connection, sensor in list(self._known):
            self.unregister(connection, sensor)
        self._socket.close()

    def _send(self, data: bytes) -> None:
        try:
            self._socket.send(data)
        except OSError:  # what was lost is made good by the next one
            self.lost += 1


class InProcessReporter:
    """Reports to an observer in this process."""

    def __init__(self, observer: BandwidthObserver, now: Callable[[], float]) -> None:
        """`now`: seconds on the observer's clock."""
        self._observer = observer
        self._now = now
        self.refused = 0

    def register(self, connection: MonitoredConnection, sensor: SensorKind) -> None:
        done = self._observer.register(
            connection.name, connection.source, connection.destination,
            sensor=sensor, now=self._now(), owner=self,
        )  # fmt: skip
        self.refused += done is not Registration.DONE

    def unregister(self, connection: int, sensor: SensorKind) -> None:
        self._observer.unregister(connection, sensor=sensor, owner=self)

    def update(self, sensor: SensorKind, samples: Samples, *, at: float) -> None:
        self._observer.update(sensor, samples, at=at, now=self._now(), owner=self)
