"""The sending half of a connection: what may go when, and what became of what went. Pure.

It joins what else knows nothing of each other: the account of what is under way (recovery.py),
payloads that wait (transport/sending/outgoing.py), the size of datagrams (mtu.py), window and pace
(congestion/, pacing.py).
"""

from __future__ import annotations

from collections import deque
from typing import Final

from transport.spp.congestion.interface import Congestion
from transport.spp.congestion.new_reno import NewReno
from transport.spp.congestion.round_trip import RoundTrip
from transport.spp.core.control import ControlFrames
from transport.spp.core.mtu import FLOOR, MtuSearch
from transport.spp.core.pacing import PacingBucket, burst
from transport.spp.core.packets import LEAST_ROOM, Ack
from transport.spp.core.recovery import Recovery, SentPacket
from transport.spp.core.sent_payloads import SentPayloads
from transport.spp.core.settings import Delivered, SppSettings

HEADERS: Final = 28
"""Bytes of IPv4 and UDP before each datagram; rates and windows count them."""
_MOST_REPORTS: Final = 4096
_PROBES: Final = 2
"""Datagrams when the patience ends (RFC 9002, 6.2.4)."""
_SMALL_PROBES_AFTER: Final = 2
"""Patiences; then probes are as small as any path takes."""
MOST_UNDER_WAY: Final = 8192
"""Datagrams, however small: what is remembered of them takes memory. Beyond twice as many the peer
breaks the protocol, for it leaves probes and answers without acknowledgement too."""


class SppSender:
    """Sends for one connection."""

    def __init__(
        self,
        settings: SppSettings,
        congestion: Congestion | None,
        control: ControlFrames,
        *,
        round_trip: float | None,
    ) -> None:
        """`round_trip`: seconds, if it is known."""
        self.congestion = congestion or NewReno(segment=settings.base + HEADERS)
        self.round_trip = RoundTrip(round_trip)
        self.recovery = Recovery(self.round_trip)
        self.outgoing = SentPayloads(buffer=settings.buffer, limit=settings.window)
        self.mtu = MtuSearch(base=settings.base, ceiling=settings.ceiling)
        self.reports: deque[Delivered] = deque(maxlen=_MOST_REPORTS)
        self.lost = 0
        """Datagrams, so far."""
        self.probes = 0
        """Datagrams that may go although window and pace say no."""
        self._control = control
        self._bucket = PacingBucket()
        self._limited = False

    @property
    def size(self) -> int:
        """Bytes of the next datagram at most."""
        if self.recovery.probes > _SMALL_PROBES_AFTER:
            return min(self.mtu.size, FLOOR)
        return self.mtu.size

    def may_send(self, now: float) -> bool:
        """Do window and pace let a datagram go?"""
        window, rate = self._allowance()
        return not self._full(window) and self._bucket.time(rate=rate) <= now

    @property
    def full(self) -> bool:
        """As much is under way as may be."""
        return self._full(self._allowance()[0])

    def room(self, now: float) -> int:
        """Bytes of payloads that would leave at once."""
        window, rate = self._allowance()
        if self._bucket.time(rate=rate) > now:
            return 0
        credit = min(window - self.recovery.in_flight, burst(rate))
        free = min(int(credit), self.outgoing.allowance) - self.outgoing.waiting
        return max(0, min(free, self.outgoing.space))

    def room_at(self) -> float | None:
        """When the pace lets the next one go; None: it never does as things stand."""
        due = self._bucket.time(rate=self._allowance()[1])
        return None if due == float("inf") else due

    def next_turn(self) -> float | None:
        """When to come back for what is ready; None: not before something else happens."""
        if not self.outgoing.ready or self.full:
            return None
        return self._bucket.next_turn(rate=self._allowance()[1])

    def sent(self, packet: SentPacket, *, datagram: int, now: float) -> None:
        """It goes, in so many bytes."""
        packet.datagram, packet.size = datagram, datagram + HEADERS
        self.recovery.sent(packet)
        self._bucket.sent(now, packet.size, rate=self._allowance()[1])
        self.congestion.sent(packet.size, under_way=self.recovery.in_flight, now=now)
        self._limited = self.outgoing.ready
        self.probes = max(0, self.probes - 1)

    def acknowledged(self, ack: Ack, now: float) -> None:
        """Takes in what the peer has acknowledged. Raises PeerError."""
        news, lost, persistent = self.recovery.acknowledged(ack, now)
        size = 0
        for packet, arrived in news:
            size += packet.size
            done = [self.outgoing.acknowledged(piece) for piece in packet.pieces]
            self.mtu.acknowledged(packet.datagram, probe=packet.probe, now=now)
            self.reports.append(
                Delivered(
                    packet.size,
                    sum(piece.size for piece in packet.pieces),
                    packet.at,
                    now,
                    arrived,
                    tuple(number for number in done if number is not None),
                )
            )
        if news:
            self.probes = 0
            sent_at = max(packet.at for packet, _ in news)
            self.congestion.acknowledged(size, sent_at=sent_at, now=now, limited=self._limited)
        self._handle_lost(lost, now)
        if persistent:
            self.congestion.timed_out(now=now)
        if len(ack.ranges) > 1:
            self._control.set_floor(self.recovery.floor)

    def timed_out(self, now: float) -> None:
        """The deadline of `recovery` is here."""
        lost = self.recovery.timed_out(now)
        if lost is None:
            self._probe()
        else:
            self._handle_lost(lost, now)

    def moved(self, now: float) -> None:
        """The peer has another address, so what was measured no longer holds."""
        self.round_trip.forget()
        self.mtu.begin_anew()
        self.congestion.timed_out(now=now)

    def _handle_lost(self, lost: list[SentPacket], now: float) -> None:
        self.lost += len(lost)
        size, sent_at = 0, now
        for packet in lost:
            self.mtu.lost(packet.datagram, probe=packet.probe, now=now)
            self._control.lost(packet)
            if not packet.repeated:
                for piece in packet.pieces:
                    self.outgoing.again(piece)
            if not packet.probe:
                size, sent_at = size + packet.size, packet.at
        if size:
            self.congestion.lost(size, sent_at=sent_at, now=now)

    def _probe(self) -> None:
        """The patience has ended: send something that asks, best what is missing (9002, 6.2.4)."""
        self.probes = _PROBES
        self._control.ping = True
        for packet in self.recovery.oldest(_PROBES):
            self._control.lost(packet)
            if not packet.repeated:
                packet.repeated = True
                for piece in packet.pieces:
                    self.outgoing.again(piece)

    def _full(self, window: float) -> bool:
        recovery = self.recovery
        return recovery.count >= MOST_UNDER_WAY or recovery.in_flight + LEAST_ROOM > window

    def _allowance(self) -> tuple[float, float]:
        return self.congestion.allowance(self.round_trip)
