"""Collects what is due beside payloads: acknowledgements, windows, echoes, signs of life. Pure.

It decides what goes into the next datagram, not when one may go.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from transport.spp.core.acknowledgements import Arrivals
from transport.spp.core.packets import Floor, PathResponse, WindowFrame, encode
from transport.spp.core.received_payloads import ReceivedPayloads
from transport.spp.core.recovery import SentPacket

PING: Final = b"\x01"
_FLOOR_EVERY: Final = 64
"""Datagrams between two words on which ones nobody waits for any more."""
_MOST_ECHOES: Final = 4
"""That wait; a peer asks for one at a time."""


class ControlFrames:
    """Collects what one connection has to say beside payloads."""

    def __init__(self, arrivals: Arrivals, incoming: ReceivedPayloads) -> None:
        self.ping = False
        """Something should go that asks for an acknowledgement."""
        self._arrivals = arrivals
        self._incoming = incoming
        self._echoes: deque[bytes] = deque(maxlen=_MOST_ECHOES)
        self._window_lost = False
        self._floor = 0
        self._floor_told = 0

    def echo(self, token: bytes) -> None:
        """The peer asks whether we are where it thinks."""
        self._echoes.append(token)

    def set_floor(self, number: int) -> None:
        """Below this number nothing is under way."""
        self._floor = number

    def lost(self, packet: SentPacket) -> None:
        """What it said, unless later ones have said more, must be said again."""
        if packet.window and packet.window == self._incoming.limit:
            self._window_lost = True

    def frames(self, frames: list[bytes], packet: SentPacket, now: float, *, sending: bool) -> bool:
        """Add what is due, and note it in `packet`; does it ask for an acknowledgement?

        `sending`: payloads will follow, so that whatever could wait has company.
        """
        limit = self._incoming.announcement()
        if limit is None and self._window_lost:
            limit = self._incoming.limit
        floor = self._floor - self._floor_told >= _FLOOR_EVERY
        asks = limit is not None or floor or bool(self._echoes)
        arrivals = self._arrivals
        if arrivals.due(now) or (arrivals.pending and (sending or asks or self.ping)):
            ack = arrivals.frame(now)
            if ack is not None:
                frames.append(encode(ack))
        if limit is not None:
            frames.append(encode(WindowFrame(limit)))
            packet.window, self._window_lost = limit, False
        if floor:
            self._floor_told = self._floor
            frames.append(encode(Floor(self._floor)))
        while self._echoes:
            frames.append(encode(PathResponse(self._echoes.popleft())))
        return asks
