"""The interface below ATP: a reliable datagram service that carries its segments (ATP, section
4.1).

A carrier delivers each payload whole and once; the order may change. It accepts payloads while it
has room, and says how much of what it accepted has not left yet, which is what bandwidth is
estimated by: the paper polls the network card, SIOCOUTQ or a device's queue do as well.

It must not know what is in a payload.
"""

from __future__ import annotations

from typing import Protocol

MTU = 1500
"""Bytes of a packet; figure 3 counts the backlog in these."""


class CarrierReader(Protocol):
    """Whom a carrier tells what happens. Must not raise."""

    def segment_received(self, payload: bytes, *, now: float) -> None: ...

    def room_made(self) -> None:
        """There was no room for a segment, and now there is."""

    def carrier_closed(self, error: Exception | None) -> None:
        """Called once, last; None: an end of either side closed it on purpose."""


class Carrier(Protocol):
    """One connection to the peer, both ways. Bytes and seconds.

    `room` counts bytes of payload. `capacity`, `backlog` and `takes` count in one unit, bytes as
    the carrier queues them, its own headers and padding included or not; so does the estimate.
    """

    @property
    def segment(self) -> int:
        """Bytes of the largest payload. Doesn't change once started."""

    @property
    def capacity(self) -> int:
        """Bytes that its send queue holds in all (figure 3's send queue capacity)."""

    @property
    def latency(self) -> float:
        """Seconds for which a byte counts as backlog although nothing waits: 0 where the backlog
        is a local queue, the least round trip where it lasts until an acknowledgement."""

    def start(self, reader: CarrierReader) -> None:
        """Begin to deliver. Called once."""

    def room(self, now: float) -> int:
        """Bytes of payload it would take now; less than a segment's: wait for `room_made`."""

    def takes(self, length: int) -> int:
        """Bytes that a payload of this length takes in the queue."""

    def send(self, payload: bytes, now: float) -> None:
        """Take a payload of at most `segment` bytes, for which there is room."""

    def backlog(self, now: float) -> int:
        """Bytes accepted that have not left."""

    def reading(self, wanted: bool) -> None:
        """False: deliver nothing for now, and let the peer feel it. Payloads may still come."""

    def close(self) -> None:
        """Send what is queued if that is possible, then end."""
