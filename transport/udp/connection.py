"""A link's connection over UDP: its stream in payloads of SPP, in order and once.

SPP (transport/spp/edge/link.py) repeats what is lost, and its acknowledgements tell what arrived,
and when by the receiver's clock. So the ends need no reports, and the gate sees what came behind a
gap that is still open, where over TCP it sees nothing. A chunk is asked for when SPP has nothing
that waits; how much is under way is the gate's affair, and SPP's pace (`pace`) leaves room above
it, for what must be sent twice."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from transport.link.connection import Carried, DeliveryReport
from transport.link.interface import LinkError
from transport.link.quantum import PROTECTED_FRAMES, Chunks
from transport.link.records import ProvenPeer
from transport.spp.congestion.rate_based import RateBased
from transport.spp.core.settings import Delivered, SppSettings
from transport.spp.edge.link import SppLink

_WINDOW: Final = 1 << 22
"""Of both ends. The gate bounds what is under way, and so what waits at a receiver."""
_SPACING: Final = 0.015
"""Seconds; on thin links a datagram takes as long: each is acknowledged, as the gate needs it."""
DEVICE: Final = SppSettings(window=_WINDOW, keep_alive=25.0, spacing=_SPACING)
"""Of the dialling end. NATs forget UDP after 30 s, and an answer may take longer; 6 B/s."""
REMOTE: Final = SppSettings(window=_WINDOW, keep_alive=None, idle=900.0, spacing=_SPACING)
"""Of the accepting end: a device without news for so long is gone."""
UNKNOWN: Final = 12.5e6
"""Bytes/second at which payloads may leave while the gate still searches, at least: it lets few."""
_LEAST: Final = 4_000.0
"""Bytes/second; a modem's: below that, an estimate is more likely wrong than the link so slow."""
_GAIN: Final = 1.5
"""Times the link's rate: what the gate lets go at once must not wait for the pace, nor what goes
twice for what is new."""
_SEARCH: Final = 3.0
"""The same while the gate searches: it doubles each round what may be under way."""
_TOGETHER: Final = 16_384
"""Bytes that may wait for others to leave with them, within a turn of the loop."""
_FAST: Final = 2.5e6
"""Bytes/second, at least, from which on arrivals are told together: one takes half a millisecond
there, and a burst that tells the rate twenty times as long."""
_SPAN: Final = 0.002
"""Seconds of arrivals that are told together; reports over TCP cover more
(transport/gate/report_spacing.py)."""
_RECORD: Final = 5
"""Bytes by which the headers of UDP, SPP and a payload are more than those of TCP with IP."""


_OVERDUE: Final = 1.0
"""Seconds without any acknowledgement of what asks for one. On the usual link, whose patience is
0.3 s, a datagram and two probes have gone unanswered by then (RFC 9002, 6.2)."""
_OVERDUE_PATIENCES: Final = 2.0
"""The same where round trips are long or vary: a datagram and its first probe."""


