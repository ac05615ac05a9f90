"""Two ends of RCP over a path in virtual time, every segment as the bytes of the wire."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from itertools import count

from transport.rcp.ends import ReceivingEnd, SendingEnd
from transport.rcp.receiver import RcpReceiver
from transport.rcp.segments import DataSegment, Req, Segment, decode, encode
from transport.rcp.send_buffer import SendBuffer
from transport.rcp.settings import RcpSettings

Fate = Callable[[Segment, float], bool]
"""Whether a segment that leaves then is lost."""


class RcpPath:
    """A path with a delay each way and, towards the receiver, a rate; fates are the test's."""

    def __init__(
        self,
        *,
        delay: float = 0.03,
        rate: float = 250_000.0,
        down: Fate = lambda *_: False,
        up: Fate = lambda *_: False,
        settings: RcpSettings | None = None,
        receiver_opens: bool = True,
        pulls: bool = False,
        elns: bool = False,
        reads: bool = True,
    ) -> None:
        self.now = 0.0
        self.receiver = RcpReceiver(settings, pulls=pulls)
        self.content = SendBuffer(1 << 30)
        size = (settings or RcpSettings()).size
        self.near = ReceivingEnd(self.receiver, opens=receiver_opens)
        self.far = SendingEnd(self.content, size=size, opens=not receiver_opens)
        self.got = bytearray()
        self.requests: list[Req] = []
        self.data: list[DataSegment] = []
        """All that left, lost ones too."""
        self.asleep = False
        """What would arrive at the receiver is lost."""
        self.up_bytes = self.down_bytes = 0
        self._delay, self._rate = delay, rate
        self._down, self._up = down, up
        self._elns, self._reads = elns, reads
        self._free = 0.0
        self._events: list[tuple[float, int, str, bytes]] = []
        self._number = count()

    def write(self, data: bytes, *, end: bool = False) -> None:
        self.content.write(data)
        if end:
            self.content.end()
        self.far.wrote()
        self.turn()

    def turn(self) -> None:
        """Lets both ends say what they have to say."""
        for segment in self.near.to_send(self.now):
            data = encode(segment)
            self.up_bytes += len(data)
            if isinstance(segment, Req):
                self.requests.append(segment)
            if not self._up(segment, self.now):
                self._put(self.now + self._delay, "up", data)
        for segment in self.far.to_send(self.now):
            data = encode(segment)
            self.down_bytes += len(data)
            if isinstance(segment, DataSegment):
                self.data.append(segment)
            self._free = max(self._free, self.now) + len(data) / self._rate
            lost = self._down(segment, self.now)
            self._put(self._free + self._delay, "lost" if lost else "down", data)

    def run(self, until: float, *, done: Callable[[], bool] = lambda: False) -> float:
        """Goes on until then, or until it is done; the time."""
        self.turn()
        while not done():
            timers = [
                (one, end)
                for end in (self.near, self.far)
                if (one := end.next_timer()) is not None
            ]  # fmt: skip
            due = min((one for one, _ in timers), default=float("inf"))
            at = min(self._events[0][0] if self._events else float("inf"), due)
            if at > until:
                self.now = until
                break
            assert at >= self.now - 1e-9
            self.now = max(self.now, at)
            if self._events and self._events[0][0] <= self.now:
                self._arrive(*heapq.heappop(self._events)[2:])
            else:
                for one, end in timers:
                    if one <= self.now:
                        end.on_timer(self.now)
            if self._reads:
                self.got += self.receiver.read()
            self.turn()
        return self.now

    def _put(self, at: float, what: str, data: bytes) -> None:
        heapq.heappush(self._events, (at, next(self._number), what, data))

    def _arrive(self, what: str, data: bytes) -> None:
        segment = decode(data)
        if what == "up":
            self.far.received(segment, self.now)
        elif self.asleep:
            return
        elif what == "down":
            self.near.received(segment, self.now)
        elif self._elns and isinstance(segment, DataSegment):
            self.receiver.corrupted(segment.begin, segment.echo, self.now)


def losing(share: float, seed: int) -> Fate:
    """Loses that share of segments."""
    chance = random.Random(seed)
    return lambda *_: chance.random() < share


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)
