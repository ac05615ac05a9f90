"""One SPP connection, without sockets and clocks: payloads in, datagrams out, and back.

    connection.send(payload, now)                   a sequence number
    for datagram in connection.datagrams_to_send(now): ...
    connection.datagram_received(datagram, now)
    connection.received()                           payloads, each once
    connection.deadline(); connection.timeout(now)

It only coordinates: what is where is said at the top of recovery.py, outgoing.py, incoming.py,
acknowledgements.py, mtu.py, paths.py and congestion/. After each of these calls there may be
datagrams to send. Sources: Atkin, Birman: "Evaluation of an Adaptive Transport Protocol", 4.1;
RFC 9000 and 9002, whose machinery it borrows, though its datagrams are not QUIC's.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from typing import Final

from transport.spp.acknowledgements import Arrivals
from transport.spp.congestion.interface import Congestion
from transport.spp.congestion.new_reno import NewReno
from transport.spp.control import PING, Control
from transport.spp.farewell import Farewell
from transport.spp.incoming import Incoming
from transport.spp.mtu import MtuSearch
from transport.spp.outgoing import Outgoing
from transport.spp.pacing import Bucket, burst
from transport.spp.packets import (
    LEAST_ROOM,
    OVERHEAD,
    Ack,
    Challenge,
    Close,
    Data,
    Floor,
    Frame,
    Padding,
    Part,
    Reason,
    Response,
    Window,
    capacity,
    decode,
    encode,
    largest_payload,
)
from transport.spp.paths import Address, Paths
from transport.spp.recovery import Recovery, SentPacket
from transport.spp.round_trip import RoundTrip
from transport.spp.seal import Forged, Seal
from transport.spp.settings import Delivered, IdleTimeout, Settings, Statistics
from wire.errors import LocalError, PeerError

HEADERS: Final = 28
"""Bytes of IPv4 and UDP before each datagram; rates and windows count them."""
AT_ONCE: Final = 64
"""Datagrams of one call of `datagrams_to_send`: then it is somebody else's turn."""
_MOST_REPORTS: Final = 4096
_PROBES: Final = 2
"""Datagrams when the patience ends (RFC 9002, 6.2.4)."""
_SMALL_PROBES_AFTER: Final = 2
"""Patiences; then probes are as small as any path takes."""
_MOST_UNDER_WAY: Final = 8192
"""Datagrams, however small: what is remembered of them takes memory. Beyond twice as many the peer
breaks the protocol, for it leaves probes and answers without acknowledgement too."""
_LINGER: Final = 3
"""Patiences for which a closed connection tells who still sends (RFC 9000, 10.2)."""


