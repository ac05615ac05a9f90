"""Throughput of a long TCP connection: losses, timeouts, and the receiver's window. Pure.

Padhye, Firoiu, Towsley, Kurose: "Modeling TCP throughput", SIGCOMM 1998; its extended version
"Modeling TCP Reno performance", IEEE/ACM ToN 8(2), 2000, whose equations are numbered here.

    E[W]  = (2+b)/(3b) + sqrt(8(1-p)/(3bp) + ((2+b)/(3b))^2)                           (13)
    Q(w)  = min(1, (1-(1-p)^3)(1+(1-p)^3(1-(1-p)^(w-3))) / (1-(1-p)^w))                (24)
    f(p)  = 1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6                                 (29)

    B(p) = ((1-p)/p + E[W] + Q/(1-p)) / (RTT(b/2 E[W] + 1) + Q T0 f(p)/(1-p))          (32)
           where E[W] < Wm, else
           ((1-p)/p + Wm + Q/(1-p)) / (RTT(b/8 Wm + (1-p)/(p Wm) + 2) + Q T0 f(p)/(1-p))

p is the chance that a segment begins a loss event. B counts segments sent; what arrives is fewer,
since a loss takes the rest of its round along: E[W]/2 in place of E[W], Q in place of Q/(1-p)
(section V). `TcpPath.observed` asks the same equation with what a connection has counted. Knows no
connection; rates are segments/second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_LEAST_KEPT: Final = 1e-9
"""Of the segments; where fewer arrive, none counts as arriving."""
_HALVINGS: Final = 60
"""Steps of a search by halves: below what a float can tell."""


@dataclass(frozen=True, slots=True)
class TimeoutsSeen:
    """How often loss events ended in a timeout, and how long one took."""

    share: float
    """Of loss events."""
    seconds: float
    """Of one timeout with all that it was doubled; the mean."""

    def __post_init__(self) -> None:
        if not (0 <= self.share <= 1 and 0 <= self.seconds < math.inf):
            raise ValueError(f"there can't be timeouts like {self.share=}, {self.seconds=}")


@dataclass(frozen=True, slots=True)
class TcpPath:
    """A path and the way of TCP there: all of the model's parameters but p."""

    rtt: float
    """Seconds."""
    timeout: float = 1.0
    """Seconds: T0, before it is doubled."""
    acks: float = 1.0
    """b: rounds in which the window grows by one segment."""
    window: float = math.inf
    """Segments: Wm, under way at most."""

    def __post_init__(self) -> None:
        """Raises ValueError for what no path has."""
        if not (0 < self.rtt < math.inf and 0 <= self.timeout < math.inf):
            raise ValueError(f"no path has {self.rtt=}, {self.timeout=}")
        if not (1 <= self.acks < math.inf and self.window >= 1):
            raise ValueError(f"no connection has {self.acks=}, {self.window=}")

    def send_rate(self, loss: float) -> float:
        """Segments/second sent: equation 32."""
        return self._rate(loss, arriving=False)

    def throughput(self, loss: float) -> float:
        """Segments/second that arrive: section V."""
        return self._rate(loss, arriving=True)

    def observed(self, counted: float, seen: TimeoutsSeen | None = None) -> float:
        """Segments/second sent, from what a connection has counted.

        `counted`: loss events for each segment sent. That is less than p, since a window of
        segments still goes out between a loss and its discovery; p follows from both. With `seen`
        timeouts are those that happened: Q and T0 f(p)/(1-p) are right for a TCP that needs three
        duplicate acknowledgements, while today's finds most losses without a timer (RFC 8985).
        """
        _check(counted)
        if not counted:
            return self.window / self.rtt
        loss = self.chance(counted)
        took = self.rtt * self._rounds(loss) + self.waiting(loss, seen)
        return 1 / counted / took

    def chance(self, counted: float) -> float:
        """p where a connection counts so many loss events for each segment: E[Y] = 1/counted.

        Equation 5: E[Y] = (1-p)/p + E[W] segments from one loss event to the next.
        """
        low, high = counted, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            between = (1 - middle) / middle + min(mean_window(middle, self.acks), self.window)
            low, high = (middle, high) if between > 1 / counted else (low, middle)
        return low

    def _rate(self, loss: float, *, arriving: bool) -> float:
        _check(loss)
        if not loss:
            return self.window / self.rtt
        if 1 - loss < _LEAST_KEPT:
            return 0.0
        window = min(mean_window(loss, self.acks), self.window)
        often = timeout_share(window, loss)
        sent = (1 - loss) / loss
        sent += window / 2 + often if arriving else window + often / (1 - loss)
        return sent / (self.rtt * self._rounds(loss) + self.waiting(loss, None))

    def _rounds(self, loss: float) -> float:
        """Round trips from one loss event to the next."""
        free = mean_window(loss, self.acks)
        if free < self.window:
            return self.acks / 2 * free + 1
        flat = (1 - loss) / (loss * self.window)
        return self.acks / 8 * self.window + flat + 2

    def waiting(self, loss: float, seen: TimeoutsSeen | None) -> float:
        """Seconds of timeouts for each loss event."""
        if seen is not None:
            return seen.share * seen.seconds
        often = timeout_share(min(mean_window(loss, self.acks), self.window), loss)
        return often * self.timeout * doubled(loss) / max(1 - loss, _LEAST_KEPT)


def mean_window(loss: float, acks: float) -> float:
    """Segments: E[W] at the end of a round, where no window limits (13)."""
    level = (2 + acks) / (3 * acks)
    return level + math.sqrt(8 * (1 - loss) / (3 * acks * loss) + level**2)


def timeout_share(window: float, loss: float) -> float:
    """Share of loss events in a window of so many segments that end in a timeout (24)."""
    if window <= 3 or loss >= 1:
        return 1.0
    kept = 1 - loss
    all_lost = -math.expm1(window * math.log1p(-loss))
    three = -math.expm1(3 * math.log1p(-loss))
    rest = -math.expm1((window - 3) * math.log1p(-loss))
    return min(1.0, three * (1 + kept**3 * rest) / all_lost)


def doubled(loss: float) -> float:
    """f(p): how many times T0 a run of timeouts takes, as each doubles the next one (29)."""
    return 1 + sum(loss * (2 * loss) ** power for power in range(6))


def _check(loss: float) -> None:
    if not 0 <= loss <= 1:
        raise ValueError(f"a loss rate is a share from 0 to 1, not {loss}")
