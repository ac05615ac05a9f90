"""Keeps the state of many connections, takes their samples and answers what they can carry. Pure.

Connections are named by whoever registers them, with a number, and may be watched by a sensor of
each kind at once. Everything is bounded: connections in all and of one owner, and those of which
nobody has heard for a while are let go. Must not know datagrams nor sockets. Source: Bolliger and
Gross, 2.1 (observed).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from monitor.announcements import FADES, LEAST_SURE
from monitor.estimate import BandwidthEstimate
from monitor.observer.model import AppModel, ConnectionModel, DeliveredModel
from monitor.samples import ProgressSample, Samples, SensorKind, TransportSample

MOST_CONNECTIONS: Final = 4096
"""Watched at a time, each with some 2 KB."""
MOST_OF_ONE: Final = 1024
"""Of one owner, so that no program takes the places of all others."""
IDLE: Final = 120.0
"""Seconds without a word of its sensor after which a connection is let go."""
SWEEP: Final = 10.0
"""Seconds between two looks for such connections."""
PREFERENCE: Final = (SensorKind.TRANSPORT, SensorKind.APP_RCV, SensorKind.APP_SND)
"""Whose estimate counts where a connection has several: what TCP knows is timely and most exact
(section 3), what arrives is truer than what fills a buffer."""


class Registration(IntEnum):
    """Says how an attempt to register a connection, or to speak for it, has ended."""

    DONE = 0
    UNKNOWN = 1
    """No such connection is registered."""
    TAKEN = 2
    """Somebody else has registered it."""
    FULL = 3
    """There are as many connections as may be."""


@dataclass(frozen=True, slots=True)
class PathBandwidth:
    """Sums up what the connections between two hosts get together."""

    connections: int
    """Those with an estimate, which are those that count."""
    rate: float
    """Bytes/second of all of them."""
    confidence: float
    """The mean of theirs, by rate."""
    at: float
    """When the oldest of their estimates was made, by the observer's clock."""


@dataclass(frozen=True, slots=True)
class ObserverStatistics:
    """Counts what an observer has seen; immutable."""

    connections: int
    """Watched now, a connection with two sensors counted twice."""
    samples: int
    """Taken in all."""
    strays: int
    """Samples of connections that nobody, or somebody else, had registered."""
    refused: int
    """Registrations for which there was no place, or that would have taken another's."""
    let_go: int
    """Connections that were idle."""


class _Track:
    """Holds what one sensor has said of one connection."""

    __slots__ = ("estimate", "heard", "hosts", "judge", "newest", "owner")

    def __init__(
        self,
        owner: Hashable,
        hosts: tuple[str, str],
        judge: Callable[..., BandwidthEstimate | None],
        now: float,
    ) -> None:
        """`judge`: a model's `estimate`."""
        self.owner = owner
        self.hosts = hosts
        self.judge = judge
        self.heard = now
        self.newest: ProgressSample | TransportSample | None = None
        self.estimate: BandwidthEstimate | None = None


