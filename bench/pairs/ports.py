"""A port for a server that can't be asked which one it took, or that starts again on the same."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
"""Nothing here listens beyond the machine."""
_EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL: Final = 32_768
"""Where the kernel's own choice begins, if it can't be asked."""
_FIRST: Final = 10_000
_TRIES: Final = 200


def free_port(*, row: int = 1) -> int:
    """One that is free for TCP and for UDP, and that no outgoing connection is given meanwhile.

    So are the ports behind it, `row` in all. Raises OSError if there is none.
    """
    for port in random.sample(range(_FIRST, max(_FIRST + _TRIES, _ephemeral() - row)), _TRIES):
        if all(_is_free(one) for one in range(port, port + row)):
            return port
    raise OSError(f"no free port from {_FIRST} to {_ephemeral()} on {HOST}")


def _is_free(port: int) -> bool:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                return False
    return True


def _ephemeral() -> int:
    """The first port that the kernel gives away by itself."""
    try:
        return int(_EPHEMERAL.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return _USUAL
