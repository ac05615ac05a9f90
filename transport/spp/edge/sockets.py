"""A UDP socket that moves many datagrams a call, where the kernel can (Linux).

UDP_SEGMENT (4.18) takes datagrams of one size as one buffer, UDP_GRO (5.0) hands them out so, with
the time that the kernel had them (transport/link/kernel_stamps.py). Each is tried, and done without
where it is not to be had. Datagrams are never fragmented on their way (IP_PMTUDISC_PROBE): the
search for their size (core/mtu.py) needs to know. ECN bits are left alone.

It knows neither connections nor keys. Sources: udp(7), ip(7), linux/udp.h.
"""

from __future__ import annotations

import errno
import fcntl
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from transport.link import kernel_stamps
from transport.spp.core.paths import Address

_UDP_SEGMENT: Final = 103
_UDP_GRO: Final = 104
_IP_MTU_DISCOVER: Final = 10
_IPV6_MTU_DISCOVER: Final = 23
_PMTUDISC_PROBE: Final = 3
_SIOCOUTQ: Final = 0x5411
_MOST_SEGMENTS: Final = 64
"""Datagrams of one buffer (UDP_MAX_SEGMENTS)."""
_LARGEST: Final = 65_507
"""Bytes of one buffer."""
_BUFFER: Final = 1 << 20
"""Bytes of the kernel's buffers that are asked for; it gives what its administrator allows."""
_GONE: Final = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL}
    | {errno.ECONNREFUSED, errno.EPERM, errno.ENOBUFS, errno.EINVAL}
)
"""The network is away, or somebody says so: datagrams are lost, which is nothing new."""


class ReceivedDatagram(NamedTuple):
    """A datagram that came."""

    datagram: bytes
    address: Address
    age: float
    """Seconds since the kernel had it."""


class TooLarge(Exception):
    """This machine's network takes no datagram of that size."""

    def __init__(self, size: int, *, sent: int) -> None:
        """`sent`: how many went before it."""
        super().__init__(f"no datagrams of {size} bytes here")
        self.size, self.sent = size, sent


class DatagramSocket:
    """Owns the socket."""

    def __init__(self, own: socket.socket, *, offload: bool = True) -> None:
        """`offload`: use UDP_SEGMENT and UDP_GRO if they can be had."""
        own.setblocking(False)
        self._socket = own
        self._buffer = bytearray(65_536)
        six = own.family == socket.AF_INET6
        _try(own, socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        _try(own, socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        if six:
            _try(own, socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER, _PMTUDISC_PROBE)
        _try(own, socket.IPPROTO_IP, _IP_MTU_DISCOVER, _PMTUDISC_PROBE)
        kernel_stamps.ask(own)
        self.segments = offload and _try(own, socket.IPPROTO_UDP, _UDP_SEGMENT, 0)
        """Many datagrams leave at once."""
        self.coalesces = offload and _try(own, socket.IPPROTO_UDP, _UDP_GRO, 1)
        """Many come at once."""

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def address(self) -> Address:
        """Where it is bound."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    @property
    def queued(self) -> int:
        """Bytes in the kernel's send queue, with its own overhead (SIOCOUTQ)."""
        return int.from_bytes(fcntl.ioctl(self._socket, _SIOCOUTQ, bytes(4)), "little")

    def close(self) -> None:
        self._socket.close()

    def receive(self) -> Sequence[ReceivedDatagram] | None:
        """What one call gives; None: there is nothing."""
        try:
            size, notes, _, address = self._socket.recvmsg_into([self._buffer], kernel_stamps.SPACE)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in _GONE:  # somebody's ICMP: proves nothing
                return ()
            raise
        segment, age = size, kernel_stamps.age(notes)
        for level, kind, data in notes:
            if level == socket.IPPROTO_UDP and kind == _UDP_GRO:
                segment = int.from_bytes(data[:4], "little")
        whence = (address[0], address[1])
        if segment >= size:
            return (ReceivedDatagram(bytes(self._buffer[:size]), whence, age),)
        view = bytes(self._buffer[:size])
        return [
            ReceivedDatagram(view[at : at + segment], whence, age)
            for at in range(0, size, max(1, segment))
        ]

    def send(self, datagrams: Sequence[bytes], address: Address) -> int:
        """How many the kernel took, the first ones; what a broken network loses counts as taken.

        Raises TooLarge, for the first that it did not take.
        """
        sent = 0
        for batch in self._batches(datagrams):
            try:
                self._send(batch, address)
            except BlockingIOError:
                return sent
            except OSError as error:
                if len(batch) > 1:
                    # No segmentation on this way: without it from now on.
                    self.segments = False
                    return self._one_by_one(datagrams, address, sent)
                if error.errno == errno.EMSGSIZE:
                    raise TooLarge(len(batch[0]), sent=sent) from error
                if error.errno not in _GONE:
                    raise
            sent += len(batch)
        return sent

    def _one_by_one(self, datagrams: Sequence[bytes], address: Address, sent: int) -> int:
        """`send` of those behind the first `sent`, which went."""
        try:
            return sent + self.send(datagrams[sent:], address)
        except TooLarge as error:
            raise TooLarge(error.size, sent=sent + error.sent) from error

    def _send(self, batch: Sequence[bytes], address: Address) -> None:
        if len(batch) == 1:
            self._socket.sendto(batch[0], address)
            return
        size = struct.pack("=H", len(batch[0]))
        self._socket.sendmsg(batch, [(socket.IPPROTO_UDP, _UDP_SEGMENT, size)], 0, address)

    def _batches(self, datagrams: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
        """Runs of one size, of which the last one may be shorter."""
        if not self.segments:
            yield from ([one] for one in datagrams)
            return
        begin, total = 0, 0
        for place, one in enumerate(datagrams):
            size = len(datagrams[begin])
            fits = len(one) <= size and total + len(one) <= _LARGEST
            ended = place > begin and len(datagrams[place - 1]) < size
            if place > begin and (not fits or ended or place - begin == _MOST_SEGMENTS):
                yield datagrams[begin:place]
                begin, total = place, 0
            total += len(one)
        if begin < len(datagrams):
            yield datagrams[begin:]


def _try(own: socket.socket, level: int, option: int, value: int) -> bool:
    try:
        own.setsockopt(level, option, value)
    except OSError:
        return False
    return True
