"""Runs one flow of RCP or TCP over two hops' paths in a world's time, and counts what it delivers.

The RCP is the product's; its segments cross as the objects that they are, at the size that their
bytes would have. TCP is the model beside this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from emulation.dumbbell.events import Alarm, Events
from emulation.dumbbell.hops import Hop
from emulation.tcp.sack_receiver import SackReceiver
from emulation.tcp.sack_sender import SackAck, SackSegment, SackSender
from transport.rcp.ends import ReceivingEnd, SendingEnd
from transport.rcp.receiver import RcpReceiver
from transport.rcp.segments import DataSegment, Segment, length
from transport.rcp.settings import RcpSettings

PACKET: Final = 1_228
"""Bytes of a full packet of either protocol: SPP's smallest datagram, with IPv4 and UDP."""
_TCP_HEADERS: Final = 52
"""Bytes: IPv4, TCP, timestamps (RFC 7323)."""
_BUFFER: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Route:
    """The hops of one direction; between them and at the ends is delay alone."""

    hops: Sequence[Hop]
    further: float = 0.0
    """Seconds beyond those of the hops."""

    def send(
        self,
        size: int,
        deliver: Callable[[Any], None],
        what: Any,
        *,
        on_lost: Callable[[Any], None] | None = None,
        at: int = 0,
    ) -> None:
        """A packet over all hops from number `at` on; `on_lost`: the air of one has lost it."""
        if at == len(self.hops) - 1:
            self.hops[at].send(size, deliver, what, further=self.further, on_lost=on_lost)
            return

        def onwards(one: Any) -> None:
            self.send(size, deliver, one, on_lost=on_lost, at=at + 1)

        self.hops[at].send(size, onwards, what, on_lost=on_lost)


class Flow(Protocol):
    """One connection with an endless source."""

    @property
    def delivered(self) -> int:
        """Bytes of data that have come in order."""

    def start(self, argument: object = None) -> None:
        """Opens the connection now."""

    def facts(self) -> dict[str, int]:
        """Counts that explain its throughput."""


class EndlessContent:
    """Zeros without an end; implements transport.rcp.send_buffer.Content."""

    ended = False
    written = 1 << 50
    dry = True
    purged = 0

    def __init__(self) -> None:
        self._zeros = bytes(_BUFFER)

    def slice(self, begin: int, end: int) -> bytes:
        return self._zeros[: end - begin]

    def purge(self, upto: int) -> None:
        self.purged = upto


class RcpFlow:
    """The product's RCP, opened by its receiver."""

    data = RcpSettings().size
    """Bytes of data in a full packet."""

    def __init__(
        self,
        events: Events,
        down: Route,
        up: Route,
        *,
        eln: bool = False,
        settings: RcpSettings | None = None,
        arrived: Callable[[], object] | None = None,
    ) -> None:
        """`eln`: the last hop tells the receiver what the air has lost; `arrived`: who reads, when
        something has; None: all is read at once."""
        settings = settings or RcpSettings(buffer=_BUFFER)
        self.receiver = RcpReceiver(settings)
        self._arrived = arrived or self.receiver.read
        self._events, self._down, self._up = events, down, up
        self._near = ReceivingEnd(self.receiver)
        self._far = SendingEnd(EndlessContent(), size=settings.size)
        self._headers = settings.headers
        self._eln = self._corrupted if eln else None
        self._alarm = Alarm(events, self._rang)
        self.requests = self.request_bytes = 0
        self._asleep = False

    @property
    def delivered(self) -> int:
        return self.receiver.buffer.next

    def sleep(self) -> None:
        """The receiver's radio is off: nothing is asked for, and what comes is lost (3.4.4)."""
        self._asleep = True
        self.receiver.freeze(self._events.now)

    def wake(self) -> None:
        """The radio is on again: the receiver asks for what it has holes for."""
        self._asleep = False
        self.receiver.resume(self._events.now)
        self._say()

    def facts(self) -> dict[str, int]:
        pipe, sender = self.receiver.pipe, self._far.sender
        return {
            "timeouts": pipe.timeouts,
            "lost": pipe.lost,
            "spared": pipe.spared,
            "recovered_blocks": sender.recovered,
            "requests": self.requests,
            "request_bytes": self.request_bytes,
        }

    def start(self, argument: object = None) -> None:
        self._say()

    def go_on(self) -> None:
        """Something was read: there may be room for other requests."""
        self._say()

    def _say(self) -> None:
        for segment in self._near.to_send(self._events.now):
            size = length(segment) + self._headers
            self.requests += 1
            self.request_bytes += size
            self._up.send(size, self._at_sender, segment)
        self._alarm.set(self._near.next_timer())

    def _rang(self) -> None:
        self._near.on_timer(self._events.now)
        self._say()

    def _at_sender(self, segment: Segment) -> None:
        self._far.received(segment, self._events.now)
        for answer in self._far.to_send(self._events.now):
            size = length(answer) + self._headers
            self._down.send(size, self._at_receiver, answer, on_lost=self._eln)

    def _at_receiver(self, segment: Segment) -> None:
        if self._asleep:
            return
        self._near.received(segment, self._events.now)
        self._arrived()
        self._say()

    def _corrupted(self, segment: Segment) -> None:
        if isinstance(segment, DataSegment):
            self.receiver.corrupted(segment.begin, segment.echo, self._events.now)
            self._say()


