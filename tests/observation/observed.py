"""The daemon as a process of its own, and TCP connections on loopback to watch."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from observation.reporter import MonitoredConnection
from tests.cli.commands import Running, home, running


@contextmanager
def daemon(tmp_path: Path, *arguments: str) -> Iterator[Running]:
    """`sluice observe` at any free port."""
    with running("observe", "--listen=127.0.0.1:0", *arguments, home=home(tmp_path)) as there:
        yield there


@contextmanager
def tcp() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    with near, far:
        yield near, far


def named(name: int) -> MonitoredConnection:
    """A connection of that name, between two hosts of tests."""
    return MonitoredConnection(name, "near.test", "far.test")


def carry(near: socket.socket, far: socket.socket, amount: int) -> None:
    """Send so many bytes and take them, a block at a time."""
    while amount:
        block = min(amount, 16_384)
        near.sendall(bytes(block))
        left = block
        while left:
            left -= len(far.recv(left))
        amount -= block
