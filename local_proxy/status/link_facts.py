"""Keeps what TCP says of the link, in an observer of this process, for the status page. Pure.

It is looked at while anything moves, so an idle link costs nothing. Nothing here reaches policies:
they go by what the sender of a direction has measured (monitor/announcements.py). Must not know
sockets. Source: Bolliger and Gross, 2.1.
"""

from __future__ import annotations

from typing import Final

from local_proxy.status.snapshot import ShownEstimate, ShownTransport
from monitor.observer.observer import BandwidthObserver
from monitor.samples import SensorKind, TransportSample

_SENSOR: Final = SensorKind.TRANSPORT


class LinkFacts:
    """Observes the TCP connection that carries the link, whichever that is at the time."""

    def __init__(self) -> None:
        self._observer = BandwidthObserver()
        self._known: int | None = None
        """The connection that is registered."""

    def look(self, facts: TransportSample | None, *, now: float) -> None:
        """What its TCP says now; None: something else carries it, or nothing does."""
        name = facts.connection if facts is not None else None
        if self._known is not None and self._known != name:
            self._observer.unregister(self._known, sensor=_SENSOR)
        self._known = name
        if facts is not None:
            self._observer.register(facts.connection, "device", "remote", sensor=_SENSOR, now=now)
            self._observer.update(_SENSOR, [facts], at=now, now=now)

    def shown(self, *, now: float) -> ShownTransport | None:
        """What is known, for people; None: no TCP carries the link."""
        facts = self._observer.facts(self._known) if self._known is not None else None
        if facts is None:
            return None
        found = self._observer.getinfo(facts.connection, now=now).get(_SENSOR)
        delivered = None
        if found is not None:
            delivered = ShownEstimate(found.rate, now - found.at, found.confidence, found.source)
        return ShownTransport(
            rtt=facts.rtt,
            rttvar=facts.rttvar,
            min_rtt=facts.min_rtt,
            segments=facts.segments,
            retransmitted=facts.retransmitted,
            delivered=delivered,
        )
