"""Runs TCP that measures while it sends: the product's Control unit below the model of a sender.

ImTCP, IV: what TCP would send is stored, and leaves as the unit says; each acknowledgement is one
packet's echo, so that the receiver acknowledges each (IV-D.1 has what to do where it does not).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from itertools import chain
from math import inf

from emulation.dumbbell.events import Alarm, Events
from emulation.dumbbell.flows import PACKET, Route, SackFlow
from emulation.tcp.sack_sender import SackAck, SackSegment, SackSender
from monitor.inline.control_unit import ControlUnit
from monitor.inline.measurement import InlineMeasurement
from monitor.inline.modes import (
    EAGER,
    SHARE,
    BackgroundWindow,
    full_speed_increase,
    full_speed_reduced,
)
from monitor.inline.pause import AdaptivePause


class Transmission(Enum):
    """What the results are used for (ImTCP, V)."""

    NORMAL = "normal"
    """Nothing: its window is Reno's."""
    BACKGROUND = "background"
    FULL_SPEED = "full-speed"


class ImTcpSender(SackSender):
    """Reno, which may be told what is available."""

    def __init__(
        self, mode: Transmission, *, share: float = SHARE, eagerness: float = EAGER
    ) -> None:
        """`share`: g; `eagerness`: h."""
        super().__init__()
        self._mode, self._eagerness = mode, eagerness
        self._behind: BackgroundWindow | None = None
        if mode is Transmission.BACKGROUND:
            self._behind = BackgroundWindow(packet=PACKET, share=share)
        self._available = 0.0
        self._least = inf
        """Seconds of the shortest round trip."""

    def acknowledged(self, ack: SackAck, now: float) -> None:
        if ack.upto > self.first:
            self._least = min(self._least, now - ack.echo)
        super().acknowledged(ack, now)

    def reduced(self) -> float:
        if self._behind is not None:
            self._behind.lost()
        if self._mode is not Transmission.FULL_SPEED or not self._available or self._least == inf:
            return super().reduced()
        return full_speed_reduced(self.window, self._available, self._least, packet=PACKET)

    def measured(self, available: float) -> None:
        """A result, bytes/second."""
        self._available = available
        if self._behind is not None:
            self._behind.measured(available)

    def on_path(self, packets: int, seconds: float) -> None:
        """So many packets were acknowledged; the newest one was on its way, there and back, for
        so long."""
        if self._behind is not None:
            self._behind.acknowledged(packets, seconds)
            self.ceiling = self._behind.packets
            if self.ceiling < inf:
                self.threshold = max(self.threshold, self.ceiling)

    def increase(self) -> float:
        if self._mode is not Transmission.FULL_SPEED or not self._available:
            return super().increase()
        return full_speed_increase(
            *(self.window, self._available, self.round_trip[0]),
            packet=PACKET,
            eagerness=self._eagerness,
        )


class ImTcpFlow(SackFlow):
    """One such connection, already open, with an endless source."""

    def __init__(
        self,
        events: Events,
        down: Route,
        up: Route,
        *,
        mode: Transmission = Transmission.NORMAL,
        pause: Callable[[], float] = lambda: 0.0,
        patience: int | None = None,
        share: float = SHARE,
        eagerness: float = EAGER,
        heard: Callable[[float, float], object] = lambda now, available: None,
        overhead: Callable[[], float] | None = None,
    ) -> None:
        """`pause`: round trips between measurements; `patience`: InlineMeasurement's; `heard`: told
        of each result, seconds and bytes/second; `overhead`: as a SackFlow has it."""
        self.inline = ImTcpSender(mode, share=share, eagerness=eagerness)
        super().__init__(events, down, up, sender=self.inline, every=1, overhead=overhead)
        self.unit = ControlUnit(InlineMeasurement(packet=PACKET, patience=patience), pause=pause)
        self._heard = heard
        self._stored: deque[SackSegment] = deque()
        self._under_way: dict[int, tuple[float, float]] = {}
        """Of each packet its timestamp, and when it left the buffer."""
        self._release_alarm = Alarm(events, self._release)
        self._pause = pause
        self.inline.on_lost = self._lost

    def _lost(self, number: int) -> None:
        self.unit.lost(number, self._events.now)
        if isinstance(self._pause, AdaptivePause):
            self._pause.lost()

    def facts(self) -> dict[str, int]:
        return {
            **super().facts(),
            "streams": self.unit.streams,
            "failures": self.unit.failures,
        }

    def _pass_on(self, segments: Sequence[SackSegment]) -> None:
        self._stored += segments
        self._release()

    def _release(self) -> None:
        """Lets leave what may."""
        unit, now, stored = self.unit, self._events.now, self._stored
        window = int(min(self.sender.window, self.sender.ceiling))
        while stored and (count := unit.may_leave(len(stored), window=window, now=now)):
            for _ in range(count):
                segment = stored.popleft()
                self._leave(segment)
                self._under_way[segment.number] = segment.sent_at, now
                unit.left(segment.number, now)
        self._release_alarm.set(unit.wake if stored else None)

    def _time_out(self) -> None:
        self.unit.forget()
        self._stored.clear()  # it is to be sent again anyway
        super()._time_out()

    def _at_sender(self, ack: SackAck) -> None:
        now, first = self._events.now, self.sender.first
        self._measure_path(ack)
        self.sender.acknowledged(ack, now)
        self.unit.round_trip(*self.sender.round_trip)
        came = [range(first, ack.upto), *(range(*block) for block in ack.blocks)]
        for number in chain.from_iterable(came):
            result = self.unit.arrived(number, now, now)
            if result is not None:
                self.inline.measured(result.available)
                self._heard(now, result.available)
        self._send()

    def _measure_path(self, ack: SackAck) -> None:
        """Tells the sender how long the newest packet was under way, if this answers it."""
        first = self.sender.first
        left = [self._under_way.pop(number, None) for number in range(first, ack.upto)]
        if left and left[-1] is not None and left[-1][0] == ack.echo:
            self.inline.on_path(len(left), self._events.now - left[-1][1])
