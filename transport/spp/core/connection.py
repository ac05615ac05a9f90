"""One SPP connection, without sockets and clocks: payloads in, datagrams out, and back.

    connection.send(payload, now)                   a sequence number
    for datagram in connection.datagrams_to_send(now): ...
    connection.datagram_received(datagram, now)
    connection.received()                           payloads, each once
    connection.deadline(); connection.timeout(now)

It only coordinates; what is where is said at the top of sender.py, received_payloads.py,
control.py, acknowledgements.py, paths.py and farewell.py. After each of these calls there may be
datagrams to send. Sources: Atkin, Birman: "Evaluation of an Adaptive Transport Protocol", 4.1; RFC
9000 and 9002, whose machinery it borrows, though its datagrams are not QUIC's.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

from transport.spp.congestion.interface import Congestion
from transport.spp.core.acknowledgements import Arrivals
from transport.spp.core.control import PING, ControlFrames
from transport.spp.core.farewell import Farewell
from transport.spp.core.packets import (
    LEAST_ROOM,
    OVERHEAD,
    Ack,
    Challenge,
    Close,
    Floor,
    Frame,
    Padding,
    PathResponse,
    PayloadFrame,
    PayloadPart,
    Reason,
    SegmentFrame,
    WindowFrame,
    capacity,
    decode,
    encode,
    largest_payload,
    largest_segment,
)
from transport.spp.core.paths import Address, Paths
from transport.spp.core.received_payloads import ReceivedPayloads
from transport.spp.core.recovery import SentPacket
from transport.spp.core.segments import ArrivedSegment, Segments
from transport.spp.core.sender import HEADERS, MOST_UNDER_WAY, SppSender
from transport.spp.core.settings import Delivered, IdleTimeout, SppSettings, Statistics
from transport.spp.handshake.seal import Forged, Seal
from wire.errors import LocalError, PeerError

AT_ONCE: Final = 64
"""Datagrams of one call of `datagrams_to_send`: then it is somebody else's turn."""
REST: Final = 1.0
"""Seconds without news, after which the peer may have forgotten the connection."""
_LINGER: Final = 3
"""Patiences for which a closed connection tells who still sends (RFC 9000, 10.2)."""


