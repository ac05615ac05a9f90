"""Datagrams of the observer's daemon: their layouts, and a parser that believes nothing. Pure.

Numbers are in network order. Every datagram begins with four bytes: version, kind, sensor and tag.
An answer has the tag of its question, and a registration with tag 0 wants none. docs/observer.md
has the table, and a client that needs no more than Python's standard library. Must not know
connections, nor who sent what. Source: Bolliger and Gross, figure 1 (register, unregister, update,
getinfo, info).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import isfinite
from typing import Final

from monitor.observer.observer import Registration
from monitor.samples import ProgressSample, Samples, SensorKind, TransportSample

VERSION: Final = 1
MOST: Final = 65_507
"""Bytes of a UDP datagram over IPv4."""
MOST_SAMPLES: Final = 512
"""Of one update: 40 KB of the transport's, which is one datagram on loopback."""
HOST_BYTES: Final = 255
"""Bytes of a host's name or address at most; a name of the DNS has fewer."""
HEADER: Final = struct.Struct("!BBBB")
CONNECTION: Final = struct.Struct("!Q")
GETINFO: Final = struct.Struct("!Q4x")
"""The padding makes the longest answer no more than four times as large as the question."""
AT: Final = struct.Struct("!d")
PROGRESS: Final = struct.Struct("!QQ")
TRANSPORT: Final = struct.Struct("!Q BBBx IIIIIIIII QIIIQI")
ANSWER: Final = struct.Struct("!QB")
ESTIMATE: Final = struct.Struct("!B3xffd")
PATH: Final = struct.Struct("!Iffd")


class DatagramKind(IntEnum):
    """The second byte of each datagram."""

    REGISTER = 1
    UNREGISTER = 2
    UPDATE = 3
    GETINFO = 4
    GETINFO_BETWEEN = 5
    ANSWER = 6
    INFO = 7
    INFO_BETWEEN = 8


class DatagramFault(Exception):
    """The bytes are no datagram of this protocol; says why."""


@dataclass(frozen=True, slots=True)
class Register:
    """A sensor will speak of a connection."""

    connection: int
    sensor: SensorKind
    source: str
    destination: str
    tag: int = 0


@dataclass(frozen=True, slots=True)
class Unregister:
    """The connection has ended."""

    connection: int
    sensor: SensorKind
    tag: int = 0


@dataclass(frozen=True, slots=True)
class Update:
    """One batch of a sensor's samples."""

    sensor: SensorKind
    at: float
    """When they were taken, seconds on the sensor's clock."""
    samples: Samples


@dataclass(frozen=True, slots=True)
class GetInfo:
    """Asks what one connection can do."""

    connection: int
    tag: int


@dataclass(frozen=True, slots=True)
class GetInfoBetween:
    """Asks what all connections between two hosts get together."""

    source: str
    destination: str
    tag: int
    sensor: SensorKind | None = None
    """Whose estimates; None: of each connection the best."""


@dataclass(frozen=True, slots=True)
class RegistrationAnswer:
    """Says how a registration, or the end of one, went."""

    connection: int
    outcome: Registration
    tag: int


@dataclass(frozen=True, slots=True)
class SensorEstimate:
    """Says what one sensor lets one expect of a connection."""

    sensor: SensorKind
    confidence: float
    age: float
    """Seconds."""
    rate: float
    """Bytes/second."""


@dataclass(frozen=True, slots=True)
class Info:
    """Answers GetInfo: an estimate of each sensor that has one."""

    estimates: tuple[SensorEstimate, ...]
    tag: int


@dataclass(frozen=True, slots=True)
class InfoBetween:
    """Answers GetInfoBetween; no connections: nothing is known."""

    connections: int
    confidence: float
    age: float
    rate: float
    tag: int


Datagram = (
    Register
    | Unregister
    | Update
    | GetInfo
    | GetInfoBetween
    | RegistrationAnswer
    | Info
    | InfoBetween
)

_SENSORS: Final = {int(kind): kind for kind in SensorKind}
"""By their numbers; asking an enumeration for a member costs several times as much."""
_TRANSPORT: Final = SensorKind.TRANSPORT
_UPDATE: Final = int(DatagramKind.UPDATE)
_KIND: Final[dict[type, DatagramKind]] = {
    Register: DatagramKind.REGISTER,
    Unregister: DatagramKind.UNREGISTER,
    Update: DatagramKind.UPDATE,
    GetInfo: DatagramKind.GETINFO,
    GetInfoBetween: DatagramKind.GETINFO_BETWEEN,
    RegistrationAnswer: DatagramKind.ANSWER,
    Info: DatagramKind.INFO,
    InfoBetween: DatagramKind.INFO_BETWEEN,
}


# -- to bytes --------------------------------------------------------------------------------------


def encode(datagram: Datagram) -> bytes:
    """The bytes of a datagram. Raises ValueError for a host or a number that has no place in it."""
    if isinstance(datagram, Update):
        return encode_update(datagram.sensor, datagram.samples, at=datagram.at)
    head = HEADER.pack(
        VERSION, _KIND[type(datagram)], getattr(datagram, "sensor", 0) or 0, datagram.tag
    )
    try:
        return head + _body(datagram)
    except struct.error as error:
        raise ValueError(f"{datagram}: {error}") from error


