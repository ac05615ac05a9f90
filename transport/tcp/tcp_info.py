"""Reads the kernel's view of a TCP connection: the second opinion beside the receiver's reports.

It sees the path up to whatever terminates TCP, which is often not the peer, and what it calls
delivered may sit in a tunnel's buffer. Source: linux/tcp.h, struct tcp_info, which has grown with
the kernel: what all of them have is read at once, what later ones have as far as it is there.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

from monitor.tcp_view import TcpInfo

_LAYOUT: Final = struct.Struct("=8B24I4Q6IQ")
"""What Linux has since 4.9."""
_STATE: Final = 1
_BACKOFF: Final = 4
_RTO: Final = 8
_MSS: Final = 10
_UNACKED: Final = 12
_RTT: Final = 23
_RTT_DEVIATION: Final = 24
_THRESHOLD: Final = 25
_CWND: Final = 26
_TOTAL_RETRANS: Final = 31
_ACKED: Final = 34
_RECEIVED: Final = 35
_ALL_SEGS_OUT: Final = 36
_SEGS_IN: Final = 37
_NOTSENT: Final = 38
_MIN_RTT: Final = 39
_DATA_SEGS_IN: Final = 40
_SEGS_OUT: Final = 41
_DELIVERY_RATE: Final = 42
_BUFFER_LIMITED: Final = (struct.Struct("=Q"), 184)
"""Layout and offset of what came later: microseconds (4.10)."""
_SENT: Final = (struct.Struct("=Q"), 200)
"""Bytes, with those that were sent again (4.19)."""
_PEER_WINDOW: Final = (struct.Struct("=I"), 228)
"""Bytes (5.4)."""
_SIZE: Final = 232
"""Bytes of all that."""
HEADERS: Final = 52
"""Bytes of a segment that are IPv4's and TCP's, with its time stamps (RFC 7323)."""
MORE_OF_IPV6: Final = 20


def read(connection: socket.socket) -> TcpInfo | None:
    """The kernel's view; None where there is none, or too short a one."""
    try:
        raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SIZE)
    except (OSError, AttributeError):
        return None
    if len(raw) < _LAYOUT.size:
        return None
    six = connection.family == socket.AF_INET6
    return parse(raw, headers=HEADERS + MORE_OF_IPV6 * six)


def parse(raw: bytes, *, headers: int = HEADERS) -> TcpInfo:
    """`struct tcp_info` as of Linux 4.9 or later. Raises struct.error when it is shorter.

    `headers`: bytes of those of a segment.
    """
    fields = _LAYOUT.unpack_from(raw)
    sent = _later(raw, *_SENT)
    limited = _later(raw, *_BUFFER_LIMITED)
    return TcpInfo(
        rtt=fields[_RTT] * 1e-6,
        min_rtt=fields[_MIN_RTT] * 1e-6,
        unacked_segments=fields[_UNACKED],
        window_segments=fields[_CWND],
        unsent=fields[_NOTSENT],
        retransmitted_segments=fields[_TOTAL_RETRANS],
        segments=fields[_SEGS_OUT],
        delivery_rate=float(fields[_DELIVERY_RATE]),
        rtt_deviation=fields[_RTT_DEVIATION] * 1e-6,
        retransmission_timeout=fields[_RTO] * 1e-6,
        segment_size=fields[_MSS],
        congestion_state=fields[_STATE],
        backoff=fields[_BACKOFF],
        slow_start_threshold=fields[_THRESHOLD],
        bytes_acked=fields[_ACKED],
        segments_in=fields[_SEGS_IN],
        data_segments_in=fields[_DATA_SEGS_IN],
        crossed=(
            (fields[_ACKED] if sent is None else sent)
            + fields[_RECEIVED]
            + headers * (fields[_ALL_SEGS_OUT] + fields[_SEGS_IN])
        ),
        buffer_limited=None if limited is None else limited * 1e-6,
        peer_window=_later(raw, *_PEER_WINDOW),
    )


def _later(raw: bytes, layout: struct.Struct, offset: int) -> int | None:
    """A number that an older kernel does not have."""
    if len(raw) < offset + layout.size:
        return None
    value: int = layout.unpack_from(raw, offset)[0]
    return value
