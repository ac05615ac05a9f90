"""A receiver with several paths of its own to whoever has the stream (the R2CP paper, figure 7).

Each path has a bottleneck each way and a sender's end; the receiver's end joins them. What an
application that stripes over connections of its own would get is here as well, to compare with.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

from emulation.dumbbell.events import Alarm, Events
from emulation.dumbbell.flows import EndlessContent, RcpFlow, Route
from emulation.dumbbell.hops import Hop
from transport.r2cp.ends import R2cpReceivingEnd
from transport.r2cp.engine import R2cpEngine
from transport.rcp.ends import SendingEnd
from transport.rcp.segments import Segment, length
from transport.rcp.send_buffer import Content
from transport.rcp.settings import RcpSettings

FULL: Final = 0.75
"""Of the buffer: the paper counts arrivals that find it so full (figure 9c)."""


class PathModel(NamedTuple):
    """One path. Its way back has the same rate and delay."""

    rate: float
    """Bytes/second of packets."""
    round_trip: float
    """Seconds, without queues."""
    loss: float = 0.0
    queue: int = 0
    """Packets; 0: what the path holds, ten at least."""

    def hop(self, events: Events, chance: random.Random, *, packet: int) -> Hop:
        """One direction of it."""
        queue = self.queue or max(10, int(self.rate * self.round_trip / packet))
        return Hop(
            events,
            rate=self.rate,
            delay=self.round_trip / 2,
            queue=queue,
            chance=random.Random(chance.random()),
            loss=self.loss,
        )


class Wire:
    """One path's two directions, which can be cut."""

    def __init__(
        self, events: Events, model: PathModel, chance: random.Random, packet: int
    ) -> None:
        self.down = model.hop(events, chance, packet=packet)
        self.up = model.hop(events, chance, packet=packet)
        self.cut = False
        """Nothing that arrives is heard of any more, either way."""


class R2cpFlow:
    """The product's R2CP over several paths."""

    def __init__(
        self,
        events: Events,
        models: Sequence[PathModel],
        *,
        settings: RcpSettings | None = None,
        content: Content | None = None,
        ranked: bool = True,
        seed: int = 1,
    ) -> None:
        """`content`: what all senders have; None: an endless stream."""
        self._settings = settings or RcpSettings()
        self._events, self._content = events, content
        self.engine = R2cpEngine(self._settings, ranked=ranked)
        self.end = R2cpReceivingEnd(self.engine, self._settings)
        self.wires: dict[int, Wire] = {}
        self.got = bytearray()
        """What was read, unless the stream is endless."""
        self.arrivals = self.full = 0
        """Segments of data; those that found the buffer `FULL`."""
        self.longest_gap = 0.0
        """Seconds without anything new to read, since the first byte."""
        self._read_at: float | None = None
        self.request_bytes = 0
        self._senders: dict[int, SendingEnd] = {}
        self._alarm = Alarm(events, self._rang)
        self._chance = random.Random(seed)
        for model in models:
            self.open(model)

    @property
    def delivered(self) -> int:
        """Bytes in order."""
        return self.engine.next

    def open(self, model: PathModel) -> int:
        """Another path: its pipe's number."""
        number = self.end.open()
        self.wires[number] = Wire(self._events, model, self._chance, self._settings.packet)
        content = self._content or EndlessContent()
        self._senders[number] = SendingEnd(content, size=self._settings.size)
        return number

    def start(self, argument: object = None) -> None:
        """Opens what has not been opened yet."""
        self._say()

    def cut(self, number: int) -> None:
        """The path swallows all from now on."""
        self.wires[number].cut = True

    def mend(self, number: int) -> None:
        """The path swallows nothing any more."""
        self.wires[number].cut = False

    def close(self, number: int) -> None:
        """The interface is gone, and its owner says so."""
        self.cut(number)
        self.end.close(number)
        self._say()

    def _say(self) -> None:
        for number, segment in self.end.to_send(self._events.now):
            size = length(segment) + self._settings.headers
            self.request_bytes += size
            self.wires[number].up.send(size, self._at_sender, (number, segment))
        self._alarm.set(self.end.next_timer())

    def _rang(self) -> None:
        self.end.on_timer(self._events.now)
        self._say()

    def wrote(self) -> None:
        """The content has more than before, or its end: senders tell whoever waits for it."""
        for number, sender in self._senders.items():
            sender.wrote()
            self._answer(number)

    def _at_sender(self, what: tuple[int, Segment]) -> None:
        number, segment = what
        if not self.wires[number].cut:
            self._senders[number].received(segment, self._events.now)
            self._answer(number)

    def _answer(self, number: int) -> None:
        for answer in self._senders[number].to_send(self._events.now):
            size = length(answer) + self._settings.headers
            self.wires[number].down.send(size, self._at_receiver, (number, answer))

    def _at_receiver(self, what: tuple[int, Segment]) -> None:
        number, segment = what
        if self.wires[number].cut:
            return
        self.arrivals += 1
        self.full += self.engine.filled >= FULL
        self.end.received(number, segment, self._events.now)
        read = self.engine.read()
        if read:
            now = self._events.now
            if self._read_at is not None:
                self.longest_gap = max(self.longest_gap, now - self._read_at)
            self._read_at = now
            if self._content is not None:
                self.got += read
        self._say()


class StripedFlows:
    """An application that takes turns between connections of its own, and reads in that order."""

    def __init__(
        self,
        events: Events,
        models: Sequence[PathModel],
        *,
        settings: RcpSettings | None = None,
        seed: int = 1,
    ) -> None:
        """The buffer is shared evenly among the connections."""
        settings = settings or RcpSettings()
        chance = random.Random(seed)
        each = RcpSettings(size=settings.size, buffer=settings.buffer // len(models))
        self._size = settings.size
        self._turn = 0
        self._carry = [0] * len(models)
        self._delivered = 0
        self.flows: list[RcpFlow] = []
        for model in models:
            wire = Wire(events, model, chance, settings.packet)
            down, up = Route((wire.down,)), Route((wire.up,))
            self.flows.append(RcpFlow(events, down, up, settings=each, arrived=self._arrived))

    @property
    def delivered(self) -> int:
        """Bytes that the application has in order."""
        return self._delivered

    def start(self, argument: object = None) -> None:
        for flow in self.flows:
            flow.start()

    def _arrived(self) -> None:
        """Reads segment by segment in turn, as far as it goes."""
        read = set()
        while True:
            if self._carry[self._turn] < self._size:
                self._carry[self._turn] += len(self.flows[self._turn].receiver.read())
                read.add(self._turn)
            if self._carry[self._turn] < self._size:
                break
            self._carry[self._turn] -= self._size
            self._delivered += self._size
            self._turn = (self._turn + 1) % len(self.flows)
        for number in read:
            self.flows[number].go_on()
