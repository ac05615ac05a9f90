"""A carrier over an SPP connection: a segment is a payload of reliable UDP (ATP, section 4.1).

    async with await listen("0.0.0.0", 4434, on_connection, keys=server_keys) as listener: ...
    async with await connect("remote.test", 4434, keys=client_keys) as connection: ...

SPP repeats what is lost and says what has arrived; it has no opinion on how fast. The backlog is
what may not have arrived, so NAI's estimator is the only controller, and what SPP was handed leaves
at once: nothing waits here that something more urgent could not overtake. Segments need no padding
and are delivered as they come; NAI puts messages in order, so a loss delays its own message only.

It must not know what is in a segment. Who an end is: transport/spp/handshake/exchange.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from transport.link import interface as links
from transport.nai.carriers.interface import CarrierReader
from transport.nai.endpoint import NaiConnection
from transport.nai.errors import CarrierError, SegmentFault
from transport.spp.congestion.rate_based import RateBased
from transport.spp.core.settings import SppSettings
from transport.spp.edge import udp
from transport.spp.edge.link import SppLink
from transport.spp.edge.udp import SppListener
from transport.spp.handshake.keys import ClientKeys, ServerKeys

CAPACITY: Final = 262_144
"""Bytes that may be on their way: 2 s of a megabit, or 100 ms of 20."""
_SPACING: Final = 0.015
"""Seconds; acknowledgements are the estimator's clock, so thin links have one for each datagram."""
DEVICE: Final = SppSettings(ordered=False, keep_alive=25.0, spacing=_SPACING)
"""Of the dialling end."""
REMOTE: Final = SppSettings(ordered=False, keep_alive=None, idle=900.0, spacing=_SPACING)
"""Of the accepting end: a device without news for so long is gone."""
_UNPACED: Final = 12.5e6
"""Bytes/second at which SPP may send: what the estimator lets go need not wait again."""
_LOOK_EVERY: Final = 0.1
"""Seconds between two looks at round trip and losses."""
_MEMORY: Final = 7 / 8
"""Of a count of datagrams that is kept from one look to the next."""
_REPAIR: Final = 1.25
"""Round trips from a loss until it shows and its repetition leaves (RFC 9002, 6.1.2), about."""
_MOST_LOST: Final = 0.5
"""Share of datagrams; more is an outage, no property of the path."""
_FULL: Final = 0.75
"""Of a segment: a datagram with as much in it is a full one."""
_OUTAGE: Final = 4.0
"""Seconds without a sign of the peer, after which the path may be another one."""
_LINGER: Final = 10.0
"""Seconds for the peer to get what was sent."""