class SackFlow:
    """TCP with SACK, already connected."""

    data = PACKET - _TCP_HEADERS
    """Bytes of data in a full packet."""

    def __init__(
        self,
        events: Events,
        down: Route,
        up: Route,
        *,
        eln: bool = False,
        sender: SackSender | None = None,
        every: int = 2,
        overhead: Callable[[], float] | None = None,
    ) -> None:
        """`eln`: the last hop tells the receiver, which tells the sender. `every`: segments to an
        acknowledgement. `overhead`: seconds that the sending host takes before it sends what it
        may, drawn anew each time, as ns-2's `overhead_`; None: none."""
        self.sender, self.receiver = sender or SackSender(), SackReceiver(every=every)
        self._events, self._down, self._up = events, down, up
        self._timer = Alarm(events, self._time_out)
        self._delayed = Alarm(events, self._acknowledge)
        self._eln = self._corrupted if eln else None
        self._overhead, self._busy = overhead, False
        self.acknowledgements = 0

    @property
    def delivered(self) -> int:
        return self.receiver.upto * self.data

    def facts(self) -> dict[str, int]:
        sender = self.sender
        return {
            "timeouts": sender.timeouts,
            "cuts": sender.cuts,
            "spared": sender.spared,
            "requests": self.acknowledgements,
        }

    def start(self, argument: object = None) -> None:
        self._send()

    def _send(self) -> None:
        """The host sends what it may, as soon as it comes to it."""
        self._timer.set(self.sender.timer)
        if self._overhead is None:
            self._send_now()
        elif not self._busy:
            self._busy = True
            self._events.at(self._events.now + self._overhead(), self._send_now)

    def _send_now(self, _: object = None) -> None:
        self._busy = False
        self._pass_on(self.sender.to_send(self._events.now))
        self._timer.set(self.sender.timer)

    def _pass_on(self, segments: Sequence[SackSegment]) -> None:
        """TCP has these to be sent."""
        for segment in segments:
            self._leave(segment)

    def _leave(self, segment: SackSegment) -> None:
        self._down.send(PACKET, self._at_receiver, segment, on_lost=self._eln)

    def _time_out(self) -> None:
        self.sender.time_out(self._events.now)
        self._send()

    def _at_receiver(self, segment: SackSegment) -> None:
        ack = self.receiver.received(segment, self._events.now)
        if ack is not None:
            self._answer(ack)
        self._delayed.set(self.receiver.timer)

    def _acknowledge(self) -> None:
        self._answer(self.receiver.acknowledge(self._events.now))

    def _answer(self, ack: SackAck) -> None:
        self.acknowledgements += 1
        size = _TCP_HEADERS + (4 + 8 * len(ack.blocks) if ack.blocks else 0)
        self._up.send(size, self._at_sender, ack)

    def _at_sender(self, ack: SackAck) -> None:
        self.sender.acknowledged(ack, self._events.now)
        self._send()

    def _corrupted(self, segment: SackSegment) -> None:
        self.receiver.corrupted(segment.number)
