"""A link between two ends in one process, over emulated lines, for virtual time.

    near, far = memory_links(LinkModel(rate_up=7_000, rate_down=48_000, delay=0.04))

The ends are the same protocol core as the TCP link's; only the bytes' way differs. A line is
lossless (a full queue blocks the sender, as a tunnel's buffer does through TCP) or droptail (a
full queue drops). A packet that is dropped or lost is sent again a round trip later, and what came
behind it waits, as under TCP, yet without a congestion window: what overflows is the gate's doing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from emulation.lines.flight import JITTER_STEP, Disturbances, Flight, Wander
from emulation.lines.line import Line, LineStatistics, packet_size
from emulation.lines.profiles import Profile
from emulation.lines.schedule import Schedule, Steady
from transport.link.interface import Inbox, LinkError, LinkStatistics, Outbox, PeerFault
from transport.link.quantum import SEGMENT, Chunks, chunks_of
from transport.stream.endpoint import Endpoint
from wire.errors import PeerError
from wire.frames import END, FrameWriter


@dataclass(frozen=True, slots=True)
class LinkModel:
    """What lies between the ends. Bytes/second, bytes, seconds; up is from near to far."""

    rate_up: float
    rate_down: float
    delay: float = 0.0
    """One way."""
    jitter: float = 0.0
    """Largest extra delay, each way."""
    queue: int = 65_536
    droptail: bool = False
    """Drop what does not fit the queue; else the sender waits."""
    seed: int = 1
    segment: int = 0
    """Bytes of payload in a packet at most; 0: so few that a packet takes 5 ms."""
    header: int = 0
    """Bytes that each packet has besides, as IP and TCP have (52 with timestamps)."""
    record: int = 0
    """Bytes that each chunk has besides, as a record of TLS has; 0: the link is not protected."""
    profile: Profile | None = None
    """Whose schedules and disturbances go before rates and jitter."""

    @classmethod
    def of(cls, profile: Profile, *, seed: int = 1) -> LinkModel:
        """A profile's link; droptail, since there is no TCP that would fill it without end."""
        return cls(
            rate_up=profile.rate_up,
            rate_down=profile.rate_down,
            delay=profile.delay,
            queue=profile.queue,
            droptail=True,
            seed=seed,
            profile=profile,
        )


class _Packet(NamedTuple):
    number: int
    data: bytes
    """Empty: the end."""
    header: int
    """Bytes besides."""


class Path:
    """One direction: cuts what is sent into packets, hands bytes on in order."""

    def __init__(self, model: LinkModel, *, down: bool, seed: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._model = model
        self._down = down
        disturbances = model.profile.disturbances() if model.profile else Disturbances()
        self._line: Line[_Packet] = Line(
            schedule=self._schedule(),
            delay=model.delay,
            queue=float(model.queue),
            flight=Flight(disturbances, seed=seed) if disturbances.any else None,
            on_lost=self._later,
        )
        self._jitter = Wander(model.jitter, step=JITTER_STEP, seed=seed)
        self._undisturbed = not disturbances.any and not model.jitter
        self._waiting: deque[_Packet] = deque()
        self._next_in = 0
        self._next_out = 0
        self._early: dict[int, bytes] = {}
        """Packets behind one that was dropped."""
        self._timer: asyncio.TimerHandle | None = None
        self.deliver: Callable[[bytes], None] = lambda _: None
        self.ended: Callable[[], None] = lambda: None
        self.writable: Callable[[], None] = lambda: None

    @property
    def full(self) -> bool:
        """The sender must wait."""
        return bool(self._waiting)

    def send(self, data: bytes) -> None:
        size = self._model.segment or packet_size(self._line.rate)
        start, room = 0, size - self._model.record
        while start < len(data):
            self._append(data[start : start + room], header=self._model.header + size - room)
            start, room = start + room, size
        self._turn()

    def end(self) -> None:
        """Nothing follows; the other end hears of it behind what is still on its way."""
        self.writable = lambda: None
        self._append(b"", header=self._model.header)
        self._turn()

    def set_rate(self, rate: float) -> None:
        """Bytes/second from now on."""
        self.set_schedule(Steady(rate))

    def set_schedule(self, schedule: Schedule) -> None:
        """The rates from now on, by the loop's clock."""
        self._line.set_schedule(self._loop.time(), schedule)
        self._turn()

    def rewind(self) -> None:
        """A rate that changes over time begins anew."""
        if self._model.profile and self._model.profile.changes:
            self.set_schedule(self._schedule())

    def set_delay(self, delay: float) -> None:
        """Seconds one way from now on: another route."""
        self._line.advance(self._loop.time())
        self._line.delay = delay

    def chunks(self) -> Chunks:
        """What its sender's chunks are made of."""
        return chunks_of(record=self._model.record, segment=self._model.segment or SEGMENT)

    def statistics(self) -> LineStatistics:
        self._line.advance(self._loop.time())
        return self._line.statistics()

    def _turn(self) -> None:
        now = self._loop.time()
        self._line.advance(now, extra_delay=self._jitter.at(now))
        arrived = [packet for _, packet in self._line.take(now)]
        was_full = self.full
        while self._waiting and self._enter(now, self._waiting[0]):
            self._waiting.popleft()
        self._set_timer()
        self._hand_on(arrived)
        if was_full and not self.full:
            self.writable()

    def _append(self, data: bytes, *, header: int) -> None:
        self._waiting.append(_Packet(self._next_in, data, header))
        self._next_in += 1

    def _enter(self, now: float, packet: _Packet) -> bool:
        size = len(packet.data) + packet.header
        if not self._model.droptail:
            if self._line.room < size and self._line.statistics().backlog:
                return False
            self._line.push(now, packet, size)
        elif not self._line.offer(now, packet, size):
            self._later(packet)
        return True

    def _schedule(self) -> Schedule:
        model, now = self._model, self._loop.time()
        if model.profile:
            return model.profile.schedule(down=self._down, epoch=now)
        return Steady(model.rate_down if self._down else model.rate_up)

    def _later(self, packet: _Packet) -> None:
        self._loop.call_later(2 * self._model.delay + 1e-3, self._send_again, packet)

    def _send_again(self, packet: _Packet) -> None:
        self._waiting.appendleft(packet)
        self._turn()

    def _hand_on(self, arrived: list[_Packet]) -> None:
        if not arrived:
            return
        self._early.update((packet.number, packet.data) for packet in arrived)
        ready, ended = bytearray(), False
        while (data := self._early.pop(self._next_out, None)) is not None:
            ready += data
            self._next_out += 1
            ended = not data
        if ready:
            self.deliver(bytes(ready))
        if ended:
            self.ended()

    def _set_timer(self) -> None:
        # Where nothing waits for room, what leaves the serialiser is of no matter until it arrives.
        lazy = self._undisturbed and not self._waiting
        due = self._line.next_arrival() if lazy else self._line.next_time()
        if self._timer is not None:
            if self._timer.when() == due:
                return
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._come_back)

    def _come_back(self) -> None:
        self._timer = None
        self._turn()


