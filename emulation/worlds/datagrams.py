"""Datagrams from one host to another, each with the times at which kernels saw it.

The sender's clock is read before each send, the receiver's kernel stamps each arrival, so that
neither process has to be punctual. Knows sockets; not what lies between.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from emulation.relay.relay_settings import Address
from emulation.worlds.hosts import EmulatedHost

HEADERS: Final = 28
"""Bytes of IPv4 and UDP before the payload."""
_STAMP: Final = 35
"""SO_TIMESTAMPNS, asm-generic/socket.h"""
_SO_RCVBUFFORCE: Final = 33
_BUFFER: Final = 64 << 20
"""Bytes that may have arrived before anybody looks: a second and a half at 100 Mbit/s."""
_NUMBER: Final = struct.Struct("!Q")


@dataclass(frozen=True, slots=True)
class Datagram:
    """One that arrived. Seconds on the wall clock, bytes of IP."""

    number: int
    """Its place among those sent, from 0."""
    sent: float
    arrived: float
    size: int


class Datagrams:
    """A socket at each end; a context manager."""

    def __init__(self, sender: EmulatedHost, receiver: EmulatedHost, *, to: str) -> None:
        """`to`: which of the receiver's addresses, and so which path. Raises OSError."""
        self._out = sender.new_socket(socket.SOCK_DGRAM)
        self._in = receiver.new_socket(socket.SOCK_DGRAM)
        self._in.bind((to, 0))
        self._in.setblocking(False)
        self._in.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        self._in.setsockopt(socket.SOL_SOCKET, _STAMP, 1)
        self._to: Address = self._in.getsockname()
        self._sent: list[float] = []

    def __enter__(self) -> Datagrams:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._out.close()
        self._in.close()

    def warm_up(self, *, within: float) -> None:
        """One there and forgotten, in so many seconds: the first ones find nothing ready."""
        self.send(HEADERS + _NUMBER.size)
        self.arrived(within=within)
        self._sent.clear()

    def send(self, size: int) -> None:
        """One of so many bytes of IP, at least 36."""
        payload = _NUMBER.pack(len(self._sent)).ljust(size - HEADERS, b"\0")
        self._sent.append(time.time_ns() / 1e9)
        self._out.sendto(payload, self._to)

    def burst(self, size: int, count: int) -> None:
        """So many at once."""
        for _ in range(count):
            self.send(size)

    def paced(self, size: int, count: int, *, rate: float) -> None:
        """So many, evenly at `rate` bytes/second, or as fast as this machine can."""
        began = time.monotonic()
        for number in range(count):
            due = began + number * size / rate
            if (pause := due - time.monotonic()) > 0:
                time.sleep(pause)
            self.send(size)

    def arrived(self, *, within: float) -> Sequence[Datagram]:
        """All so far and in so many seconds, in the order of arrival."""
        time.sleep(within)
        found: list[Datagram] = []
        while True:
            try:
                payload, notes, _, _ = self._in.recvmsg(65_536, 64)
            except BlockingIOError:
                return sorted(found, key=lambda one: one.arrived)
            (number,) = _NUMBER.unpack_from(payload)
            size = len(payload) + HEADERS
            found.append(Datagram(number, self._sent[number], _stamp(notes), size))


def _stamp(notes: Sequence[tuple[int, int, bytes]]) -> float:
    """When the kernel got it, seconds."""
    for _, kind, data in notes:
        if kind == _STAMP:
            seconds, nanoseconds = struct.unpack("=qq", data[:16])
            return float(seconds) + float(nanoseconds) / 1e9
    raise OSError("the kernel does not stamp arrivals")
