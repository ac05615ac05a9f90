"""Shows how old bytes are by the kernel's word: of real sockets, and of notes that can't be."""

from __future__ import annotations

import socket
import struct
import time

import pytest

from tests.transport.stamping import stamping
from transport.link import kernel_stamps

WAITED = 0.05


def udp() -> tuple[socket.socket, socket.socket]:
    ours, theirs = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    ours.bind(("127.0.0.1", 0))
    theirs.connect(ours.getsockname())
    return ours, theirs


def tcp() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        theirs = socket.create_connection(listening.getsockname())
        ours, _ = listening.accept()
    return ours, theirs


@pytest.mark.parametrize("make", [tcp, udp])
def test_what_waited_is_as_old_as_it_is(make: type) -> None:
    ours, theirs = make()
    with ours, theirs, stamping():
        assert kernel_stamps.ask(ours)
        began = time.monotonic()
        theirs.send(b"words")
        time.sleep(WAITED)
        data, notes, _, _ = ours.recvmsg(100, kernel_stamps.SPACE)
        age = kernel_stamps.age(notes)
        assert data == b"words"
        assert WAITED * 0.9 < age <= time.monotonic() - began + 0.001


def note(age: float, *, form: str = "=qq") -> list[tuple[int, int, bytes]]:
    at = time.time_ns() - round(age * 1e9)
    return [(socket.SOL_SOCKET, 35, struct.pack(form, at // 10**9, at % 10**9))]


def test_a_clock_that_was_set_says_nothing() -> None:
    assert kernel_stamps.age([]) == 0.0
    assert kernel_stamps.age([(socket.IPPROTO_UDP, 35, bytes(16))]) == 0.0
    assert kernel_stamps.age([(socket.SOL_SOCKET, 35, bytes(5))]) == 0.0
    assert kernel_stamps.age(note(-1.0)) == 0.0
    assert kernel_stamps.age(note(kernel_stamps.MOST + 1)) == 0.0
    assert kernel_stamps.age(note(3.0)) == pytest.approx(3.0, abs=0.5)
    assert kernel_stamps.age(note(3.0, form="=ll")) == pytest.approx(3.0, abs=0.5)


def test_where_it_can_not_be_had_it_is_done_without() -> None:
    closed, other = socket.socketpair()
    closed.close()
    other.close()
    assert not kernel_stamps.ask(closed)
