"""Asks the observer's daemon, and waits for its answer: for programs that block.

A question that gets none is asked again, a few times. docs/observer.md shows the same for programs
without this package. Must not know how estimates are made.
"""

from __future__ import annotations

from itertools import count
from types import TracebackType
from typing import Final

from monitor.observer.datagrams import (
    MOST,
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
    decode,
    encode,
)
from monitor.observer.observer import Registration
from monitor.samples import SensorKind
from observation.addresses import datagrams_at

ATTEMPTS: Final = 4
PATIENCE: Final = 0.5
"""Seconds for an answer; on loopback it is there within a millisecond."""


class ObserverSilent(Exception):
    """No daemon answers at that address."""


class ObserverClient:
    """Speaks with one daemon."""

    def __init__(self, host: str, port: int, *, patience: float = PATIENCE) -> None:
        """Raises OSError for an address that can't be."""
        self._socket, address = datagrams_at(host, port)
        self._socket.settimeout(patience)
        self._socket.connect(address)
        self._tags = count(1)

    def __enter__(self) -> ObserverClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it; what it has registered stays until it is idle."""
        self._socket.close()

    def register(
        self, connection: int, sensor: SensorKind, source: str, destination: str
    ) -> Registration:
        """Register a connection. Raises ObserverSilent, ValueError."""
        tag = self._tag()
        return self._registration(Register(connection, sensor, source, destination, tag), tag)

    def unregister(self, connection: int, sensor: SensorKind) -> Registration:
        """Say that it has ended. Raises ObserverSilent, ValueError."""
        tag = self._tag()
        return self._registration(Unregister(connection, sensor, tag), tag)

    def getinfo(self, connection: int) -> tuple[SensorEstimate, ...]:
        """What one connection can do, by sensor. Raises ObserverSilent, ValueError."""
        answer = self._ask(GetInfo(connection, tag := self._tag()), tag)
        if not isinstance(answer, Info):
            raise ObserverSilent(f"{answer} answers no question for one connection")
        return answer.estimates

    def getinfo_between(
        self, source: str, destination: str, sensor: SensorKind | None = None
    ) -> InfoBetween:
        """What all between two hosts get together. Raises ObserverSilent, ValueError."""
        tag = self._tag()
        answer = self._ask(GetInfoBetween(source, destination, tag, sensor), tag)
        if not isinstance(answer, InfoBetween):
            raise ObserverSilent(f"{answer} answers no question for two hosts")
        return answer

    def _registration(self, question: Datagram, tag: int) -> Registration:
        answer = self._ask(question, tag)
        if not isinstance(answer, RegistrationAnswer):
            raise ObserverSilent(f"{answer} answers no registration")
        return answer.outcome

    def _tag(self) -> int:
        return next(self._tags) % 255 + 1

    def _ask(self, question: Datagram, tag: int) -> RegistrationAnswer | Info | InfoBetween:
        data = encode(question)
        for _ in range(ATTEMPTS):
            try:
                self._socket.send(data)
                while True:
                    answer = decode(self._socket.recv(MOST))
                    if (
                        isinstance(answer, RegistrationAnswer | Info | InfoBetween)
                        and answer.tag == tag
                    ):
                        return answer
            except (OSError, DatagramFault):  # refused, late or none of ours: once more
                continue
        raise ObserverSilent("no observer answers at that address")