class MemoryLink:
    """One end; implements transport.link.interface.Link."""

    def __init__(self, outgoing: Path, incoming: Path) -> None:
        self.outgoing = outgoing
        """The path that this end sends into; `set_rate` and `statistics` are the scenario's."""
        self._incoming = incoming
        self._loop = asyncio.get_running_loop()
        self._endpoint: Endpoint | None = None
        self._inbox: Inbox | None = None
        self._early: list[bytes] = []
        """Arrived before `start`; b"": the end."""
        self._timer: asyncio.TimerHandle | None = None
        self._pulling = False
        self._closed = False
        incoming.deliver = self._early.append
        incoming.ended = lambda: self._early.append(b"")

    @property
    def endpoint(self) -> Endpoint:
        """The protocol core, for scenarios that look at its gate."""
        if self._endpoint is None:
            raise RuntimeError("the link has not been started")
        return self._endpoint

    def start(
        self, outbox: Outbox, inbox: Inbox, *, competes: Callable[[], bool] = lambda: True
    ) -> None:
        self._endpoint = Endpoint(outbox, now=self._loop.time(), competes=competes)
        self._endpoint.chunks = self.outgoing.chunks()
        self._inbox = inbox
        self._incoming.deliver = self._arrived
        self._incoming.ended = self._peer_closed
        self.outgoing.writable = self.wake
        self.wake()
        for data in self._early:
            if data:
                self._arrived(data)
            else:
                self._peer_closed()

    def wake(self) -> None:
        if not self._pulling and not self._closed and self._endpoint is not None:
            self._pulling = True
            self._loop.call_soon(self._pull)

    def close(self, error: LinkError | None = None) -> None:
        if self._closed:
            return
        self._end(error)
        self.outgoing.send(FrameWriter().encode(END))
        self.outgoing.end()

    def inject(self, data: bytes) -> None:
        """Put bytes of the caller's own on the way: for tests of hostile peers."""
        self.outgoing.send(data)

    def statistics(self) -> LinkStatistics:
        return self.endpoint.statistics(self._loop.time())

    def _pull(self) -> None:
        self._pulling = False
        if self._closed or self._endpoint is None:
            return
        while not self.outgoing.full and not self._closed:
            try:
                chunk = self._endpoint.next_chunk(self._loop.time())
            except Exception as error:
                self.close(LinkError(f"the session failed to choose what to send: {error}"))
                raise
            if chunk is None:
                break
            self.outgoing.send(chunk)
        self._set_timer()

    def _arrived(self, data: bytes) -> None:
        if self._closed or self._endpoint is None or self._inbox is None:
            return
        now = self._loop.time()
        try:
            frames = self._endpoint.receive(now, data)
        except PeerError as error:
            self.close(PeerFault(f"the peer broke the protocol: {error}"))
            return
        if frames:
            self._inbox.frames_received(frames, now=now)
        if self._endpoint.ended:
            self.close()
        self.wake()

    def _peer_closed(self) -> None:
        if self._closed or self._endpoint is None:
            return
        try:
            self._endpoint.end()
        except PeerError as error:
            self.close(LinkError(str(error)))
        else:
            self.close()

    def _set_timer(self) -> None:
        due = None
        if not self._closed and self._endpoint is not None and not self.outgoing.full:
            due = self._endpoint.next_time(self._loop.time())
        if self._timer is not None:
            if self._timer.when() == due:
                return
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._come_back)

    def _come_back(self) -> None:
        self._timer = None
        self._pull()

    def _end(self, error: LinkError | None) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._inbox is not None:
            self._inbox.link_closed(error)


def memory_links(model: LinkModel) -> tuple[MemoryLink, MemoryLink]:
    """The near and the far end. Call it from within the loop they shall run in."""
    up = Path(model, down=False, seed=2 * model.seed)
    down = Path(model, down=True, seed=2 * model.seed + 1)
    return MemoryLink(up, down), MemoryLink(down, up)
