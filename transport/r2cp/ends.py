"""Joins the handshakes of several pipes and the engine, for an edge or a world in virtual time.

Pure. The senders' ends are those of RCP (transport/rcp/ends.py), one a pipe.
"""

from __future__ import annotations

from transport.r2cp.engine import R2cpEngine
from transport.rcp.handshake import HandshakeState, RcpHandshake
from transport.rcp.segments import Role, Segment
from transport.rcp.settings import RcpSettings
from transport.spp.congestion.interface import Congestion


class R2cpReceivingEnd:
    """The receiver's end of all pipes."""

    def __init__(self, engine: R2cpEngine, settings: RcpSettings | None = None) -> None:
        self.engine = engine
        self._size = (settings or RcpSettings()).size
        self._handshakes: dict[int, RcpHandshake] = {}

    def open(self, congestion: Congestion | None = None) -> int:
        """Begins a pipe's handshake (`open()`): its number."""
        number = self.engine.open(congestion)
        self._handshakes[number] = RcpHandshake(Role.RECEIVER, size=self._size, opens=True)
        return number

    def close(self, number: int) -> None:
        """The path is gone (`close()`)."""
        self.engine.close(number)
        del self._handshakes[number]

    def received(self, number: int, segment: Segment, now: float) -> None:
        """Takes in a segment of that pipe; of one that is closed, none. Raises PeerError."""
        handshake = self._handshakes.get(number)
        if handshake is None:
            return
        before = handshake.established
        if not handshake.received(segment, now):
            self.engine.received(number, segment, now)
        elif handshake.established and not before:
            size, round_trip = handshake.size, handshake.round_trip
            self.engine.established(number, size=size, round_trip=round_trip)

    def to_send(self, now: float) -> list[tuple[int, Segment]]:
        """What goes now, and over which pipe."""
        said: list[tuple[int, Segment]] = [
            (number, segment)
            for number, handshake in self._handshakes.items()
            for segment in handshake.to_send(now)
        ]
        return [*said, *self.engine.requests(now)]

    def failed(self) -> list[int]:
        """Pipes that nobody has answered; whoever opened them closes them."""
        return [
            number
            for number, handshake in self._handshakes.items()
            if handshake.state is HandshakeState.FAILED
        ]

    def next_timer(self) -> float | None:
        """When to call `on_timer`; None: only news changes anything."""
        timers = [handshake.deadline for handshake in self._handshakes.values()]
        timers.append(self.engine.next_timer())
        return min((one for one in timers if one is not None), default=None)

    def on_timer(self, now: float) -> None:
        for handshake in self._handshakes.values():
            handshake.on_timer(now)
        self.engine.on_timer(now)