class BandwidthObserver:
    """Caches what is known of connections, and answers for one or for all between two hosts."""

    def __init__(
        self,
        *,
        model: Callable[[], ConnectionModel] = DeliveredModel,
        most: int = MOST_CONNECTIONS,
        most_of_one: int = MOST_OF_ONE,
    ) -> None:
        """`model`: makes one for each connection that a transport sensor watches."""
        self._model = model
        self._most, self._most_of_one = most, most_of_one
        self._tracks: list[dict[int, _Track]] = [{} for _ in range(max(SensorKind) + 1)]
        """By sensor, whose number is the place: to look an enumeration up costs more."""
        self._between: dict[tuple[str, str], set[tuple[SensorKind, int]]] = {}
        self._owners: dict[Hashable, int] = {}
        self._swept = float("-inf")
        self._samples = self._strays = self._refused = self._let_go = 0

    # -- connections come and go ---------------------------------------------------------------

    def register(
        self,
        connection: int,
        source: str,
        destination: str,
        *,
        sensor: SensorKind,
        now: float,
        owner: Hashable = None,
    ) -> Registration:
        """A sensor will speak of this connection from host `source` to host `destination`.

        Once more by the same owner: it is still there, and keeps what is known; its hosts may
        change.
        """
        known = self._tracks[sensor].get(connection)
        if known is not None and known.owner != owner:
            if now < known.heard + IDLE:
                self._refused += 1
                return Registration.TAKEN
            self._forget(sensor, connection)
            known = None
        if known is not None:
            known.heard = now
            self._place(sensor, connection, known, (source, destination))
            return Registration.DONE
        if self._full(owner):
            self.let_go(now=now)
            if self._full(owner):
                self._refused += 1
                return Registration.FULL
        model = self._model() if sensor is SensorKind.TRANSPORT else AppModel(sensor)
        track = _Track(owner, (source, destination), model.estimate, now)
        self._tracks[sensor][connection] = track
        self._owners[owner] = self._owners.get(owner, 0) + 1
        self._between.setdefault(track.hosts, set()).add((sensor, connection))
        return Registration.DONE

    def unregister(
        self, connection: int, *, sensor: SensorKind, owner: Hashable = None
    ) -> Registration:
        """The connection has ended, says its sensor."""
        track = self._tracks[sensor].get(connection)
        if track is None:
            return Registration.UNKNOWN
        if track.owner != owner:
            self._refused += 1
            return Registration.TAKEN
        self._forget(sensor, connection)
        return Registration.DONE

    def let_go(self, *, now: float) -> int:
        """Forget the connections of which nothing was heard for long; how many they were."""
        self._swept = now
        idle = [
            (kind, connection)
            for kind in SensorKind
            for connection, track in self._tracks[kind].items()
            if now >= track.heard + IDLE
        ]
        for kind, connection in idle:
            self._forget(kind, connection)
        self._let_go += len(idle)
        return len(idle)

    def owns(self, owner: Hashable) -> bool:
        """Whether that owner has a connection registered."""
        return owner in self._owners

    # -- samples -------------------------------------------------------------------------------

    def update(
        self,
        sensor: SensorKind,
        samples: Samples,
        *,
        at: float,
        now: float,
        owner: Hashable = None,
    ) -> int:
        """Take one batch of a sensor; how many of its samples were of connections of its own.

        `at`: when they were taken, on the sensor's clock.
        """
        if now >= self._swept + SWEEP:
            self.let_go(now=now)
        tracks = self._tracks[sensor]
        taken = 0
        for sample in samples:
            track = tracks.get(sample[0])
            if track is None or track.owner != owner:
                continue
            taken += 1
            track.heard = now
            track.newest = sample
            estimate = track.judge(sample, at=at, now=now)
            if estimate is not None:
                track.estimate = estimate
        self._samples += taken
        self._strays += len(samples) - taken
        return taken

    # -- questions -----------------------------------------------------------------------------

    def getinfo(self, connection: int, *, now: float) -> dict[SensorKind, BandwidthEstimate]:
        """The estimates of one connection by sensor; what is old is less sure."""
        found = {}
        for kind in PREFERENCE:
            track = self._tracks[kind].get(connection)
            if track is not None and track.estimate is not None and now < track.heard + IDLE:
                found[kind] = _faded(track.estimate, now)
        return found

    def getinfo_between(
        self, source: str, destination: str, *, now: float, sensor: SensorKind | None = None
    ) -> PathBandwidth | None:
        """What all connections from one host to another get together; None: none has an estimate.

        Of each connection the estimate that PREFERENCE names first counts, or that of `sensor`.
        """
        best: dict[int, BandwidthEstimate] = {}
        here = self._between.get((source, destination), ())
        for kind in PREFERENCE if sensor is None else (sensor,):
            for one, connection in here:
                track = self._tracks[one][connection]
                if one is kind and track.estimate is not None and now < track.heard + IDLE:
                    best.setdefault(connection, _faded(track.estimate, now))
        return _together(best.values())

    def facts(self, connection: int) -> TransportSample | None:
        """What TCP said last of one connection; None: no transport sensor has spoken of it."""
        track = self._tracks[SensorKind.TRANSPORT].get(connection)
        newest = track.newest if track is not None else None
        return newest if isinstance(newest, TransportSample) else None

    def statistics(self) -> ObserverStatistics:
        """A snapshot of the counts."""
        return ObserverStatistics(
            connections=self._count(),
            samples=self._samples,
            strays=self._strays,
            refused=self._refused,
            let_go=self._let_go,
        )

    def __repr__(self) -> str:
        return f"<BandwidthObserver of {self._count()} connections>"

    # -- within --------------------------------------------------------------------------------

    def _count(self) -> int:
        return sum(map(len, self._tracks))

    def _full(self, owner: Hashable) -> bool:
        return self._count() >= self._most or self._owners.get(owner, 0) >= self._most_of_one

    def _place(
        self, sensor: SensorKind, connection: int, track: _Track, hosts: tuple[str, str]
    ) -> None:
        if hosts != track.hosts:
            self._leave(sensor, connection, track.hosts)
            track.hosts = hosts
            self._between.setdefault(hosts, set()).add((sensor, connection))

    def _leave(self, sensor: SensorKind, connection: int, hosts: tuple[str, str]) -> None:
        here = self._between[hosts]
        here.discard((sensor, connection))
        if not here:
            del self._between[hosts]

    def _forget(self, sensor: SensorKind, connection: int) -> None:
        track = self._tracks[sensor].pop(connection)
        self._leave(sensor, connection, track.hosts)
        self._owners[track.owner] -= 1
        if not self._owners[track.owner]:
            del self._owners[track.owner]


def _faded(estimate: BandwidthEstimate, now: float) -> BandwidthEstimate:
    """The same as far as it can be believed now: the rate stands, what is sure fades."""
    left = max(LEAST_SURE, 1.0 - max(0.0, now - estimate.at) / FADES)
    return BandwidthEstimate(
        estimate.rate, estimate.at, estimate.confidence * left, estimate.source
    )


def _together(estimates: Iterable[BandwidthEstimate]) -> PathBandwidth | None:
    found = list(estimates)
    if not found:
        return None
    rate = sum(one.rate for one in found)
    weights = [one.rate for one in found] if rate else [1.0] * len(found)
    sure = sum(one.confidence * weight for one, weight in zip(found, weights, strict=True))
    return PathBandwidth(len(found), rate, sure / sum(weights), min(one.at for one in found))
