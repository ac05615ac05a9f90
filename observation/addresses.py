"""Looks up the address of a daemon, as its user named it. Knows nothing of what is said there."""

from __future__ import annotations

import socket
from typing import Any


def datagrams_at(host: str, port: int) -> tuple[socket.socket, Any]:
    """A UDP socket of the right family, and the address to bind or to connect it to.

    Raises OSError for a name that is not to be had.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    family, kind, protocol, _, address = found[0]
    return socket.socket(family, kind, protocol), address
