"""Tests of wrapped sockets: they carry the same bytes, and say how many."""

from __future__ import annotations

import socket
import threading

import pytest

from monitor.samples import Samples, SensorKind
from observation.reporter import MonitoredConnection
from observation.wrappers import MonitoredSocket, app_rcv, app_snd
from tests.observation.observed import named, tcp


class Kept:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.said: list[tuple[str, int, int]] = []

    def register(self, connection: MonitoredConnection, sensor: SensorKind) -> None:
        self.said.append(("register", connection.name, sensor))

    def unregister(self, connection: int, sensor: SensorKind) -> None:
        self.said.append(("unregister", connection, sensor))

    def update(self, sensor: SensorKind, samples: Samples, *, at: float) -> None:
        self.said += [("total", sample[0], sample[1]) for sample in samples]

    @property
    def totals(self) -> list[int]:
        """What updates said."""
        return [number for what, _, number in self.said if what == "total"]


def test_what_is_sent_counts_at_the_sender_and_arrives_as_it_is() -> None:
    kept = Kept()
    with tcp() as (near, far):
        sender = app_snd(near, named(5), kept, interval=0.001)
        assert sender.send(b"abc") == 3
        threading.Event().wait(0.002)
        sender.sendall(memoryview(b"defg"))
        assert sender.getpeername() == far.getsockname()  # all else is the socket's
        assert sender.fileno() == near.fileno()
        far.sendall(b"answer")
        assert sender.recv(6) == b"answer"  # does not count: the sensor sits at the sender
        sender.close()
        assert far.recv(7, socket.MSG_WAITALL) == b"abcdefg"
    assert kept.said[0] == ("register", 5, SensorKind.APP_SND)
    assert kept.said[-1] == ("unregister", 5, SensorKind.APP_SND)
    assert kept.totals == [3, 7]


def test_a_long_sendall_is_reported_while_it_goes() -> None:
    kept, size = Kept(), 30_000_000
    with tcp() as (near, far):
        sender = app_snd(near, named(5), kept, interval=0.001)
        thread = threading.Thread(target=sender.sendall, args=(bytes(size),))
        thread.start()
        got = 0
        while got < size:
            got += len(far.recv(65_536))
        thread.join()
    assert len(kept.totals) > 2
    assert kept.totals == sorted(kept.totals)
    assert kept.totals[-1] <= size


def test_what_arrives_counts_at_the_receiver_but_not_what_is_only_looked_at() -> None:
    kept = Kept()
    with tcp() as (near, far):
        receiver = app_rcv(far, named(6), kept, interval=0.001)
        near.sendall(b"abcdef")
        assert receiver.recv(6, socket.MSG_PEEK)
        assert kept.totals == []
        assert receiver.recv(2) == b"ab"
        threading.Event().wait(0.002)
        buffer = bytearray(4)
        assert receiver.recv_into(buffer, 0, socket.MSG_PEEK) == 4
        assert receiver.recv_into(buffer) == 4
        assert buffer == b"cdef"
        receiver.send(b"back")
    assert kept.totals == [2, 6]


def test_reports_are_the_interval_apart() -> None:
    kept = Kept()
    with tcp() as (near, _):
        sender = app_snd(near, named(5), kept, interval=60.0)
        for _ in range(10):
            sender.send(b"x")
    assert kept.totals == [1]


def test_an_error_of_the_socket_is_its_own_and_counts_nothing() -> None:
    kept = Kept()
    with tcp() as (near, far):
        sender = app_snd(near, named(5), kept, interval=0.001)
        near.close()
        with pytest.raises(OSError, match="Bad file"):
            sender.send(b"x")
        far.setblocking(False)
        receiver = app_rcv(far, named(6), kept, interval=0.001)
        far.close()
        with pytest.raises(OSError, match="Bad file"):
            receiver.recv(1)
    assert kept.totals == []


def test_a_wrapper_is_of_an_application() -> None:
    with tcp() as (near, _), pytest.raises(ValueError, match="transport"):
        MonitoredSocket(near, named(5), Kept(), sensor=SensorKind.TRANSPORT, interval=1.0)
