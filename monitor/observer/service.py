"""Answers the datagrams of the observer's daemon, whoever sends them. Pure.

What is no datagram is counted and dropped without a word. An address speaks only for connections
that it has registered itself. No answer is larger than four times its question, unless the address
has registered: nobody can have the daemon flood somebody else. Must not know sockets.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from monitor.observer.datagrams import (
    Datagram,
    DatagramFault,
    GetInfo,
    GetInfoBetween,
    Info,
    InfoBetween,
    Register,
    RegistrationAnswer,
    SensorEstimate,
    Unregister,
    Update,
    decode,
    encode,
)
from monitor.observer.observer import BandwidthObserver

AMPLIFICATION: Final = 4
"""Times the size of its question that an answer to a stranger may have."""


@dataclass(frozen=True, slots=True)
class ServiceStatistics:
    """Counts the datagrams that came; immutable."""

    datagrams: int
    faults: int
    """That were none of ours, or broke the layout."""
    answers: int
    withheld: int
    """Answers that were too large for who asked."""


class ObserverService:
    """Turns one datagram after the other into an answer or none."""

    def __init__(self, observer: BandwidthObserver) -> None:
        self.observer = observer
        self._datagrams = self._faults = self._answers = self._withheld = 0

    def handle(self, data: bytes, address: Hashable, *, now: float) -> bytes | None:
        """What to send back to the address; None: nothing."""
        self._datagrams += 1
        try:
            said = decode(data)
        except DatagramFault:
            self._faults += 1
            return None
        if isinstance(said, Update):
            self.observer.update(said.sensor, said.samples, at=said.at, now=now, owner=address)
            return None
        answer = self._answer(said, address, now)
        if answer is None:
            return None
        reply = encode(answer)
        if len(reply) > AMPLIFICATION * len(data) and not self.observer.owns(address):
            self._withheld += 1
            return None
        self._answers += 1
        return reply

    def statistics(self) -> ServiceStatistics:
        """A snapshot of the counts."""
        return ServiceStatistics(self._datagrams, self._faults, self._answers, self._withheld)

    def _answer(self, said: Datagram, address: Hashable, now: float) -> Datagram | None:
        observer = self.observer
        if isinstance(said, Register):
            outcome = observer.register(
                said.connection, said.source, said.destination,
                sensor=said.sensor, now=now, owner=address,
            )  # fmt: skip
            return RegistrationAnswer(said.connection, outcome, said.tag) if said.tag else None
        if isinstance(said, Unregister):
            outcome = observer.unregister(said.connection, sensor=said.sensor, owner=address)
            return RegistrationAnswer(said.connection, outcome, said.tag) if said.tag else None
        if isinstance(said, GetInfo):
            return self._info(said, now)
        if isinstance(said, GetInfoBetween):
            return self._info_between(said, now)
        self._faults += 1  # an answer, which nobody asked for
        return None

    def _info(self, said: GetInfo, now: float) -> Info:
        found = self.observer.getinfo(said.connection, now=now)
        estimates = tuple(
            SensorEstimate(kind, one.confidence, max(0.0, now - one.at), one.rate)
            for kind, one in found.items()
        )
        return Info(estimates, said.tag)

    def _info_between(self, said: GetInfoBetween, now: float) -> InfoBetween:
        found = self.observer.getinfo_between(
            said.source, said.destination, now=now, sensor=said.sensor
        )
        if found is None:
            return InfoBetween(0, 0.0, 0.0, 0.0, said.tag)
        age = max(0.0, now - found.at)
        return InfoBetween(found.connections, found.confidence, age, found.rate, said.tag)
