"""How much bandwidth there is, and how fast to send: ATP's figure 3, and what any estimator does.

Each second the figure takes the bytes that left in it (`used`) and the packets that wait
(`backlog`) and gives `curbw`, the estimate, and `available`, what the application is told. Some
things are not in the figure, since as it is printed the estimate could only fall (tests show it):

- Its third branch leaves `curbw` as it was. The text says that "the estimator will automatically
  detect increases": there `curbw = used`. `as_printed` leaves it out.
- Staleness counts "the seconds since the last point at which the estimate changed"; as printed
  only while use falls. Use that stays the same counts too, but where "the network is
  underutilised": nothing was refused in that second. Without it, who sends at a steady rate never
  learns that more would pass (table 1's application); were what is refused no sign of
  saturation, too much would be admitted over a starved link (figure 4a).
- The sender paces itself to `available`. Who sends no more than curbw never uses more than curbw.
  Behind a backlog `available` is what lets it drain: used - backlog * MTU.
- PROBE_SIZE is "half the minimum of the send queue capacity and the current estimate": of
  `available`, which the text calls the estimate. With curbw the 256 KB messages of figure 4b,
  which need three times the bandwidth in use, would not be admitted; so they are, with the
  figure's spikes.
- `staleness / polldelay` is C's division of integers; a polldelay of 0 is taken as 1.

A bandwidth of zero is polled by packet pairs, once a second while nothing else waits; until
something is used again, the newest answer is what is available.

Pure: `now` is an argument. It must not know messages, only bytes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, Protocol

from transport.nai.carriers.interface import MTU

FILTER_WINDOW: Final = 5
"""Seconds over which `used` is averaged."""
MAXIMUM_BACKLOG: Final = 10
"""Packets: "high enough to avoid transient backlogs"."""
INITIAL: Final = 128_000.0
"""Bytes/second before anything is known. The paper gives none; from here a queue of 50 packets
takes 11 s to 512 KB/s (the paper: "about ten seconds")."""
_EVERY: Final = 1.0
"""Seconds."""
_BURST: Final = 2 * MTU
"""Bytes that may go at once after a pause."""
_ANSWERED: Final = 3.0
"""Seconds for which the answer to a packet pair holds."""


@dataclass(frozen=True, slots=True)
class NaiEstimate:
    """What the link carries, bytes/second."""

    curbw: float
    """As measured."""
    available: float
    """As the application is told; higher while the estimator probes, lower behind a backlog."""
    at: float
    """When, by the sender's clock."""


class Estimator(Protocol):
    """Watches what leaves, says when the next byte may go."""

    @property
    def estimate(self) -> NaiEstimate: ...

    @property
    def follows_use(self) -> bool:
        """It knows the link only as far as that is used, so it must not keep messages out."""

    def observe(self, now: float, *, departed: int, backlog: int, latency: float) -> bool:
        """Bytes that left in all and that wait (transport/nai/carriers/); whether the estimate is a
        new one."""

    def sent(self, now: float, size: int) -> None:
        """So many bytes went to the carrier."""

    def ready_at(self, now: float) -> float:
        """When the next segment may go; infinity: not before the next look."""

    def next_time(self, now: float) -> float:
        """When to look next."""

    def refused(self, now: float) -> None:
        """A message was refused, or given up, for what the estimate is."""

    def wants_poll(self, now: float) -> bool:
        """A packet pair should go now."""

    @property
    def poll_size(self) -> int:
        """Bytes of each packet of it, at most."""

    def poll_sent(self, now: float, size: int) -> None:
        """It went: `size` bytes, of which `observe` will hear."""

    def polled(self, now: float, rate: float) -> None:
        """Its answer: bytes/second."""


