"""Decides what of the unacknowledged is lost, and when to ask (RFC 9002, section 6).

A packet is lost when so many later ones, or ones so much later, have been acknowledged. Both limits
begin as the RFC has them, and widen where packets that were given up for lost arrive all the same
(6.1.1 and 6.1.2 allow it): on a path that reorders, three packets would be sent twice all the time.
Silence is no loss: after some patience, twice as long each time, a probe asks. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from transport.spp.congestion.round_trip import GRANULARITY, RoundTrip
from transport.spp.core.packets import Ack
from transport.spp.core.sent_payloads import Piece
from wire.errors import PeerError

PACKET_THRESHOLD: Final = 3
WIDEST: Final = 256
"""Packets that the threshold widens to at most."""
TIME_THRESHOLD: Final = 9 / 8
"""Round trips."""
WIDEST_TIME: Final = 2.0
_PERSISTENT: Final = 3
"""Patiences that must be lost without a break for the path to count as gone (RFC 9002, 7.6)."""
LONGEST_PATIENCE: Final = 10.0
"""Seconds between two probes at most: after an outage of any length the link is found this soon."""
_REMEMBERED: Final = 64
"""Lost packets that may still turn out to have been late."""


@dataclass(slots=True)
class SentPacket:
    """A datagram that asks for an acknowledgement."""

    number: int
    size: int
    """Bytes with the headers of IP and UDP."""
    at: float
    pieces: list[Piece] = field(default_factory=list)
    window: int = 0
    """The limit that it announced; 0: none."""
    probe: int = 0
    """Bytes of the datagram, if it asked whether the path takes so many; 0: it did not."""
    datagram: int = 0
    """Bytes of the datagram."""
    repeated: bool = False
    """A probe carries the same already."""


class Acknowledged(NamedTuple):
    """A packet, and when the receiver says it came."""

    packet: SentPacket
    arrived: float | None
    """Seconds on the receiver's clock; None: the acknowledgement that said so was lost."""


class AckOutcome(NamedTuple):
    """What an acknowledgement has taught."""

    acknowledged: list[Acknowledged]
    lost: list[SentPacket]
    persistent: bool
    """All of a long while is lost: the path was gone."""


