"""How long TCP takes for a transfer that may end before its second loss: slow start included. Pure.

Cardwell, Savage, Anderson: "Modeling TCP latency", INFOCOM 2000, whose equations are numbered here.
Without the handshake, which is over when bytes are counted:

    E[d_ss] = (1-(1-p)^d)(1-p)/p + 1                segments of the first slow start       (5)
    E[W_ss] = E[d_ss](g-1)/g + w1/g                 its last window; g = 1 + 1/b           (11)
    E[T_ss] = RTT log_g(E[d_ss](g-1)/w1 + 1)        its time while no window limits        (15)
    E[T_loss] = l(Q E[Z] + (1-Q) RTT)               the first loss; l = 1 - (1-p)^d        (16-20)
    E[Z]    = f(p) T0/(1-p)                         a run of timeouts                      (19)
    E[T_ca] = (d - E[d_ss]) / R(p)                  the rest at the steady rate            (21-24)

and E[T_delack], the wait for the acknowledgement of a lone first segment (25). Equation 15 where
the window does limit, W_ss > Wmax: RTT(log_g(Wmax/w1) + 1 + (d_ss - (g Wmax - w1)/(g-1))/Wmax).
R is the model of padhye.py. Where the first loss was seen, so is about the window that it left, and
few losses do not bring that to the steady state: T_ca then is the time of a window that begins at
half of W_ss, grows by a segment in b rounds, and is halved at even distances. Knows no connection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from monitor.models.padhye import TcpPath, TimeoutsSeen, doubled, timeout_share

INITIAL_WINDOW: Final = 10.0
"""Segments: w1 (RFC 6928)."""
_EPOCHS: Final = 100
"""Loss events after which a window is as it stays."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer over a path, from its first segment on."""

    path: TcpPath
    initial_window: float = INITIAL_WINDOW
    """Segments."""
    delayed_ack: float = 0.0
    """Seconds that a lone first segment waits for its acknowledgement: E[T_delack]."""

    def __post_init__(self) -> None:
        """Raises ValueError for what no transfer has."""
        if not (1 <= self.initial_window < math.inf and 0 <= self.delayed_ack < math.inf):
            raise ValueError(f"no transfer has {self.initial_window=}, {self.delayed_ack=}")

    def latency(
        self,
        segments: float,
        loss: float,
        *,
        first_loss: float | None = None,
        seen: TimeoutsSeen | None = None,
    ) -> float:
        """Seconds for so many segments at so many loss events for each (`loss`).

        `first_loss`: segments sent when the first loss was seen, where that is known: it stands for
        E[d_ss]. `seen`: timeouts as they were counted. Raises ValueError.
        """
        if not (0 < segments < math.inf and 0 <= loss <= 1):
            raise ValueError(f"no transfer has {segments=}, {loss=}")
        if first_loss is not None and not 0 < first_loss <= segments:
            raise ValueError(f"{first_loss=} is not one of {segments} segments")
        starting = expected_start(segments, loss) if first_loss is None else first_loss
        happens = expected_loss(segments, loss) if first_loss is None else 1.0
        took = self.slow_start(starting) + happens * self._first_loss(loss, starting, seen)
        rest = segments - starting
        if rest > 0 and loss:
            if first_loss is None:
                took += rest / self.path.observed(loss, seen)
            else:
                took += self._after(rest, loss * segments, self.last_window(starting), loss, seen)
        return took + (self.delayed_ack if self.initial_window == 1 else 0.0)

    def slow_start(self, segments: float) -> float:
        """Seconds until so many segments are through, all in slow start (15)."""
        growth, first = self.growth, min(self.initial_window, self.path.window)
        most = self.path.window
        if self.last_window(segments) <= most:
            return self.path.rtt * math.log(segments * (growth - 1) / first + 1, growth)
        rounds = math.log(most / first, growth) + 1
        rest = segments - (growth * most - first) / (growth - 1)
        return self.path.rtt * max(1.0, rounds + rest / most)

    def _after(
        self, rest: float, events: float, window: float, loss: float, seen: TimeoutsSeen | None
    ) -> float:
        """Seconds of what follows the first of so many loss events, in a window of segments."""
        path, epochs = self.path, min(_EPOCHS, max(1, round(events)))
        rounds, each = 0.0, rest / max(1.0, events)
        window = min(window, path.window)
        for _ in range(epochs):
            window = max(1.0, window / 2)
            took, window = self._epoch(each, window)
            rounds += took
        left = max(0.0, rest - epochs * each)
        steady = left / path.observed(loss, seen) if left else 0.0
        return path.rtt * rounds + (epochs - 1) * path.waiting(loss, seen) + steady

    def _epoch(self, segments: float, window: float) -> tuple[float, float]:
        """Round trips from one loss event to the next, and the window then.

        The first round repairs what was lost and does not grow.
        """
        flat = min(segments, window)
        rounds, segments = flat / window, segments - flat
        acks, most = self.path.acks, self.path.window
        growing = acks * (math.sqrt(window**2 + 2 * segments / acks) - window)
        if window + growing / acks <= most:
            return rounds + growing, window + growing / acks
        until = acks * (most - window)
        return rounds + until + (segments - until * (window + most) / 2) / most, most

    def last_window(self, segments: float) -> float:
        """Segments under way at the end of such a slow start, no window limiting (11)."""
        first = min(self.initial_window, self.path.window)
        return segments * (self.growth - 1) / self.growth + first / self.growth

    @property
    def growth(self) -> float:
        """Times that a round trip makes the window larger in slow start: 1 + 1/b."""
        return 1 + 1 / self.path.acks

    def _first_loss(self, loss: float, starting: float, seen: TimeoutsSeen | None) -> float:
        """Seconds that it takes where it happens (17-20)."""
        if not loss:
            return 0.0
        rtt = self.path.rtt
        if seen is not None:
            return seen.share * seen.seconds + (1 - seen.share) * rtt
        often = timeout_share(min(self.last_window(starting), self.path.window), loss)
        run = doubled(loss) * self.path.timeout / max(1 - loss, 1e-9)
        return often * run + (1 - often) * rtt


def expected_loss(segments: float, loss: float) -> float:
    """The chance that a transfer of so many segments meets a loss (16)."""
    return -math.expm1(segments * math.log1p(-loss)) if loss < 1 else 1.0


def expected_start(segments: float, loss: float) -> float:
    """Segments sent in the first slow start, its first loss included (5)."""
    if not loss:
        return segments
    if loss >= 1:
        return min(1.0, segments)
    return min(segments, expected_loss(segments, loss) * (1 - loss) / loss + 1)