class UdpConnection:
    """Owns its SppLink. Implements transport.link.connection.Connection."""

    kind = "udp"
    reports = asked = False
    prompt = True
    local_address: str | None = None
    """It moves with this machine's addresses."""
    arriving = 0

    def __init__(self, link: SppLink, congestion: RateBased, *, lingers: bool) -> None:
        """`link`'s congestion control is `congestion`. `lingers`: once closed, it goes on telling a
        peer that has missed it."""
        self._link = link
        self._lingers = lingers
        self._congestion = congestion
        self._loop = asyncio.get_running_loop()
        self._early = b""
        """What has come and was not received."""
        self._carried: Carried | None = None
        self._under_way: dict[int, int] = {}
        """Bytes by payload, of those that have not arrived; the stream's only."""
        self._order: deque[tuple[int, int]] = deque()
        """Number and bytes of all behind the first that has not arrived."""
        self._in_order = 0
        self._clocks = 0.0
        """Seconds by which the receiver's clock is ahead of ours, and the way back."""
        self._arrived_at = 0.0
        self._rate = 0.0
        self._turning = self._soon = self._handed_over = False
        self._timer: asyncio.TimerHandle | None = None
        link.changed = self._changed

    # -- before a link has it ------------------------------------------------------------------

    @property
    def peer(self) -> ProvenPeer | None:
        return self._link.peer

    @property
    def crossed(self) -> int:
        return self._link.crossed

    @property
    def chunks(self) -> Chunks:
        return Chunks(PROTECTED_FRAMES, _RECORD, self._link.segment)

    async def send(self, data: bytes) -> None:
        self._link.send(data)

    async def receive(self, most: int) -> bytes:
        if not self._early:
            self._early = b"".join(await self._link.receive())
        data, self._early = self._early[:most], self._early[most:]
        return data

    def prepare(self, congestion: str | None) -> None:
        """Does nothing: only TCP has segments to prepare."""

    # -- a link's ------------------------------------------------------------------------------

    def start(self, carried: Carried) -> None:
        self._carried = carried
        self._congestion.on_lost = carried.lost
        self._link.acked()  # of what was said before, nobody counts
        self.wake()

    def wake(self) -> None:
        if not self._soon and self._carried is not None:
            self._soon = True
            self._loop.call_soon(self._wake)

    def pace(self, rate: float, *, sure: bool) -> None:
        self._rate = rate
        self._congestion.set_rate(paced(rate, sure=sure))

    def network_changed(self) -> None:
        if self._link.open:
            self._link.ping()  # shows the peer where we are now

    def overdue(self, times: float) -> bool:
        wait = max(_OVERDUE, _OVERDUE_PATIENCES * self._link.patience)
        return self._link.unanswered() > times * wait

    def unanswered(self) -> float:
        return self._link.unanswered()

    def ask(self) -> None:
        if self._link.open and not self._link.unanswered():
            self._link.ping()

    def drain(self) -> None:
        if self._carried is not None:
            self._hear(self._carried)

    def finish(self, words: bytes) -> None:
        if self._link.open:
            self._link.send(words)
            self._link.flush()
        self.close()

    def close(self) -> None:
        self._carried = None
        self._congestion.on_lost = lambda sent_at: None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._handed_over:
            return
        if self._lingers:
            self._link.close()
        else:
            self._link.end()

    def __repr__(self) -> str:
        return f"<UdpConnection {self._link!r}>"

    def hand_over(self) -> tuple[SppLink, bytes]:
        """Its SPP connection, which is somebody else's from here on, and what has come over it and
        was not received."""
        early, self._early = self._early, b""
        self._handed_over = True
        return self._link, early

    # -- turns ---------------------------------------------------------------------------------

    def _wake(self) -> None:
        self._soon = False
        self._changed()

    def _changed(self) -> None:
        """Something came, arrived, or may go. What follows from within has its turn here too."""
        if self._turning:
            return
        self._turning = True
        try:
            self._turn()
        finally:
            self._turning = False

    def _turn(self) -> None:
        if self._carried is not None:
            self._hear(self._carried)
        if self._carried is not None:
            self._tell(self._carried)
        if self._carried is not None and not self._link.open:
            error = self._link.error
            if error is None:
                self._carried.ended(None)
            else:
                self._carried.failed(error)
        if self._carried is not None:
            self._send(self._carried)

    def _hear(self, carried: Carried) -> None:
        data, self._early = self._early + b"".join(self._link.received()), b""
        if data:
            carried.heard(data)

    def _tell(self, carried: Carried) -> None:
        """What has arrived over there: a datagram at a time, for a burst tells the link's rate, or
        a few together where each takes no time and the rate is known."""
        together: list[DeliveryReport] = []
        for one in self._link.acked():
            arrival = self._arrival(one)
            if arrival is None:
                continue
            if together and (
                self._rate < _FAST or arrival.arrived_at - together[0].arrived_at >= _SPAN
            ):
                carried.delivered(_as_one(together))
                if self._carried is None:
                    return
                together.clear()
            together.append(arrival)
        if together:
            carried.delivered(_as_one(together))

    def _arrival(self, one: Delivered) -> DeliveryReport | None:
        """One datagram's, if it brought anything new of the stream."""
        if one.arrived_at is not None:
            self._clocks = one.arrived_at - one.acknowledged_at
        arrived_at = one.acknowledged_at + self._clocks
        self._arrived_at = max(self._arrived_at, arrived_at)
        size = sum(self._under_way.pop(number, 0) for number in one.sequences)
        while self._order and self._order[0][0] not in self._under_way:
            self._in_order += self._order.popleft()[1]
        if not size:
            return None
        return DeliveryReport(size, self._in_order, one.sent_at, one.sent_at, self._arrived_at)

    def _send(self, carried: Carried) -> None:
        """As many chunks as gate and pace let go."""
        while self._has_room():
            chunk = carried.next_bytes()
            if self._carried is None:  # closed by the outbox, when it was asked
                return
            if chunk is None:
                self._rest(carried.next_time())
                return
            segment = self._link.segment
            for at in range(0, len(chunk), segment):
                payload = chunk[at : at + segment]
                number = self._link.send(payload)
                self._under_way[number] = len(payload)
                self._order.append((number, len(payload)))
        self._rest(self._link.room_at())

    def _has_room(self) -> bool:
        """A chunk would leave at once: what was handed over before has left, but for a little that
        shares datagrams and calls of the kernel with it."""
        if self._link.waiting >= _TOGETHER:
            self._link.flush()
            if self._link.waiting:
                return False
        return self._carried is not None and self._link.open and self._link.room() > 0

    def _rest(self, due: float | None) -> None:
        """Until something happens, or that time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = self._loop.call_at(due, self._changed)


def _as_one(arrivals: list[DeliveryReport]) -> DeliveryReport:
    """The datagrams that arrived in this order as one delivery."""
    if len(arrivals) == 1:
        return arrivals[0]
    last = arrivals[-1]
    size = sum(one.size for one in arrivals)
    first_sent_at = min(one.first_sent_at for one in arrivals)
    return DeliveryReport(size, last.in_order, first_sent_at, last.sent_at, last.arrived_at)


def paced(rate: float, *, sure: bool) -> float:
    """Bytes/second at which payloads leave where the gate says that the path carries `rate`."""
    # A pace that did not grow with what arrives would be all that is ever found of a fast path.
    return max(_LEAST, _GAIN * rate) if sure else max(UNKNOWN, _SEARCH * rate)


def congestion() -> RateBased:
    """Congestion control of a connection whose gate decides."""
    return RateBased(UNKNOWN)


def udp_connection(link: SppLink, *, lingers: bool) -> UdpConnection:
    """The connection over an SppLink that was made with `congestion`. Raises LinkError."""
    control = link.congestion
    if not isinstance(control, RateBased):
        raise LinkError("its congestion control is not the gate's")
    return UdpConnection(link, control, lingers=lingers)