def encode_update(sensor: SensorKind, samples: Samples, *, at: float) -> bytes:
    """The bytes of one batch; packed without objects between, since this is done often."""
    if len(samples) > MOST_SAMPLES:
        raise ValueError(f"{len(samples)} samples; a datagram takes {MOST_SAMPLES}")
    pack = TRANSPORT.pack if sensor is _TRANSPORT else PROGRESS.pack
    head = HEADER.pack(VERSION, _UPDATE, sensor, 0) + AT.pack(at)
    return head + b"".join([pack(*sample) for sample in samples])


def _body(datagram: Datagram) -> bytes:
    if isinstance(datagram, Register):
        hosts = _hosts(datagram.source, datagram.destination)
        return CONNECTION.pack(datagram.connection) + hosts
    if isinstance(datagram, Unregister):
        return CONNECTION.pack(datagram.connection)
    if isinstance(datagram, GetInfo):
        return GETINFO.pack(datagram.connection)
    if isinstance(datagram, GetInfoBetween):
        return _hosts(datagram.source, datagram.destination)
    if isinstance(datagram, RegistrationAnswer):
        return ANSWER.pack(datagram.connection, datagram.outcome)
    if isinstance(datagram, Info):
        return b"".join(
            ESTIMATE.pack(one.sensor, one.confidence, one.age, one.rate)
            for one in datagram.estimates
        )
    assert isinstance(datagram, InfoBetween)
    return PATH.pack(datagram.connections, datagram.confidence, datagram.age, datagram.rate)


def _hosts(*names: str) -> bytes:
    parts = []
    for name in names:
        data = name.encode()
        if not 0 < len(data) <= HOST_BYTES:
            raise ValueError(f"a host's name of {len(data)} bytes; 1 to {HOST_BYTES} are taken")
        parts.append(bytes((len(data),)) + data)
    return b"".join(parts)


# -- from bytes ------------------------------------------------------------------------------------


def decode(data: bytes) -> Datagram:
    """What the bytes say. Raises DatagramFault for anything that is not exactly a datagram."""
    if len(data) < HEADER.size:
        raise DatagramFault(f"{len(data)} bytes are no header")
    version, number, sensor, tag = HEADER.unpack_from(data)
    if version != VERSION:
        raise DatagramFault(f"version {version}; this is {VERSION}")
    body = data[HEADER.size :]
    try:
        if number == _UPDATE:
            return _update(sensor, body)
        return _small(DatagramKind(number), sensor, tag, body)
    except (struct.error, ValueError) as error:
        raise DatagramFault(str(error)) from error


def _small(kind: DatagramKind, sensor: int, tag: int, body: bytes) -> Datagram:
    """All but updates. Raises ValueError, struct.error."""
    if kind is DatagramKind.REGISTER:
        source, destination = _two_hosts(body[CONNECTION.size :])
        name = CONNECTION.unpack_from(body)[0]
        return Register(name, SensorKind(sensor), source, destination, tag)
    if kind is DatagramKind.UNREGISTER:
        return Unregister(CONNECTION.unpack(body)[0], SensorKind(sensor), tag)
    if kind is DatagramKind.GETINFO:
        return GetInfo(GETINFO.unpack(body)[0], tag)
    if kind is DatagramKind.GETINFO_BETWEEN:
        source, destination = _two_hosts(body)
        return GetInfoBetween(source, destination, tag, SensorKind(sensor) if sensor else None)
    if kind is DatagramKind.ANSWER:
        connection, outcome = ANSWER.unpack(body)
        return RegistrationAnswer(connection, Registration(outcome), tag)
    if kind is DatagramKind.INFO:
        if len(body) > ESTIMATE.size * len(SensorKind):
            raise ValueError(f"{len(body)} bytes of estimates")
        return Info(tuple(_estimate(*one) for one in ESTIMATE.iter_unpack(body)), tag)
    connections, confidence, age, rate = PATH.unpack(body)
    _finite(confidence, age, rate)
    return InfoBetween(connections, confidence, age, rate, tag)


def _update(number: int, body: bytes) -> Update:
    sensor = _SENSORS.get(number)
    if sensor is None:
        raise ValueError(f"{number} is no sensor")
    at = AT.unpack_from(body)[0]
    if not isfinite(at):
        raise ValueError(f"a time that is none: {at}")
    layout = TRANSPORT if sensor is _TRANSPORT else PROGRESS
    count, rest = divmod(len(body) - AT.size, layout.size)
    if rest or not 0 < count <= MOST_SAMPLES:
        raise ValueError(f"an update of {len(body)} bytes")
    entries = layout.iter_unpack(memoryview(body)[AT.size :])
    if sensor is _TRANSPORT:
        return Update(sensor, at, list(map(TransportSample._make, entries)))
    return Update(sensor, at, list(map(ProgressSample._make, entries)))


def _estimate(sensor: int, confidence: float, age: float, rate: float) -> SensorEstimate:
    _finite(confidence, age, rate)
    return SensorEstimate(SensorKind(sensor), confidence, age, rate)


def _finite(*numbers: float) -> None:
    if not all(map(isfinite, numbers)):
        raise ValueError(f"numbers that are none: {numbers}")


def _two_hosts(body: bytes) -> Sequence[str]:
    """Two names, each behind its length, and nothing else."""
    names, at = [], 0
    for _ in range(2):
        length = body[at] if at < len(body) else 0
        name = body[at + 1 : at + 1 + length]
        if not length or len(name) < length:
            raise ValueError("a host's name is missing or cut off")
        names.append(name.decode())
        at += 1 + length
    if at != len(body):
        raise ValueError(f"{len(body) - at} bytes behind the hosts")
    return names