class SppConnection:
    """One end of a connection."""

    def __init__(
        self,
        *,
        now: float,
        seal: Seal,
        settings: SppSettings | None = None,
        congestion: Congestion | None = None,
        round_trip: float | None = None,
        address: Address | None = None,
        chance: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """`round_trip`: seconds, as the handshake took; `address`: the peer's, if it may move."""
        self.settings = settings = settings or SppSettings()
        self.paths = Paths(address, chance=chance)
        self.error: Exception | None = None
        """Why the connection is over, unless one of its ends closed it on purpose."""
        self._seal = seal
        self._arrivals = Arrivals(now=now, spacing=settings.spacing)
        self._incoming = ReceivedPayloads(ordered=settings.ordered, window=settings.window)
        self._control = ControlFrames(self._arrivals, self._incoming)
        self._sender = SppSender(settings, congestion, self._control, round_trip=round_trip)
        self._segments = Segments()
        self._farewell = Farewell()
        self._news_at = self._sent_at = now
        self._newest = -1
        self._doubts = self._keep_alive_due = False
        self._sent = self._received = self._refused = self._duplicates = 0

    # What the application does.

    @property
    def open(self) -> bool:
        """Payloads can be sent."""
        return not self._farewell.begun

    @property
    def segment(self) -> int:
        """Bytes of a payload that fills a datagram at present."""
        return largest_payload(self._sender.mtu.size)

    def send(self, payload: bytes, now: float) -> int:
        """Accept a payload; its number. Raises Refused beyond the buffer, LocalError otherwise."""
        if not self.open:
            raise LocalError("the connection is over")
        return self._sender.outgoing.submit(payload)

    def room(self, now: float) -> int:
        """Bytes of payloads that would leave at once."""
        return self._sender.room(now) if self.open else 0

    def room_at(self) -> float | None:
        """When the pace lets the next one go; None: it never does as things stand."""
        return self._sender.room_at()

    def backlog(self, now: float) -> int:
        """Bytes of payloads that were accepted and have not left."""
        return self._sender.outgoing.waiting

    @property
    def unacknowledged(self) -> int:
        """Bytes of payloads that were accepted and that the peer may not have."""
        return self._sender.outgoing.unacknowledged

    def received(self) -> list[bytes]:
        """Payloads that have come; what they took of the window is free again."""
        return self._incoming.received()

    def send_segment(self, segment: bytes) -> None:
        """Accept a segment of a protocol that makes its own repairs. Raises LocalError."""
        if not self.open:
            raise LocalError("the connection is over")
        self._segments.send(segment, most=largest_segment(self._sender.mtu.size))

    def segments(self) -> list[ArrivedSegment]:
        """What has come of them since the last call, in the order of arrival."""
        return self._segments.received()

    def acked(self) -> list[Delivered]:
        """What has arrived over there since the last call; of many the latest."""
        reports = list(self._sender.reports)
        self._sender.reports.clear()
        return reports

    def ping(self) -> None:
        """Ask the peer for a sign of life; it learns our address by that, too."""
        self._control.ping = True

    def close(self, now: float, *, reason: Reason = Reason.DONE, text: str = "") -> None:
        """Over at once; what was not acknowledged may be lost."""
        if self.open:
            self._farewell.say(reason, text, until=now + _LINGER * self._sender.round_trip.patience)

    def finished(self, now: float) -> bool:
        """It may be forgotten: who still sends has been told."""
        return self._farewell.finished(now)

    # What the network does.

    def datagram_received(
        self,
        datagram: bytes,
        now: float,
        *,
        address: Address | None = None,
        arrived: float | None = None,
    ) -> bool:
        """A datagram came, from `address`, `arrived` at this machine earlier; was it authentic?"""
        try:
            number, plain = self._seal.open(datagram)
        except Forged:
            self._refused += 1
            if self._seal.exhausted:
                self._fail(PeerError("more forgeries than a key may see"), Reason.EXHAUSTED, now)
            return False
        self._received += 1
        if not self.open:
            self._farewell.still_sent()
            return True
        self._news_at, self._doubts = now, False
        arrived = now if arrived is None else min(arrived, now)
        newest = number > self._newest
        self._newest = max(number, self._newest)
        self.paths.arrived(address, len(datagram) + HEADERS, newest=newest)
        try:
            asks = False
            for frame in decode(plain):
                asks = self._take(frame, address, now, arrived) or asks
        except PeerError as error:
            self._fail(error, Reason.PROTOCOL, now)
            return True
        self._arrivals.note(number, arrived=arrived, asks=asks, now=now)
        return True

    def datagram_refused(self, size: int, now: float) -> None:
        """This machine's network does not take datagrams of that size."""
        self._sender.mtu.refused(size, now=now)

    def deadline(self) -> float | None:
        """When `timeout` is due, unless something else happens before; None: never."""
        if not self.open:
            return self._farewell.deadline()
        times = [self._arrivals.deadline(), self._sender.recovery.deadline()]
        times.append(self._sender.next_turn())
        if self.settings.keep_alive is not None and not self._sender.recovery.count:
            times.append(self._sent_at + self.settings.keep_alive)
        if self.settings.idle is not None:
            times.append(self._news_at + self.settings.idle)
        return min((time for time in times if time is not None), default=None)

    def timeout(self, now: float) -> None:
        """Do what the deadline was for."""
        if not self.open:
            if self._farewell.finished(now):
                self._farewell.forget()
            return
        idle, keep_alive = self.settings.idle, self.settings.keep_alive
        if idle is not None and now >= self._news_at + idle:
            self.error = IdleTimeout(f"no news for {idle:g} s")
            self.close(now)
            return
        due = self._sender.recovery.deadline()
        if due is not None and now >= due:
            self._sender.timed_out(now)
            self._doubts = self._doubts or self.doubtful
        if keep_alive is not None and not self._sender.recovery.count:
            late = now >= self._sent_at + keep_alive
            if idle is None:
                self._keep_alive_due = late
            else:
                self._control.ping = self._control.ping or late

    def datagrams_to_send(self, now: float) -> list[bytes]:
        """What goes to the peer's address now, in this order."""
        datagrams: list[bytes] = []
        if not self.open:
            words = self._farewell.words()
            return [] if words is None else [self._sealed(words)]
        while len(datagrams) < AT_ONCE and self.open:
            datagram = self._next_datagram(now)
            if datagram is None:
                break
            datagrams.append(datagram)
        self._sender.probes = 0
        return datagrams

    @property
    def congestion(self) -> Congestion:
        """Whose rate may be set, if it is a RateBased."""
        return self._sender.congestion

    def challenges_to_send(self, now: float) -> list[tuple[Address, bytes]]:
        """What goes to other addresses: the peer may have moved there."""
        if not self.open or not self.paths.asking:
            return []
        asked = self.paths.challenge(len(PING) + OVERHEAD + HEADERS + 8)
        if asked is None:
            return []
        address, token = asked
        return [(address, self._sealed(encode(Challenge(token))))]

    @property
    def doubtful(self) -> bool:
        """The patience has ended since the last news of the peer."""
        return self._sender.recovery.probes > 0

    @property
    def patience(self) -> float:
        """Seconds after which an acknowledgement is late."""
        return self._sender.round_trip.patience

    @property
    def round_trip(self) -> float | None:
        """Seconds, smoothed; None: nothing was measured yet."""
        trip = self._sender.round_trip
        return trip.smoothed if trip.known else None

    def unanswered(self, now: float) -> float:
        """Seconds for which the peer owes an acknowledgement and none has come; 0: owes none."""
        return self._sender.recovery.unanswered(now)

    def silent(self, now: float) -> float:
        """Seconds since anything of the peer came."""
        return now - self._news_at

    def doubts(self) -> bool:
        """Since the last call something was sent to a peer that may not know the connection."""
        doubts, self._doubts = self._doubts, False
        return doubts

    def statistics(self, now: float) -> Statistics:
        """`now` on the clock of all the other calls."""
        return Statistics(
            sent=self._sent,
            received=self._received,
            lost=self._sender.lost,
            spurious=self._sender.recovery.spurious,
            refused=self._refused,
            duplicates=self._duplicates,
            in_flight=self._sender.recovery.in_flight,
            backlog=self._sender.outgoing.waiting,
            smoothed=self._sender.round_trip.smoothed,
            least=self._sender.round_trip.least,
            datagram=self._sender.mtu.size,
            silent=self.silent(now),
            held=self._incoming.held,
        )

    def __repr__(self) -> str:
        state = "open" if self.open else "over"
        return f"<SppConnection {state} sent={self._sent} received={self._received}>"

    # Frames.

    def _take(self, frame: Frame, address: Address | None, now: float, arrived: float) -> bool:
        """Do what it says; does it ask for an acknowledgement? Raises PeerError."""
        match frame:
            case PayloadFrame(sequence, payload):
                self._duplicates += not self._incoming.add(sequence, payload)
            case Ack():
                self._sender.acknowledged(frame, now)
                return False
            case SegmentFrame(segment):
                self._segments.came(segment, arrived)
                return False
            case PayloadPart():
                self._incoming.add_part(frame)
            case WindowFrame(limit):
                self._sender.outgoing.limit = max(self._sender.outgoing.limit, limit)
            case Floor(number):
                self._arrivals.forget_below(number)
            case Challenge(token):
                self._control.echo(token)
            case PathResponse(token):
                if self.paths.answered(token, address):
                    self._sender.moved(now)
            case Close(reason, text):
                if reason != Reason.DONE:
                    self.error = PeerError(f"the peer has ended the connection: {text or reason}")
                self._farewell.heard(now)
                return False
            case Padding():
                return False
        return True

    def _fail(self, error: PeerError, reason: Reason, now: float) -> None:
        self.error = error
        self.close(now, reason=reason, text=str(error))

    # Datagrams.

    def _next_datagram(self, now: float) -> bytes | None:
        sender = self._sender
        probing, carries = sender.probes > 0, self._segments.waiting
        may_send = probing or sender.may_send(now)
        if may_send and not (probing or carries) and (probe := self._mtu_probe(now)) is not None:
            return probe
        most = capacity(sender.size)
        frames: list[bytes] = []
        sending = may_send and self._sender.outgoing.ready
        packet = SentPacket(0, 0, now)
        asks = self._control.frames(frames, packet, now, sending=sending or carries)
        room = most - sum(map(len, frames))
        if carries:
            self._segments.fill(frames, room=room, capacity=most)
        elif sending and room >= LEAST_ROOM:
            packet.pieces = self._sender.outgoing.take(room, capacity=most, frames=frames)
        if self._control.ping and not (asks or packet.pieces):
            frames.append(PING)
            asks = True
        if asks or packet.pieces:
            self._control.ping = False
            return self._under_way(packet, b"".join(frames), now)
        if self._keep_alive_due and not frames:
            frames.append(encode(Padding(1)))
        return self._sealed(b"".join(frames), now) if frames else None

    def _mtu_probe(self, now: float) -> bytes | None:
        """A datagram that asks whether the path takes so many bytes; only large transfers ask."""
        if self._sender.outgoing.waiting < self._sender.mtu.size:
            return None
        size = self._sender.mtu.probe(now)
        if size is None:
            return None
        frames = PING + encode(Padding(capacity(size) - len(PING)))
        return self._under_way(SentPacket(0, 0, now, probe=size), frames, now)

    def _under_way(self, packet: SentPacket, frames: bytes, now: float) -> bytes:
        """Seal what asks for an acknowledgement, and remember it."""
        packet.number = self._sender.recovery.next_number
        if not self._sender.recovery.count and now - self._news_at > REST:
            self._doubts = True
        datagram = self._sealed(frames, now)
        self._sender.sent(packet, datagram=len(datagram), now=now)
        if self._sender.recovery.count > 2 * MOST_UNDER_WAY:
            self._fail(PeerError("the peer acknowledges nothing"), Reason.PROTOCOL, now)
        return datagram

    def _sealed(self, frames: bytes, now: float | None = None) -> bytes:
        self._sent += 1
        if now is not None:
            self._sent_at, self._keep_alive_due = now, False
        return self._seal.protect(self._sender.recovery.number(), frames)
