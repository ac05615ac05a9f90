"""The kernel's view of a TCP connection at one moment, as values. Pure.

transport/tcp/tcp_info.py reads it; the sensors of monitor/sensors/ watch how it changes. Knows no
socket. Source: linux/tcp.h, struct tcp_info; states: enum tcp_ca_state there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OPEN: Final = 0
"""Nothing unusual."""
DISORDER: Final = 1
"""Duplicate acknowledgements have come, too few to call it a loss."""
REDUCED: Final = 2
"""The window shrinks without a loss: the network has marked packets (CWR)."""
RECOVERY: Final = 3
"""Lost segments are sent again, as acknowledgements told."""
LOSS: Final = 4
"""... because a timer ran out."""


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """An immutable snapshot. What an older kernel does not tell is None."""

    rtt: float
    """Seconds, smoothed."""
    min_rtt: float
    unacked_segments: int
    window_segments: int
    unsent: int
    """Bytes in the kernel that have not been sent once."""
    retransmitted_segments: int
    segments: int
    """Data segments sent, again or for the first time."""
    delivery_rate: float
    """Bytes/second, newest sample."""
    rtt_deviation: float = 0.0
    """Seconds (RFC 6298, RTTVAR)."""
    retransmission_timeout: float = 0.0
    """Seconds."""
    segment_size: int = 0
    """Bytes of payload of a full segment sent."""
    congestion_state: int = OPEN
    """OPEN to LOSS, above."""
    backoff: int = 0
    """Times that the retransmission timeout has been doubled."""
    slow_start_threshold: int = 0
    """Segments; 2^31 - 1 before the first loss."""
    bytes_acked: int = 0
    segments_in: int = 0
    """Segments that have come, with data or without."""
    data_segments_in: int = 0
    crossed: int = 0
    """Bytes of all packets so far, both ways, with the headers of IP and TCP."""
    buffer_limited: float | None = None
    """Seconds in all that a full send buffer kept it from sending (Linux 4.10)."""
    peer_window: int | None = None
    """Bytes that the peer has room for (Linux 5.4)."""
