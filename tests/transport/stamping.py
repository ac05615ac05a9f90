"""A kernel that stamps what comes: it begins to a moment after the first socket has asked."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from transport.link import kernel_stamps

PATIENCE = 20.0
"""Seconds."""
WAITED = 0.005


@contextmanager
def stamping() -> Iterator[None]:
    """While it lasts the kernel stamps, everybody's."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as theirs,
    ):
        ours.bind(("127.0.0.1", 0))
        theirs.connect(ours.getsockname())
        assert kernel_stamps.ask(ours)
        end = time.monotonic() + PATIENCE
        age = 0.0
        while age < WAITED:
            assert time.monotonic() < end, "the kernel does not stamp what comes"
            theirs.send(b"words")
            time.sleep(WAITED)
            _, notes, _, _ = ours.recvmsg(100, kernel_stamps.SPACE)
            age = kernel_stamps.age(notes)
        yield
