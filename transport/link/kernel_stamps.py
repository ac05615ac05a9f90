"""Asks the kernel when it had what a socket gives. An event loop is late by up to 50 ms under load,
and by more where another program has the processors just now, a browser that draws a page.

    ask(socket)                                     once; False: there will be none
    data, notes, ... = socket.recvmsg(n, SPACE)
    age(notes)                                      seconds since the newest of it came

Linux has it for UDP, and from 4.16 on for TCP: the stamp of the last segment that was read.
Sources: socket(7), linux/Documentation/networking/timestamping.rst.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Sequence
from typing import Final

SPACE: Final = 128
"""Bytes for notes, other people's too."""
MOST: Final = 10.0
"""Seconds; a greater age is none: the wall clock was set, or the machine slept meanwhile."""
_SO_TIMESTAMPNS: Final = 35
"""In asm-generic/socket.h."""
_FORMS: Final = {16: struct.Struct("=qq"), 8: struct.Struct("=ll")}
"""By size: seconds and nanoseconds, where a long has 64 bits and where it has 32."""


def ask(own: socket.socket) -> bool:
    """Have what comes stamped; whether that can be had."""
    if sys.platform != "linux":
        return False
    try:
        own.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


def age(notes: Sequence[tuple[int, int, bytes]]) -> float:
    """Seconds since the kernel had what came with these notes; 0 where they don't tell."""
    for level, kind, data in notes:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) in _FORMS:
            seconds, nanoseconds = _FORMS[len(data)].unpack(data)
            passed = (time.time_ns() - seconds * 1_000_000_000 - nanoseconds) / 1e9
            return passed if 0 <= passed < MOST else 0.0
    return 0.0
