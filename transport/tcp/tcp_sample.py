"""Reads of a TCP connection what a transport sensor reports, and no more.

The kernel's answer is unpacked in its own order, which is a sample's too, so one costs a system
call and two conversions: 2 microseconds. transport/tcp/tcp_info.py says more of one connection, to
whoever has the time. Must not know when to read. Source: linux/tcp.h, struct tcp_info.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import Final

from monitor.samples import TransportSample

_LAYOUT: Final = struct.Struct("=xB2xB2xB I4xI4xI4xI 32x IIII 16x I 16x Q 12x I 4x I 4x I Q 60x I")
"""Congestion's state, backoff and flags; timeout, mss, unacked, lost; rtt, rttvar, threshold,
window; total_retrans; bytes_acked; segs_in; min_rtt; data_segs_out; delivery_rate; snd_wnd."""
_LEAST: Final = 168
"""Bytes of the struct up to the delivery rate, which Linux has since 4.10."""
_TCP_INFO: Final = getattr(socket, "TCP_INFO", 11)


def reader(connection: int, watched: socket.socket) -> Callable[[], TransportSample | None]:
    """Reads that socket's facts whenever it is called; None once it is closed, or is not TCP's."""
    getsockopt, unpack, size = watched.getsockopt, _LAYOUT.unpack_from, _LAYOUT.size
    make, level, option = TransportSample._make, socket.IPPROTO_TCP, _TCP_INFO

    def read() -> TransportSample | None:
        try:
            raw = getsockopt(level, option, size)
        except OSError:
            return None
        if len(raw) < size:
            if len(raw) < _LEAST:
                return None
            raw = raw.ljust(size, b"\0")
        return make((connection, *unpack(raw)))

    return read
