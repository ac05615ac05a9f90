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
from dataclasses import dataclass
from typing import Final, NamedTuple

from transport.spp.acknowledgements import Arrivals
from transport.spp.congestion.interface import Congestion
from transport.spp.congestion.new_reno import NewReno
from transport.spp.incoming import Incoming
from transport.spp.mtu import BASE, CEILING, MtuSearch
from transport.spp.outgoing import Outgoing
from transport.spp.pacing import Bucket
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
from wire.errors import LocalError, PeerError

HEADERS: Final = 28
"""Bytes of IPv4 and UDP before each datagram; rates and windows count them."""
AT_ONCE: Final = 64
"""Datagrams of one call of `datagrams_to_send`: then it is somebody else's turn."""
BURST: Final = 0.01
"""Seconds of the rate that may leave at once, so that a late timer costs nothing."""
_LEAST_BURST: Final = 2 * (BASE + HEADERS)
_GRAIN: Final = 0.001
"""Seconds between two wake-ups of the pacer at least."""
_MOST_REPORTS: Final = 4096
_PROBES: Final = 2
"""Datagrams when the patience ends (RFC 9002, 6.2.4)."""
_SMALL_PROBES_AFTER: Final = 2
"""Patiences; then probes are as small as any path takes."""
_MOST_UNDER_WAY: Final = 8192
"""Datagrams, however small: what is remembered of them takes memory. Beyond twice as many the peer
breaks the protocol, for it leaves probes and answers without acknowledgement too."""
_FLOOR_EVERY: Final = 64
_PING: Final = b"\x01"
_LINGER: Final = 3
"""Patiences for which a closed connection tells who still sends (RFC 9000, 10.2)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What an end chooses. Seconds, bytes."""

    ordered: bool = True
    """Hand payloads over by their numbers, else as they come."""
    buffer: int = 262_144
    """Bytes of payloads that may wait to be sent for the first time."""
    window: int = 1_048_576
    """Costs of payloads that the peer may send before they are taken; both ends have the same."""
    keep_alive: float | None = 20.0
    """After so long without sending the peer is asked for a sign of life: NATs forget after 30 s
    (RFC 8085, 3.5). None: never."""
    idle: float | None = None
    """After so long without news the connection is over; None: it waits for ever."""
    base: int = BASE
    """Bytes of datagrams at first: thin links are better off with fewer."""
    ceiling: int = CEILING
    """Bytes of the largest datagrams to search for."""


class Delivered(NamedTuple):
    """A datagram that the peer has. What rates are estimated from."""

    size: int
    """Bytes with the headers of IP and UDP."""
    payload: int
    """Bytes of payloads in it."""
    sent_at: float
    """Seconds on this end's clock."""
    acknowledged_at: float
    """The same."""
    arrived_at: float | None
    """Seconds on the receiver's clock, from its connection's start; None: not told."""
    sequences: tuple[int, ...]
    """Payloads that are over there entirely since this datagram."""


