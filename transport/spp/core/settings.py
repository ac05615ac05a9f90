"""Settings that an application chooses of a connection, and what it is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from transport.spp.core.mtu import BASE, CEILING
from wire.errors import LocalError


@dataclass(frozen=True, slots=True)
class SppSettings:
    """What an end chooses. Seconds, bytes."""

    ordered: bool = True
    """Hand payloads over by their numbers, else as they come."""
    buffer: int = 262_144
    """Bytes of payloads that may wait to be sent for the first time."""
    window: int = 1_048_576
    """Costs of payloads that the peer may send before they are taken; both ends have the same."""
    keep_alive: float | None = 20.0
    """After so long without sending a datagram goes, as NATs forget after 30 s (RFC 8085, 3.5), and
    it shows the peer where we are; it asks for an answer where `idle` needs one. None: never."""
    idle: float | None = None
    """After so long without news the connection is over; None: it waits for ever."""
    spacing: float = inf
    """Of acknowledgements: so long after one the next goes with the first datagram that asks, not
    the second, for a sender that must hear soon what has arrived."""
    base: int = BASE
    """Bytes of datagrams at first: thin links are better off with fewer."""
    ceiling: int = CEILING
    """Bytes of the largest datagrams to search for."""


class Delivered(NamedTuple):
    """A datagram that the peer has. What rates are estimated from."""

    size: int
    """Bytes with the headers of IP and UDP."""
    payload: int
    """Bytes of payloads in it."""
    sent_at: float
    """Seconds on this end's clock."""
    acknowledged_at: float
    """The same."""
    arrived_at: float | None
    """Seconds on the receiver's clock, from its connection's start; None: not told."""
    sequences: tuple[int, ...]
    """Payloads that are over there entirely since this datagram."""


class PayloadRefused(LocalError):
    """The connection takes no more payloads now: look at `room` before sending."""


class IdleTimeout(Exception):
    """No news for as long as the settings say."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """An immutable snapshot. Datagrams, bytes, seconds."""

    sent: int
    received: int
    lost: int
    spurious: int
    """Given up for lost, though they arrived."""
    refused: int
    """Datagrams that nobody authentic sent, or a second time."""
    duplicates: int
    """Payloads that came again, in other datagrams."""
    in_flight: int
    backlog: int
    smoothed: float
    least: float
    datagram: int
    """Bytes of datagrams at present."""
    silent: float
    """Seconds since the last news of the peer."""
    held: int
    """Costs of payloads that are here and not taken."""
