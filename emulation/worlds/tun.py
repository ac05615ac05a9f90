"""TUN devices: IP packets of a namespace as reads and writes of a file. Knows nothing of links.

A device lives as long as the file is open, so nothing is left of one whose process has ended. It
has no offloads: what is read is what would be on a wire, no packet larger than its MTU.
Source: Documentation/networking/tuntap.rst of the kernel.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from typing import Final

DEVICE: Final = "/dev/net/tun"
_TUNSETIFF: Final = 0x400454CA
_SIOCSIFMTU: Final = 0x8922
_SIOCSIFTXQLEN: Final = 0x8943
_IFF_TUN: Final = 0x0001
_IFF_NO_PI: Final = 0x1000
_WAITING: Final = 10_000
"""Packets that may wait to be read: a late reader must not lose what its queue has room for."""


def open_tun(name: str, *, mtu: int) -> int:
    """A descriptor that does not block; the device is down. `mtu` in bytes. Raises OSError.

    It belongs to the namespace of the calling thread; the descriptor may go anywhere.
    """
    descriptor = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        label = name.encode()
        fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", label, _IFF_TUN | _IFF_NO_PI))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for request, value in ((_SIOCSIFMTU, mtu), (_SIOCSIFTXQLEN, _WAITING)):
                fcntl.ioctl(control, request, struct.pack("16si20x", label, value))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
