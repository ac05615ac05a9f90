"""The sockets of a relay: none has a buffer in the kernel that the emulated queue does not count.

It knows nothing of lines and connections.
"""

from __future__ import annotations

import socket
from typing import Final

from emulation.relay.relay_settings import Address

_RECEIVE_BUFFER: Final = 8192
"""SO_RCVBUF asked for on both sockets of a connection: enough for the loopback at 50 MB/s."""
_SMALL_RECEIVE_BUFFER: Final = 4096
_KERNEL_HOLDS: Final = 1.75
"""Bytes the kernel takes in per byte of SO_RCVBUF asked for (measured, Linux 6.18)."""
_SEGMENT: Final = 1448
"""TCP_MAXSEG: a loopback segment of 64 KB would stall on so small a receive buffer."""
_RESET_ON_CLOSE: Final = b"\1\0\0\0\0\0\0\0"
"""SO_LINGER on, for 0 seconds."""


def listen(address: Address, *, queue: int) -> socket.socket:
    """A socket that accepts relayed connections. `queue`: bytes. Raises OSError."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        prepare(listener, queue)
        listener.bind(address)
        listener.listen(256)
    except OSError:
        listener.close()
        raise
    return listener


def connecting(queue: int) -> socket.socket:
    """A socket that is yet to connect. `queue`: bytes."""
    end = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    prepare(end, queue)
    return end


def prepare(end: socket.socket, queue: int) -> None:
    """Socket options, before it connects or listens: no buffer that `queue` does not count."""
    end.setblocking(False)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _receive_buffer(queue))
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT)
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def reset(end: socket.socket) -> None:
    """Closing it will reset the connection."""
    if end.fileno() >= 0:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)


def kernel_share(queue: int) -> float:
    """Bytes of the queue that the kernel's receive buffer holds before ours fills."""
    return _KERNEL_HOLDS * _receive_buffer(queue)


def _receive_buffer(queue: int) -> int:
    return _RECEIVE_BUFFER if queue >= 4 * _RECEIVE_BUFFER else _SMALL_RECEIVE_BUFFER
