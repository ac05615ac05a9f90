"""Figures of a remote proxy for Prometheus, read when they are asked for.

Sums by device: one that has several links is one. Counts that a link keeps begin anew with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from remote_proxy.statistics import ClusterWork, OpenSession, SharedWork
from version import VERSION

PREFIX: Final = "sluice_remote_"


@dataclass(slots=True)
class _Device:
    """All sessions of one."""

    sessions: int = 0
    connected: int = 0
    under_way: int = 0
    made: int = 0
    refused: int = 0
    today: int = 0
    waiting: int = 0
    documents: int = 0
    sent: int = 0
    received: int = 0
    rate: float = 0.0
    pictures: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    turned_away: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, one: OpenSession) -> None:
        session, link, usage = one.session, one.link, one.session.usage
        self.sessions += 1
        self.connected += link.connected
        # A device's usage is one for all of its links.
        self.under_way, self.made = usage.requests, usage.requests_made
        self.refused, self.today = usage.requests_refused, usage.bytes_today
        self.waiting += session.held
        self.documents += session.documents
        self.sent += link.sent
        self.received += link.received
        self.rate += one.rate or 0.0
        _sum(self.pictures, session.pictures)
        _sum(self.turned_away, session.refused)


class RemoteCollector(Collector):
    """What `sessions` tells, as Prometheus takes it."""

    def __init__(
        self,
        sessions: Callable[[], Iterable[OpenSession]],
        *,
        devices: int,
        shared: Callable[[], SharedWork | None] = lambda: None,
        cluster: Callable[[], ClusterWork | None] = lambda: None,
    ) -> None:
        """`devices`: how many may be served at a time. `shared`: what they share; None: nothing.
        `cluster`: what that has made; None: there is none."""
        self._sessions = sessions
        self._devices = devices
        self._shared = shared
        self._cluster = cluster

    def collect(self) -> Iterator[Metric]:
        """All figures as they are now."""
        by_name: dict[str, _Device] = defaultdict(_Device)
        for open_now in self._sessions():
            by_name[open_now.session.device or "?"].add(open_now)
        yield _gauge("build_info", "Version.", [({"version": VERSION}, 1)])
        yield _gauge("devices", "Devices with a session.", [({}, len(by_name))])
        yield _gauge("devices_max", "That may have one at a time.", [({}, self._devices)])
        for name, words, value in _OF_DEVICES:
            yield _gauge(name, words, [({"device": d}, value(one)) for d, one in by_name.items()])
        for name, words, value in _COUNTED:
            family = CounterMetricFamily(PREFIX + name, words, labels=["device"])
            for device, one in by_name.items():
                family.add_metric([device], value(one))
            yield family
        yield _gauge(
            "session_bytes",
            "Bytes of frames over the slow link, without what carries them, in open sessions.",
            [
                ({"device": device, "direction": direction}, size)
                for device, one in by_name.items()
                for direction, size in (("down", one.sent), ("up", one.received))
            ],
        )
        yield _by_reason("pictures", "By why they are adapted or not.", by_name, "pictures")
        yield _by_reason(
            "turned_away", "What there was no room or time for.", by_name, "turned_away"
        )
        if (shared := self._shared()) is not None:
            yield from _of_shared(shared)
        if (cluster := self._cluster()) is not None:
            yield from _of_cluster(cluster)


def registry(
    sessions: Callable[[], Iterable[OpenSession]],
    *,
    devices: int,
    shared: Callable[[], SharedWork | None] = lambda: None,
    cluster: Callable[[], ClusterWork | None] = lambda: None,
) -> CollectorRegistry:
    """Those, and what Prometheus' own client says of the process and its Python."""
    found = CollectorRegistry()
    found.register(RemoteCollector(sessions, devices=devices, shared=shared, cluster=cluster))
    ProcessCollector(registry=found)
    PlatformCollector(registry=found)
    GCCollector(registry=found)
    return found


_OF_DEVICES: Final[tuple[tuple[str, str, Callable[[_Device], float]], ...]] = (
    ("sessions", "Open sessions.", lambda one: one.sessions),
    ("sessions_connected", "Of these, that something carries now.", lambda one: one.connected),
    ("requests_under_way", "Requests to origins.", lambda one: one.under_way),
    ("origin_bytes_today", "To and from origins, in 24 hours.", lambda one: one.today),
    ("waiting_bytes", "That wait for its link.", lambda one: one.waiting),
    ("documents", "Pages that are being delivered.", lambda one: one.documents),
    ("link_bytes_per_second", "That its link carries; 0: not known.", lambda one: one.rate),
)
_COUNTED: Final[tuple[tuple[str, str, Callable[[_Device], float]], ...]] = (
    ("requests", "Requests that it has made.", lambda one: one.made),
    ("requests_refused", "Beyond its limits.", lambda one: one.refused),
)


def _of_shared(shared: SharedWork) -> Iterator[Metric]:
    yield _gauge(
        "store_up", "Whether the store answers.", [({"store": shared.store}, shared.answers)]
    )
    asked = CounterMetricFamily(PREFIX + "store_questions", "To the store.", labels=["outcome"])
    for outcome in ("found", "missed", "failed"):
        asked.add_metric([outcome], getattr(shared, outcome))
    yield asked
    answers = CounterMetricFamily(PREFIX + "answers", "By where they came from.", labels=["how"])
    for how in ("given", "waited", "unchanged", "asked"):
        answers.add_metric([how], getattr(shared, how))
    yield answers
    yield CounterMetricFamily(
        PREFIX + "answers_given_bytes",
        "Bytes that no origin was asked for.",
        value=shared.bytes_given,
    )
    yield CounterMetricFamily(
        PREFIX + "pictures_spared", "Forms of pictures that were there.", value=shared.spared
    )


def _of_cluster(cluster: ClusterWork) -> Iterator[Metric]:
    yield _gauge("cluster_up", "Whether its scheduler answers.", [({}, cluster.there)])
    jobs = CounterMetricFamily(
        PREFIX + "cluster_jobs", "By where they were done.", labels=["where"]
    )
    jobs.add_metric(["cluster"], cluster.done)
    jobs.add_metric(["here"], cluster.lost)
    yield jobs


def _gauge(
    name: str, words: str, samples: Iterable[tuple[Mapping[str, str], float]]
) -> GaugeMetricFamily:
    found = list(samples)
    labels = list(found[0][0]) if found else ["device"]
    family = GaugeMetricFamily(PREFIX + name, words, labels=labels)
    for values, value in found:
        family.add_metric(list(values.values()), value)
    return family


def _by_reason(
    name: str, words: str, devices: Mapping[str, _Device], counts: str
) -> GaugeMetricFamily:
    return _gauge(
        name,
        words,
        [
            ({"device": device, "why": why}, count)
            for device, one in devices.items()
            for why, count in sorted(getattr(one, counts).items())
        ],
    )


def _sum(into: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        into[name] += count