class Recovery:
    """One direction of one connection."""

    def __init__(self, round_trip: RoundTrip) -> None:
        self.round_trip = round_trip
        self.next_number = 0
        self.in_flight = 0
        """Bytes."""
        self.probes = 0
        """How often the patience has ended since the last news."""
        self.packet_threshold = PACKET_THRESHOLD
        self.time_threshold = TIME_THRESHOLD
        self.spurious = 0
        """Packets that had been given up for lost, and arrived."""
        self._sent: dict[int, SentPacket] = {}
        self._given_up: dict[int, float] = {}
        """When packets that count as lost were sent."""
        self._largest = -1
        self._largest_at = float("-inf")
        """When the largest acknowledged packet was sent."""
        self._newest_sent = 0.0
        self._owed_since = 0.0
        """Since when something is under way without an acknowledgement of any of it."""
        self._loss_at: float | None = None

    def number(self) -> int:
        """For the next datagram."""
        self.next_number += 1
        return self.next_number - 1

    def sent(self, packet: SentPacket) -> None:
        """It is under way."""
        if not self._sent:
            self._owed_since = packet.at
        self._sent[packet.number] = packet
        self.in_flight += packet.size
        self._newest_sent = packet.at

    @property
    def floor(self) -> int:
        """Below this number nothing is under way."""
        return next(iter(self._sent), self.next_number)

    @property
    def count(self) -> int:
        """Packets under way."""
        return len(self._sent)

    def oldest(self, count: int) -> list[SentPacket]:
        """What has been under way for longest."""
        return list(islice(self._sent.values(), count))

    def acknowledged(self, ack: Ack, now: float) -> AckOutcome:
        """Raises PeerError for what was never sent."""
        if ack.ranges[0][1] >= self.next_number:
            raise PeerError("the peer acknowledges what was never sent")
        news = self._pick(ack)
        before = self._largest_at
        if news:
            newest = max((one.packet for one in news), key=lambda packet: packet.number)
            if newest.number == ack.ranges[0][1]:
                self.round_trip.measured(now - newest.at, delay=ack.delay_us / 1e6)
            if newest.number > self._largest:
                self._largest, self._largest_at = newest.number, newest.at
            self.probes = 0
            self._owed_since = now
        lost = self.detect(now)
        return AckOutcome(news, lost, self._persistent(news, lost, before))

    def detect(self, now: float) -> list[SentPacket]:
        """What counts as lost by now."""
        wait = self.time_threshold * max(self.round_trip.smoothed, self.round_trip.latest)
        wait = max(wait, GRANULARITY)
        self._loss_at = None
        lost = []
        for number, packet in self._sent.items():
            if number > self._largest:
                break
            late = self._largest - number >= self.packet_threshold
            if late or packet.at + wait <= now:
                lost.append(packet)
            elif self._loss_at is None:
                self._loss_at = packet.at + wait
        for packet in lost:
            self._remove(packet)
            self._given_up[packet.number] = packet.at
        while len(self._given_up) > _REMEMBERED:
            del self._given_up[next(iter(self._given_up))]
        return lost

    def unanswered(self, now: float) -> float:
        """Seconds for which the peer owes an acknowledgement and none has come; 0: owes none."""
        return now - self._owed_since if self._sent else 0.0

    def deadline(self) -> float | None:
        """When something counts as lost, or the patience ends."""
        if self._loss_at is not None:
            return self._loss_at
        if not self._sent:
            return None
        patience = self.round_trip.patience * (1 << min(self.probes, 16))
        return self._newest_sent + min(max(patience, GRANULARITY), LONGEST_PATIENCE)

    def timed_out(self, now: float) -> list[SentPacket] | None:
        """The deadline is here: what is lost; None: the patience has ended, probes are due."""
        if self._loss_at is not None:
            return self.detect(now)
        self.probes += 1
        self._newest_sent = now  # the next one counts from here even if this probe can't go
        return None

    def _pick(self, ack: Ack) -> list[Acknowledged]:
        """What the acknowledgement names for the first time."""
        stamps = dict(ack.stamps)
        oldest = self.floor
        news = []
        for low, high in reversed(ack.ranges):
            for number in range(max(low, oldest), high + 1):
                packet = self._sent.get(number)
                if packet is not None:
                    self._remove(packet)
                    at = stamps.get(number)
                    news.append(Acknowledged(packet, None if at is None else at / 1e6))
        if self._given_up:
            self._notice_late_ones(ack)
        return news

    def _notice_late_ones(self, ack: Ack) -> None:
        """Notices what arrived after it had been given up, and is more patient from now on."""
        lows = [low for low, _ in reversed(ack.ranges)]
        highs = [high for _, high in reversed(ack.ranges)]
        late = []
        for number in self._given_up:
            place = bisect_right(lows, number)
            if place and number <= highs[place - 1]:
                late.append(number)
        for number in late:
            del self._given_up[number]
            self.spurious += 1
            distance = ack.ranges[0][1] - number
            self.packet_threshold = min(max(self.packet_threshold, distance + 1), WIDEST)
            self.time_threshold = min(self.time_threshold + 1 / 8, WIDEST_TIME)

    def _persistent(self, news: list[Acknowledged], lost: list[SentPacket], before: float) -> bool:
        if not lost or not news:
            return False
        first, last = lost[0].at, lost[-1].at
        unbroken = before < first and all(not first < one.packet.at < last for one in news)
        return unbroken and last - first >= _PERSISTENT * self.round_trip.patience

    def _remove(self, packet: SentPacket) -> None:
        del self._sent[packet.number]
        self.in_flight -= packet.size
