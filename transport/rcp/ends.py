"""Joins the handshake and either end of RCP for an edge, or a world in virtual time. Pure.

Both ends have one shape: `received(segment, now)`, `to_send(now)`, `next_timer()`, `on_timer(now)`.
"""

from __future__ import annotations

from transport.rcp.handshake import RcpHandshake
from transport.rcp.receiver import RcpReceiver
from transport.rcp.segments import Role, Segment
from transport.rcp.send_buffer import Content
from transport.rcp.sender import RcpSender


class ReceivingEnd:
    """The receiver's end of a connection."""

    def __init__(self, receiver: RcpReceiver, *, opens: bool = True) -> None:
        self.receiver = receiver
        self.handshake = RcpHandshake(Role.RECEIVER, size=receiver.size, opens=opens)

    def received(self, segment: Segment, now: float) -> None:
        """Takes in a segment. Raises PeerError."""
        before = self.handshake.established
        if not self.handshake.received(segment, now):
            self.receiver.received(segment, now)
        elif self.handshake.established and not before:
            self.receiver.begin(size=self.handshake.size, round_trip=self.handshake.round_trip)

    def to_send(self, now: float) -> list[Segment]:
        """What goes to the sender now; after the handshake's last word the first request."""
        said = self.handshake.to_send(now)
        return [*said, *self.receiver.requests(now)] if self.handshake.established else said

    def next_timer(self) -> float | None:
        """When to call `on_timer`; None: only news changes anything."""
        return _first(
            self.handshake.deadline,
            self.receiver.next_timer() if self.handshake.established else None,
        )

    def on_timer(self, now: float) -> None:
        self.handshake.on_timer(now)
        if self.handshake.established:
            self.receiver.on_timer(now)


class SendingEnd:
    """The sender's end of a connection."""

    def __init__(self, content: Content, *, size: int, opens: bool = False) -> None:
        """`size`: bytes of data in a segment at most, here."""
        self.handshake = RcpHandshake(Role.SENDER, size=size, opens=opens)
        self.sender = RcpSender(content, size=size)
        self._waiting: list[Segment] = []

    def received(self, segment: Segment, now: float) -> None:
        """Takes in a segment. Raises PeerError."""
        if not self.handshake.received(segment, now):
            self._waiting += self.sender.received(segment)
        self.sender.size = self.handshake.size

    def wrote(self) -> None:
        """Something was written, or the end."""
        self._waiting += self.sender.news()

    def to_send(self, now: float) -> list[Segment]:
        """What goes to the receiver now."""
        said = [*self.handshake.to_send(now), *self._waiting]
        self._waiting.clear()
        return said

    def next_timer(self) -> float | None:
        """When to call `on_timer`: of the handshake alone, for the sender has no timers."""
        return self.handshake.deadline

    def on_timer(self, now: float) -> None:
        self.handshake.on_timer(now)


def _first(*timers: float | None) -> float | None:
    return min((one for one in timers if one is not None), default=None)