class SppConnection:
    """One end."""

    def __init__(
        self,
        *,
        now: float,
        seal: Seal,
        settings: Settings | None = None,
        congestion: Congestion | None = None,
        round_trip: float | None = None,
        address: Address | None = None,
        chance: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """`round_trip`: seconds, as the handshake took; `address`: the peer's, if it may move."""
        self.settings = settings = settings or Settings()
        self.congestion = congestion or NewReno(segment=settings.base + HEADERS)
        self.paths = Paths(address, chance=chance)
        self.error: Exception | None = None
        """Why the connection is over, unless one of its ends closed it on purpose."""
        self._seal = seal
        self._round_trip = RoundTrip(round_trip)
        self._recovery = Recovery(self._round_trip)
        self._arrivals = Arrivals(now=now)
        self._outgoing = Outgoing(buffer=settings.buffer, limit=settings.window)
        self._incoming = Incoming(ordered=settings.ordered, window=settings.window)
        self._control = Control(self._arrivals, self._incoming)
        self._farewell = Farewell()
        self._mtu = MtuSearch(base=settings.base, ceiling=settings.ceiling)
        self._bucket = Bucket()
        self._reports: deque[Delivered] = deque(maxlen=_MOST_REPORTS)
        self._probes = 0
        """Datagrams that may go although window and pace say no."""
        self._news_at = self._sent_at = now
        self._newest = -1
        self._sent = self._received = self._lost = self._refused = self._duplicates = 0
        self._limited = False

    # What the application does.

    @property
    def open(self) -> bool:
        """Payloads can be sent."""
        return not self._farewell.begun

    @property
    def segment(self) -> int:
        """Bytes of a payload that fills a datagram at present."""
        return largest_payload(self._mtu.size)

    def send(self, payload: bytes, now: float) -> int:
        """Accept a payload; its number. Raises Refused beyond the buffer, LocalError otherwise."""
        if not self.open:
            raise LocalError("the connection is over")
        return self._outgoing.submit(payload)

    def room(self, now: float) -> int:
        """Bytes of payloads that would leave at once."""
        window, rate = self._allowance()
        if not self.open or self._bucket.time(rate=rate) > now:
            return 0
        credit = min(window - self._recovery.in_flight, burst(rate))
        free = min(int(credit), self._outgoing.allowance) - self._outgoing.waiting
        return max(0, min(free, self.settings.buffer - self._outgoing.waiting))

    def room_at(self) -> float | None:
        """When the pace lets the next one go; None: it never does as things stand."""
        due = self._bucket.time(rate=self._allowance()[1])
        return None if due == float("inf") else due

    def backlog(self, now: float) -> int:
        """Bytes of payloads that were accepted and have not left."""
        return self._outgoing.waiting

    @property
    def unacknowledged(self) -> int:
        """Bytes of payloads that were accepted and that the peer may not have."""
        return self._outgoing.unacknowledged

    def received(self) -> list[bytes]:
        """Payloads that have come; what they took of the window is free again."""
        return self._incoming.received()

    def acked(self) -> list[Delivered]:
        """What has arrived over there since the last call; of many the latest."""
        reports = list(self._reports)
        self._reports.clear()
        return reports

    def ping(self) -> None:
        """Ask the peer for a sign of life; it learns our address by that, too."""
        self._control.ping = True

    def close(self, now: float, *, reason: Reason = Reason.DONE, text: str = "") -> None:
        """Over at once; what was not acknowledged may be lost."""
        if self.open:
            self._farewell.say(reason, text, until=now + _LINGER * self._round_trip.patience)

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
        self._news_at = now
        newest = number > self._newest
        self._newest = max(number, self._newest)
        self.paths.arrived(address, len(datagram) + HEADERS, newest=newest)
        try:
            asks = False
            for frame in decode(plain):
                asks = self._take(frame, address, now) or asks
        except PeerError as error:
            self._fail(error, Reason.PROTOCOL, now)
            return True
        arrived = now if arrived is None else min(arrived, now)
        self._arrivals.note(number, arrived=arrived, asks=asks, now=now)
        return True

    def datagram_refused(self, size: int, now: float) -> None:
        """This machine's network does not take datagrams of that size."""
        self._mtu.refused(size, now=now)

    def deadline(self) -> float | None:
        """When `timeout` is due, unless something else happens before; None: never."""
        if not self.open:
            return self._farewell.deadline()
        times = [self._arrivals.deadline(), self._recovery.deadline()]
        if self._outgoing.ready and not self._window_full():
            times.append(self._bucket.next_turn(rate=self._allowance()[1]))
        if self.settings.keep_alive is not None and not self._recovery.count:
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
        due = self._recovery.deadline()
        if due is not None and now >= due:
            lost = self._recovery.timed_out(now)
            if lost is None:
                self._probe()
            else:
                self._handle_lost(lost, now)
        if keep_alive is not None and not self._recovery.count:
            self._control.ping = self._control.ping or now >= self._sent_at + keep_alive

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
        self._probes = 0
        return datagrams

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
        return self._recovery.probes > 0

    def statistics(self, now: float) -> Statistics:
        """`now` on the clock of all the other calls."""
        return Statistics(
            sent=self._sent,
            received=self._received,
            lost=self._lost,
            spurious=self._recovery.spurious,
            refused=self._refused,
            duplicates=self._duplicates,
            in_flight=self._recovery.in_flight,
            backlog=self._outgoing.waiting,
            smoothed=self._round_trip.smoothed,
            least=self._round_trip.least,
            datagram=self._mtu.size,
            silent=now - self._news_at,
            held=self._incoming.held,
        )

    def __repr__(self) -> str:
        state = "open" if self.open else "over"
        return f"<SppConnection {state} sent={self._sent} received={self._received}>"

    # Frames.

    def _take(self, frame: Frame, address: Address | None, now: float) -> bool:
        """Do what it says; does it ask for an acknowledgement? Raises PeerError."""
        match frame:
            case Data(sequence, payload):
                self._duplicates += not self._incoming.add(sequence, payload)
            case Ack():
                self._acknowledged(frame, now)
                return False
            case Part():
                self._incoming.add_part(frame)
            case Window(limit):
                self._outgoing.limit = max(self._outgoing.limit, limit)
            case Floor(number):
                self._arrivals.forget_below(number)
            case Challenge(token):
                self._control.echo(token)
            case Response(token):
                if self.paths.answered(token, address):
                    self._moved(now)
            case Close(reason, text):
                if reason != Reason.DONE:
                    self.error = PeerError(f"the peer has ended the connection: {text or reason}")
                self._farewell.heard(now)
                return False
            case Padding():
                return False
        return True

    def _acknowledged(self, ack: Ack, now: float) -> None:
        news, lost, persistent = self._recovery.acknowledged(ack, now)
        size = 0
        for packet, arrived in news:
            size += packet.size
            done = [self._outgoing.acknowledged(piece) for piece in packet.pieces]
            self._mtu.acknowledged(packet.datagram, probe=packet.probe, now=now)
            self._reports.append(
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
            self._probes = 0
            sent_at = max(packet.at for packet, _ in news)
            self.congestion.acknowledged(size, sent_at=sent_at, now=now, limited=self._limited)
        self._handle_lost(lost, now)
        if persistent:
            self.congestion.timed_out(now=now)
        if len(ack.ranges) > 1:
            self._control.set_floor(self._recovery.floor)

    def _handle_lost(self, lost: list[SentPacket], now: float) -> None:
        self._lost += len(lost)
        size, sent_at = 0, now
        for packet in lost:
            self._mtu.lost(packet.datagram, probe=packet.probe, now=now)
            self._control.lost(packet)
            if not packet.repeated:
                for piece in packet.pieces:
                    self._outgoing.again(piece)
            if not packet.probe:
                size, sent_at = size + packet.size, packet.at
        if size:
            self.congestion.lost(size, sent_at=sent_at, now=now)

    def _probe(self) -> None:
        """The patience has ended: send something that asks, best what is missing (9002, 6.2.4)."""
        self._probes = _PROBES
        self._control.ping = True
        for packet in self._recovery.oldest(_PROBES):
            self._control.lost(packet)
            if not packet.repeated:
                packet.repeated = True
                for piece in packet.pieces:
                    self._outgoing.again(piece)

    def _moved(self, now: float) -> None:
        """The peer has another address, so what was measured no longer holds."""
        self._round_trip.forget()
        self._mtu.begin_anew()
        self.congestion.timed_out(now=now)

    def _fail(self, error: PeerError, reason: Reason, now: float) -> None:
        self.error = error
        self.close(now, reason=reason, text=str(error))

    # Datagrams.

    def _next_datagram(self, now: float) -> bytes | None:
        free = self._probes > 0
        may_send = free or (
            not self._window_full() and self._bucket.time(rate=self._allowance()[1]) <= now
        )
        if may_send and not free and (probe := self._mtu_probe(now)) is not None:
            return probe
        size = self._mtu.size
        if self._recovery.probes > _SMALL_PROBES_AFTER:
            size = min(size, 512)
        capacity_ = capacity(size)
        frames: list[bytes] = []
        sending = may_send and self._outgoing.ready
        packet = SentPacket(0, 0, now)
        asks = self._control.frames(frames, packet, now, sending=sending)
        room = capacity_ - sum(map(len, frames))
        if sending and room >= LEAST_ROOM:
            packet.pieces = self._outgoing.take(room, capacity=capacity_, frames=frames)
        if self._control.ping and not (asks or packet.pieces):
            frames.append(PING)
            asks = True
        if asks or packet.pieces:
            self._control.ping = False
            self._probes = max(0, self._probes - 1)
            return self._under_way(packet, b"".join(frames), now)
        return self._sealed(b"".join(frames), now) if frames else None

    def _mtu_probe(self, now: float) -> bytes | None:
        """A datagram that asks whether the path takes so many bytes; only large transfers ask."""
        if self._outgoing.waiting < self._mtu.size:
            return None
        size = self._mtu.probe(now)
        if size is None:
            return None
        frames = PING + encode(Padding(capacity(size) - len(PING)))
        return self._under_way(SentPacket(0, 0, now, probe=size), frames, now)

    def _under_way(self, packet: SentPacket, frames: bytes, now: float) -> bytes:
        """Seal what asks for an acknowledgement, and remember it."""
        packet.number = self._recovery.next_number
        datagram = self._sealed(frames, now)
        packet.datagram, packet.size = len(datagram), len(datagram) + HEADERS
        self._recovery.sent(packet)
        _, rate = self._allowance()
        if rate:
            self._bucket.sent(now, packet.size, rate=rate)
        self.congestion.sent(packet.size, now=now)
        self._limited = self._outgoing.ready
        if self._recovery.count > 2 * _MOST_UNDER_WAY:
            self._fail(PeerError("the peer acknowledges nothing"), Reason.PROTOCOL, now)
        return datagram

    def _sealed(self, frames: bytes, now: float | None = None) -> bytes:
        self._sent += 1
        if now is not None:
            self._sent_at = now
        return self._seal.protect(self._recovery.number(), frames)

    # Window and pace.

    def _allowance(self) -> tuple[float, float]:
        return self.congestion.allowance(self._round_trip)

    def _window_full(self) -> bool:
        if self._recovery.count >= _MOST_UNDER_WAY:
            return True
        return self._recovery.in_flight + LEAST_ROOM > self._allowance()[0]
