"""Opens a connection by SYN, SYN+ACK and ACK, whichever end begins (3.3.2). Pure.

The opener repeats what has no answer: its SYN, and, if it is the sender, its ACK until the first
request, since all else waits for the receiver. What the receiver sends after its own ACK says the
same as that ACK.
"""

from __future__ import annotations

import enum
from typing import Final

from transport.rcp.segments import HandshakeAck, Req, Role, Segment, Syn, SynAck
from wire.errors import PeerError

FIRST_TIMEOUT: Final = 1.0
"""Seconds (RFC 6298, 2.1)."""
ATTEMPTS: Final = 7
"""SYNs, or ACKs, without an answer: two minutes."""


class HandshakeState(enum.Enum):
    """How far a connection has come, as TCP names it (RFC 9293, 3.3.2)."""

    LISTEN = "listen"
    SYN_SENT = "syn sent"
    SYN_RECEIVED = "syn received"
    ESTABLISHED = "established"
    FAILED = "failed"


class RcpHandshake:
    """One end's part of it."""

    def __init__(self, role: Role, *, size: int, opens: bool) -> None:
        """`size`: bytes of data in a segment at most, here."""
        self.size = size
        """Once established: what both ends have agreed to."""
        self.state = HandshakeState.SYN_SENT if opens else HandshakeState.LISTEN
        self.round_trip: float | None = None
        """Seconds from a SYN that was not repeated to its answer, or the same of a SYN+ACK."""
        self.deadline: float | None = None
        """When to repeat; None: nothing is to be."""
        self._role, self._opens = role, opens
        self._own_size = size
        self._due = opens
        self._attempts = 0
        self._heard = False
        """The peer has shown that it is established."""
        self._sent_at = 0.0

    @property
    def established(self) -> bool:
        return self.state is HandshakeState.ESTABLISHED

    def to_send(self, now: float) -> list[Segment]:
        """What goes now."""
        if not self._due:
            return []
        self._due = False
        self._sent_at = now
        self._attempts += 1
        if self._opens and not (self.established and self._role is Role.RECEIVER):
            self.deadline = now + FIRST_TIMEOUT * 2 ** (self._attempts - 1)
        match self.state:
            case HandshakeState.SYN_SENT:
                return [Syn(self._role, self._own_size)]
            case HandshakeState.SYN_RECEIVED:
                return [SynAck(self.size)]
            case HandshakeState.ESTABLISHED:
                return [HandshakeAck()]
            case _:
                return []

    def received(self, segment: Segment, now: float) -> bool:
        """Takes in a segment; whether it was the handshake's. Raises PeerError."""
        match segment:
            case Syn():
                self._syn(segment)
            case SynAck():
                self._syn_ack(segment, now)
            case HandshakeAck():
                self._ack(now)
            case Req() if self.state is HandshakeState.SYN_RECEIVED:
                self._ack(now)
                return False
            case _:
                if not self.established:
                    raise PeerError("data before there is a connection")
                self._rest()
                return False
        return True

    def on_timer(self, now: float) -> None:
        """The deadline has come."""
        if self.deadline is None or now < self.deadline:
            return
        if self._attempts >= ATTEMPTS:
            self.state, self.deadline = HandshakeState.FAILED, None
        else:
            self._due = True

    def _syn(self, segment: Syn) -> None:
        if self._opens or segment.role is self._role:
            raise PeerError("both ends open, or both want the same part")
        if self._heard:
            return  # an old one
        self.size = min(self._own_size, segment.size)
        self.state = HandshakeState.SYN_RECEIVED
        self._due = True

    def _syn_ack(self, segment: SynAck, now: float) -> None:
        if not self._opens or segment.size > self._own_size:
            raise PeerError("this answers no SYN of ours")
        if self.state is HandshakeState.SYN_SENT:
            self.size = segment.size
            self.state = HandshakeState.ESTABLISHED
            self.round_trip = now - self._sent_at if self._attempts == 1 else None
            self._attempts, self.deadline = 0, None
        if self.established and not self._heard:
            self._due = True

    def _ack(self, now: float) -> None:
        if self.state is HandshakeState.LISTEN or self._opens:
            raise PeerError("an ACK of nothing")
        if self.state is HandshakeState.SYN_RECEIVED:
            self.state = HandshakeState.ESTABLISHED
            self.round_trip = now - self._sent_at if self._attempts == 1 else None
        self._rest()

    def _rest(self) -> None:
        """The peer is established: nothing is repeated any more."""
        self._heard, self._due, self.deadline = True, False, None
