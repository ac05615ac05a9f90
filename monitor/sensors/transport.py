"""Samples all connections of a sender at once, at even times: the core of the transport sensor.

Times lie on a grid that began with the sensor: one that was late does not make the next one late,
and those that were missed are left out. Pure: whoever registers a connection says how it is read.
Must not know sockets, nor where samples go. Source: Bolliger and Gross, 2.2 (tcpmon, tcpmond).
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Final

from monitor.samples import TransportSample
from monitor.sensors.app import LEAST_INTERVAL

MOST_WATCHED: Final = 4096
"""Connections of one sensor: a round over so many takes 10 ms."""

Read = Callable[[], TransportSample | None]
"""The newest facts of one connection; None: it is gone."""


class TransportSensor:
    """Keeps the connections of one sender and the times at which to sample them."""

    def __init__(self, *, interval: float, now: float) -> None:
        """`interval`: seconds between two rounds, the paper's 1/f.

        Raises ValueError for one below LEAST_INTERVAL.
        """
        if not interval >= LEAST_INTERVAL:
            raise ValueError(f"an interval of {interval} s; at least {LEAST_INTERVAL} are needed")
        self.interval = interval
        self._began = now
        self._round = 1
        self._watched: dict[int, Read] = {}

    def __len__(self) -> int:
        return len(self._watched)

    def register(self, connection: int, read: Read) -> None:
        """Sample this connection from now on. Raises ValueError if there are too many."""
        if len(self._watched) >= MOST_WATCHED and connection not in self._watched:
            raise ValueError(f"{MOST_WATCHED} connections are watched already")
        self._watched[connection] = read

    def unregister(self, connection: int) -> None:
        """Leave it alone; one that is not known already is."""
        self._watched.pop(connection, None)

    def next_timer(self) -> float:
        """When the next round is due."""
        return self._began + self._round * self.interval

    def sample(self, *, now: float) -> list[TransportSample]:
        """One round: a sample of each connection; those that are gone are forgotten."""
        self._round = max(self._round, floor((now - self._began) / self.interval)) + 1
        samples = [found for read in self._watched.values() if (found := read()) is not None]
        if len(samples) < len(self._watched):
            here = {sample.connection for sample in samples}
            self._watched = {name: one for name, one in self._watched.items() if name in here}
        return samples