class SppSegments:
    """One end; implements transport.nai.carriers.interface.Carrier."""

    capacity: Final = CAPACITY

    def __init__(self, link: SppLink, *, lingers: bool) -> None:
        """Owns the link from now on; its congestion control should be `unpaced`.

        `lingers`: once closed, it goes on telling a peer that has missed it.
        """
        self.segment = link.segment
        """Bytes of a payload that any path takes: larger datagrams, once found, hold more."""
        self._link = link
        self._end_link = link.close if lingers else link.end
        self._loop = asyncio.get_running_loop()
        self._reader: CarrierReader | None = None
        self._reading = True
        self._wants_room = False
        self._ended = False
        self._closing: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._latency = _Latency(link)

    @property
    def latency(self) -> float:
        return self._latency.seconds(self._loop.time())

    def start(self, reader: CarrierReader) -> None:
        self._reader = reader
        self._link.changed = self._changed
        self._loop.call_soon(self._changed)

    def room(self, now: float) -> int:
        if self._closing is not None or not self._link.open:
            return 0
        room = min(self._link.room(), self.capacity - self._link.unacknowledged)
        if room >= self.segment:
            return room
        self._wants_room = True
        self._look_again(self._link.room_at())
        return 0

    def takes(self, length: int) -> int:
        return length

    def send(self, payload: bytes, now: float) -> None:
        self._link.send(payload)

    def backlog(self, now: float) -> int:
        return self._link.unacknowledged

    def reading(self, wanted: bool) -> None:
        """SPP's window fills, and the peer's sends stop there."""
        self._reading = wanted
        if wanted:
            self._loop.call_soon(self._changed)

    def close(self) -> None:
        if self._closing is None and self._link.open:
            self._closing = self._loop.call_later(_LINGER, self._end_link)
        self._changed()

    def _changed(self) -> None:
        """Something came, arrived or ended, or may go."""
        reader = self._reader
        if reader is None or self._ended:
            return
        self._latency.hear()
        if self._reading and self._closing is None:
            for payload in self._link.received():
                reader.segment_received(payload, now=self._loop.time())
        if self._closing is not None and self._link.open and not self._link.unacknowledged:
            self._end_link()
        if not self._link.open:
            if self._reading or self._closing is not None:
                self._end(reader)
        elif self._wants_room and self.room(self._loop.time()):
            self._wants_room = False
            reader.room_made()

    def _end(self, reader: CarrierReader) -> None:
        self._ended = True
        for timer in (self._timer, self._closing):
            if timer is not None:
                timer.cancel()
        error = self._link.error
        if isinstance(error, links.PeerFault):
            reader.carrier_closed(SegmentFault(str(error)))
        else:
            reader.carrier_closed(CarrierError(str(error)) if error is not None else None)

    def _look_again(self, due: float | None) -> None:
        """At that time, if nothing happens before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._changed)


class _Latency:
    """How long a byte counts as backlog though nothing waits: the least round trip of a full
    datagram, whose own time on a thin link is the most of it, and what repeating lost ones takes.
    """

    def __init__(self, link: SppLink) -> None:
        self._link = link
        self._full = _FULL * link.segment
        self._least = float("inf")
        self._heard_at = self._looked_at = float("-inf")
        self._seconds = 0.0
        self._sent = self._lost = 0
        self._recent_sent = self._recent_lost = 0.0

    def hear(self) -> None:
        """Hears what has arrived over there."""
        for one in self._link.acked():
            if one.acknowledged_at - self._heard_at > _OUTAGE:
                self._least = float("inf")
            self._heard_at = one.acknowledged_at
            if one.payload >= self._full and one.sent_at > self._heard_at - _OUTAGE:
                self._least = min(self._least, one.acknowledged_at - one.sent_at)

    def seconds(self, now: float) -> float:
        if now - self._looked_at >= _LOOK_EVERY:
            self._looked_at = now
            self._look()
        return self._seconds

    def _look(self) -> None:
        statistics = self._link.statistics()
        lost = statistics.lost - statistics.spurious
        self._recent_sent = _MEMORY * self._recent_sent + statistics.sent - self._sent
        self._recent_lost = _MEMORY * self._recent_lost + lost - self._lost
        self._sent, self._lost = statistics.sent, lost
        share = max(0.0, self._recent_lost / self._recent_sent) if self._recent_sent else 0.0
        least = statistics.least if self._least == float("inf") else self._least
        self._seconds = least * (1 + _REPAIR * min(share, _MOST_LOST))


def unpaced() -> RateBased:
    """SPP's congestion control under an estimator: losses say nothing, and the rate is not SPP's
    affair."""
    return RateBased(_UNPACED)


async def connect(
    host: str, port: int, *, keys: ClientKeys, timeout: float = udp.TIMEOUT, **options: Any
) -> NaiConnection:
    """A connection to the remote of `keys` over UDP, which has `timeout` seconds to answer.

    `options`: those of Connection. Raises transport.link.interface.LinkError, NotTrusted.
    """
    link = await udp.connect(
        host, port, keys=keys, settings=DEVICE, congestion=unpaced(), timeout=timeout
    )
    return NaiConnection(SppSegments(link, lingers=False), **options)


async def listen(
    host: str,
    port: int,
    on_connection: Callable[[NaiConnection], None],
    *,
    keys: ServerKeys,
    **options: Any,
) -> SppListener:
    """Hand each connection of a device of `keys` to `on_connection`. Raises
    transport.link.interface.LinkError."""

    def accepted(link: SppLink) -> None:
        on_connection(NaiConnection(SppSegments(link, lingers=True), **options))

    return await udp.listen(host, port, accepted, keys=keys, settings=REMOTE, congestion=unpaced)