class IdleTimeout(Exception):
    """No news for as long as the settings say."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """An immutable snapshot. Datagrams, bytes, seconds."""

    sent: int
    received: int
    lost: int
    spurious: int
    """Given up for lost, though they arrived."""
    refused: int
    """Datagrams that nobody authentic sent, or a second time."""
    duplicates: int
    """Payloads that came again, in other datagrams."""
    in_flight: int
    backlog: int
    smoothed: float
    least: float
    datagram: int
    """Bytes of datagrams at present."""
    silent: float
    """Seconds since the last news of the peer."""
    held: int
    """Costs of payloads that are here and not taken."""


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
        self._mtu = MtuSearch(base=settings.base, ceiling=settings.ceiling)
        self._bucket = Bucket()
        self._reports: deque[Delivered] = deque(maxlen=_MOST_REPORTS)
        self._responses: deque[bytes] = deque(maxlen=4)
        self._probes = 0
        """Datagrams that may go although window and pace say no."""
        self._ping = False
        self._window_lost = False
        self._floor_told = 0
        self._floor_due = False
        self._close: bytes | None = None
        """The farewell while it is due."""
        self._farewell = b""
        self._over_at: float | None = None
        self._news_at = self._sent_at = now
        self._newest = -1
        self._sent = self._received = self._lost = self._refused = self._duplicates = 0
        self._said_after_close = 0
        self._limited = False

    # What the application does.

    @property
    def open(self) -> bool:
        """Payloads can be sent."""
        return self._over_at is None

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
        credit = min(window - self._recovery.in_flight, self._burst(rate))
        free = min(int(credit), self._outgoing.allowance) - self._outgoing.waiting
        return max(0, min(free, self.settings.buffer - self._outgoing.waiting))

    def room_at(self) -> float | None:
        """When the pace lets the next one go; None: it never does as things stand."""
        due = self._paced_until()
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
        self._ping = True

    def close(self, now: float, *, reason: Reason = Reason.DONE, text: str = "") -> None:
        """Over at once; what was not acknowledged may be lost."""
        if self.open:
            self._farewell = self._close = encode(Close(reason, text))
            self._over_at = now + _LINGER * self._round_trip.patience

    def finished(self, now: float) -> bool:
        """It may be forgotten: who still sends has been told."""
        return self._over_at is not None and now >= self._over_at and self._close is None

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
            self._said_after_close += 1
            if self._said_after_close & (self._said_after_close - 1) == 0 and self._farewell:
                self._close = self._farewell  # ever more rarely (RFC 9000, 10.2.1)
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
        if self._over_at is not None:
            return self._over_at
        times = [self._arrivals.deadline(), self._recovery.deadline()]
        if self._outgoing.ready and not self._window_full():
            times.append(self._paced_at())
        if self.settings.keep_alive is not None and not self._recovery.count:
            times.append(self._sent_at + self.settings.keep_alive)
        if self.settings.idle is not None:
            times.append(self._news_at + self.settings.idle)
        return min((time for time in times if time is not None), default=None)

    def timeout(self, now: float) -> None:
        """Do what the deadline was for."""
        if not self.open:
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
            self._ping = self._ping or now >= self._sent_at + keep_alive

    def datagrams_to_send(self, now: float) -> list[bytes]:
        """What goes to the peer's address now, in this order."""
        datagrams: list[bytes] = []
        if not self.open:
            if self._close is not None:
                datagrams.append(self._sealed(self._close))
                self._close = None
            return datagrams
        while len(datagrams) < AT_ONCE:
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
        asked = self.paths.challenge(len(_PING) + OVERHEAD + HEADERS + 8)
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
                self._responses.append(token)
            case Response(token):
                if self.paths.answered(token, address):
                    self._moved(now)
            case Close(reason, text):
                if reason != Reason.DONE:
                    self.error = PeerError(f"the peer has ended the connection: {text or reason}")
                self._over_at = now
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
        if len(ack.ranges) > 1 and self._recovery.floor - self._floor_told >= _FLOOR_EVERY:
            self._floor_due = True

    def _handle_lost(self, lost: list[SentPacket], now: float) -> None:
        self._lost += len(lost)
        size, sent_at = 0, now
        for packet in lost:
            self._mtu.lost(packet.datagram, probe=packet.probe, now=now)
            if packet.window and packet.window == self._incoming.limit:
                self._window_lost = True
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
        self._ping = True
        for packet in self._recovery.oldest(_PROBES):
            if packet.window and packet.window == self._incoming.limit:
                self._window_lost = True
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
        may_send = free or (not self._window_full() and self._paced_until() <= now)
        if may_send and not free and (probe := self._mtu_probe(now)) is not None:
            return probe
        size = self._mtu.size
        if self._recovery.probes > _SMALL_PROBES_AFTER:
            size = min(size, 512)
        capacity_ = capacity(size)
        frames: list[bytes] = []
        sending = may_send and self._outgoing.ready
        packet = SentPacket(0, 0, now)
        asks = self._control(frames, packet, now, sending=sending)
        room = capacity_ - sum(map(len, frames))
        if sending and room >= LEAST_ROOM:
            packet.pieces = self._outgoing.take(room, capacity=capacity_, frames=frames)
        if self._ping and not (asks or packet.pieces):
            frames.append(_PING)
            asks = True
        if asks or packet.pieces:
            self._ping = False
            self._probes = max(0, self._probes - 1)
            return self._under_way(packet, b"".join(frames), now)
        return self._sealed(b"".join(frames), now) if frames else None

    def _control(
        self, frames: list[bytes], packet: SentPacket, now: float, *, sending: bool
    ) -> bool:
        """What is due beside payloads; does any of it ask for an acknowledgement?"""
        limit = self._incoming.announcement()
        if limit is None and self._window_lost:
            limit = self._incoming.limit
        asks = limit is not None or bool(self._responses) or self._floor_due
        if self._arrivals.due(now) or (self._arrivals.pending and (sending or asks or self._ping)):
            ack = self._arrivals.frame(now)
            if ack is not None:
                frames.append(encode(ack))
        if limit is not None:
            frames.append(encode(Window(limit)))
            packet.window, self._window_lost = limit, False
        if self._floor_due:
            self._floor_told, self._floor_due = self._recovery.floor, False
            frames.append(encode(Floor(self._floor_told)))
        while self._responses:
            frames.append(encode(Response(self._responses.popleft())))
        return asks

    def _mtu_probe(self, now: float) -> bytes | None:
        """A datagram that asks whether the path takes so many bytes; only large transfers ask."""
        if self._outgoing.waiting < self._mtu.size:
            return None
        size = self._mtu.probe(now)
        if size is None:
            return None
        frames = _PING + encode(Padding(capacity(size) - len(_PING)))
        return self._under_way(SentPacket(0, 0, now, probe=size), frames, now)

    def _under_way(self, packet: SentPacket, frames: bytes, now: float) -> bytes:
        """Seal what asks for an acknowledgement, and remember it."""
        packet.number = self._recovery.next_number
        datagram = self._sealed(frames, now)
        packet.datagram, packet.size = len(datagram), len(datagram) + HEADERS
        self._recovery.sent(packet)
        _, rate = self._allowance()
        if rate:
            self._bucket.sent(now, packet.size, rate=rate, burst=self._burst(rate))
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

    def _burst(self, rate: float) -> float:
        return max(BURST * rate, _LEAST_BURST)

    def _paced_until(self) -> float:
        return self._bucket.time(rate=self._allowance()[1])

    def _paced_at(self) -> float | None:
        """When to come back for the next datagram; not at once, so that several go together."""
        due = self._paced_until()
        return None if due == float("inf") else max(due, self._sent_at + _GRAIN)
