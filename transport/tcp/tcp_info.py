"""Reads the kernel's view of a TCP connection: the second opinion beside the receiver's reports.

It sees the path up to whatever terminates TCP, which is often not the peer, and what it calls
delivered may sit in a tunnel's buffer. Source: linux/tcp.h, struct tcp_info.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Final

_LAYOUT: Final = struct.Struct("=8B24I4Q6I4Q2I2Q4I")
_UNACKED: Final = 12
_RTT: Final = 23
_CWND: Final = 26
_TOTAL_RETRANS: Final = 31
_NOTSENT: Final = 38
_MIN_RTT: Final = 39
_SEGS_OUT: Final = 41
_DELIVERY_RATE: Final = 42


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """An immutable snapshot."""

    rtt: float
    """Seconds, smoothed."""
    min_rtt: float
    unacked_segments: int
    window_segments: int
    unsent: int
    """Bytes in the kernel that have not been sent once."""
    retransmitted_segments: int
    segments: int
    """Data segments sent."""
    delivery_rate: float
    """Bytes/second, newest sample."""


def read(connection: socket.socket) -> TcpInfo | None:
    """The kernel's view; None where there is none, or too short a one."""
    try:
        raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAYOUT.size)
    except (OSError, AttributeError):
        return None
    if len(raw) < _LAYOUT.size:
        return None
    return parse(raw)


def parse(raw: bytes) -> TcpInfo:
    """`struct tcp_info` as of Linux 4.10 or later."""
    fields = _LAYOUT.unpack_from(raw)
    return TcpInfo(
        rtt=fields[_RTT] * 1e-6,
        min_rtt=fields[_MIN_RTT] * 1e-6,
        unacked_segments=fields[_UNACKED],
        window_segments=fields[_CWND],
        unsent=fields[_NOTSENT],
        retransmitted_segments=fields[_TOTAL_RETRANS],
        segments=fields[_SEGS_OUT],
        delivery_rate=float(fields[_DELIVERY_RATE]),
    )
