"""Samples: what a sensor has seen of one connection, and which sensor it was. Pure.

One batch of samples has one time, by the clock of its sensor, so samples hold none. They are named
tuples and not dataclasses: forty of them are made every twentieth of a second, each in a third of
the time. Source: Bolliger and Gross, "Bandwidth Monitoring for Network-Aware Applications", 2.2;
linux/tcp.h, struct tcp_info.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

_MICROSECOND: Final = 1e-6
"""Seconds."""


class SensorKind(IntEnum):
    """Where on a connection a sensor sits; one connection may have one of each."""

    APP_SND = 1
    """The sending application: it counts what it has pushed into the network."""
    APP_RCV = 2
    """The receiving application: it counts what has arrived."""
    TRANSPORT = 3
    """The sender's transport protocol: it knows what was acknowledged, delays and losses."""


class ProgressSample(NamedTuple):
    """Says how many bytes an application has sent or received so far."""

    connection: int
    """The name that whoever registered the connection gave it."""
    total: int
    """Bytes since the sensor began."""


class TransportSample(NamedTuple):
    """Says what TCP knows of one connection, in the kernel's units and order."""

    connection: int
    state: int
    """Of congestion control: 0 open, 1 disorder, 2 reduced window, 3 recovery, 4 loss."""
    backoff: int
    """Doublings of the retransmission timeout at present."""
    limited: int
    """Flags; bit 0: the newest `delivery_rate` was limited by the application."""
    timeout_us: int
    """Retransmission timeout, microseconds."""
    mss: int
    """Bytes of a full segment."""
    unacked: int
    """Segments under way."""
    lost: int
    """Segments that are believed lost now."""
    rtt_us: int
    """Smoothed round trip, microseconds."""
    rttvar_us: int
    threshold: int
    """Slow start's, in segments."""
    window: int
    """Congestion window, in segments."""
    retransmitted: int
    """Segments sent again, since the connection began."""
    acked: int
    """Bytes that the peer has acknowledged."""
    acknowledgements: int
    """Segments that came from the peer."""
    min_rtt_us: int
    segments: int
    """Data segments sent, those sent again included."""
    delivery_rate: int
    """Bytes/second, the kernel's newest."""
    peer_window: int
    """Bytes that the receiver lets be under way; 0: the kernel does not say (before Linux 5.4)."""

    @property
    def rtt(self) -> float:
        """The smoothed round trip in seconds."""
        return self.rtt_us * _MICROSECOND

    @property
    def rttvar(self) -> float:
        """How far round trips are from it, in seconds."""
        return self.rttvar_us * _MICROSECOND

    @property
    def min_rtt(self) -> float:
        """The shortest round trip in seconds."""
        return self.min_rtt_us * _MICROSECOND

    @property
    def timeout(self) -> float:
        """The retransmission timeout in seconds."""
        return self.timeout_us * _MICROSECOND

    @property
    def application_limited(self) -> bool:
        """Whether the sender had too little to send for the newest rate to be the path's."""
        return bool(self.limited & 1)


Samples = list[ProgressSample] | list[TransportSample]
"""Of one batch: all of one sensor."""