class Figure3:
    """The figure's procedure with its names. Call it once a second."""

    def __init__(
        self,
        *,
        capacity: int,
        curbw: float,
        polldelay: int = 1,
        as_printed: bool = False,
    ) -> None:
        """`capacity`: bytes of the send queue; `curbw` to begin with, bytes/second."""
        self.capacity = capacity
        self.curbw = self.available = curbw
        self.staleness = 0
        self.polldelay = polldelay
        self._as_printed = as_printed
        self._window: deque[float] = deque(maxlen=FILTER_WINDOW)

    @property
    def probe_size(self) -> float:
        """Half of the send queue's capacity, or of the estimate that the application has if
        less."""
        return min(self.capacity, self.available) / 2

    def bandwidth_estimate(
        self, used: float, backlog: int, *, saturated: bool = False
    ) -> tuple[float, float]:
        """(curbw, available) from bytes used in the last second and packets that wait; `saturated`:
        the application wanted to send more in it than could be."""
        used = max(used, self._filter(used))
        if backlog > MAXIMUM_BACKLOG:
            self.curbw, self.staleness = used, 0
            self.available = max(0.0, used - backlog * MTU)
        elif used < self.curbw or (self._unchanged(used) and not saturated):
            probe = self.probe_size
            self.staleness += 1
            probe *= self.staleness // max(1, self.polldelay)
            self.curbw = used
            self.available = self.curbw + probe
        else:
            self.staleness = 0
            if not self._as_printed:
                self.curbw = used
            self.available = self.curbw + self.probe_size
        return self.curbw, self.available

    def _unchanged(self, used: float) -> bool:
        """As much as before, to a packet; a link that is not used says nothing."""
        return not self._as_printed and MTU <= used < self.curbw + MTU

    def _filter(self, used: float) -> float:
        self._window.append(used)
        return sum(self._window) / len(self._window)


class PaperEstimator:
    """Figure 3 once a second, sends paced to its outcome. Implements Estimator."""

    follows_use: Final = True

    def __init__(
        self,
        *,
        now: float,
        capacity: int,
        initial: float = INITIAL,
        polldelay: int = 1,
        as_printed: bool = False,
    ) -> None:
        """`capacity` of the send queue, bytes; `initial` estimate, bytes/second."""
        self._figure = Figure3(
            capacity=capacity,
            curbw=initial,
            polldelay=polldelay,
            as_printed=as_printed,
        )
        self._estimate = NaiEstimate(initial, initial, now)
        self._next = now + _EVERY
        self._departed = 0
        """At the last second's end."""
        self._waiting = 0
        self._polls = 0
        """Bytes of packet pairs since then."""
        self._saturated = False
        """Something was refused since then."""
        self._poll_due = False
        self._answer = (float("-inf"), 0.0)
        """When a packet pair was answered last, bytes/second."""
        self._credit, self._credit_at = float(_BURST), now
        """Bytes that may go; below 0 while the last segment is being paid for."""

    @property
    def estimate(self) -> NaiEstimate:
        return self._estimate

    def observe(self, now: float, *, departed: int, backlog: int, latency: float) -> bool:
        self._waiting = backlog
        if now < self._next:
            return False
        seconds = 1 + (now - self._next) / _EVERY
        self._next = max(self._next + _EVERY, now + _EVERY / 2)
        used = max(0.0, (departed - self._departed - self._polls) / seconds)
        self._departed, self._polls = departed, 0
        standing = max(0.0, backlog - self._figure.curbw * latency)
        curbw, available = self._figure.bandwidth_estimate(
            used, int(standing / MTU), saturated=self._saturated
        )
        self._saturated = False
        if curbw < MTU:
            available = self._answer[1] if now - self._answer[0] < _ANSWERED else available
            self._poll_due = backlog == 0
        self._set(now, curbw, available)
        return True

    def sent(self, now: float, size: int) -> None:
        self._earn(now)
        self._credit -= size

    def ready_at(self, now: float) -> float:
        self._earn(now)
        if self._credit >= 0:
            return now
        rate = self._estimate.available
        return now - self._credit / rate if rate > 0 else float("inf")

    def next_time(self, now: float) -> float:
        return self._next

    def refused(self, now: float) -> None:
        self._saturated = True

    def wants_poll(self, now: float) -> bool:
        return self._poll_due

    @property
    def poll_size(self) -> int:
        return MTU

    def poll_sent(self, now: float, size: int) -> None:
        self._poll_due = False
        self._polls += size

    def polled(self, now: float, rate: float) -> None:
        self._answer = (now, rate)
        if self._figure.curbw < MTU:
            self._set(now, self._figure.curbw, rate)

    def _set(self, now: float, curbw: float, available: float) -> None:
        self._earn(now)
        self._estimate = NaiEstimate(curbw, available, now)

    def _earn(self, now: float) -> None:
        earned = (now - self._credit_at) * self._estimate.available
        self._credit, self._credit_at = min(_BURST, self._credit + earned), now
