"""Filters the delays of reports: the path's least delay, the queue on top of it, the jitter.

Two delays come with each report. The *loop* delay runs from sending a byte to the report that
covers it; the *one-way* delay runs from sending it to the receiver's clock at its arrival, off by
an unknown constant. The loop says how much must be under way; the one-way delay above its minimum
is the queue ahead of our bytes, whatever the way back does.

Pure. Knows neither bytes nor rates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from monitor.pauses import PAUSE, uncounted

MEMORY: Final = 30.0
"""Seconds a minimum holds: three drains, on slow links one (transport/gate/controller.py), and
clocks drift by about 1 ms."""
_DRIFT: Final = 5e-5
"""Of a pause, by which clocks may have drifted apart."""
_SHORTEST_WINDOW: Final = 0.010
"""Seconds: two report intervals; on a LAN the least delay is shorter than that."""
_ROUND_FLOOR: Final = 0.02
"""Seconds; a round of a very short path still has a few reports."""
_MOST_JITTER: Final = 0.1
"""Seconds, or a quarter of the least delay: larger spreads are losses being repaired."""
_JITTER_GAIN: Final = 0.25
"""Weight of the newest round in the mean jitter: a few rounds decide, one does not."""
_BACK_GAIN: Final = 1 / 8
"""Weight of the newest report in the mean lateness of reports."""


class Minimum:
    """The least value of the last `memory` seconds, in amortised constant time."""

    def __init__(self, memory: float) -> None:
        self._memory = memory
        self._rising: deque[tuple[float, float]] = deque()

    @property
    def value(self) -> float | None:
        return self._rising[0][1] if self._rising else None

    def add(self, now: float, value: float) -> None:
        rising = self._rising
        while rising and rising[-1][1] >= value:
            rising.pop()
        rising.append((now, value))
        while rising[0][0] < now - self._memory:
            rising.popleft()

    def allow(self, more: float) -> None:
        """All that is remembered may have become greater by so much."""
        self._rising = deque((at, value + more) for at, value in self._rising)

    def forget(self) -> None:
        """Drops all that was heard."""
        self._rising.clear()

    def forget_before(self, time: float) -> None:
        """Drop what is older, except the newest value."""
        while len(self._rising) > 1 and self._rising[0][0] < time:
            self._rising.popleft()


class Mean:
    """A mean that forgets, and how far off it values are (as RFC 6298, 2)."""

    def __init__(self, gain: float) -> None:
        self._gain = gain
        self.value = 0.0
        self.deviation = 0.0

    def add(self, value: float) -> None:
        self.deviation += (abs(value - self.value) - self.deviation) * self._gain
        self.value += (value - self.value) * self._gain


class DelayFilter:
    """Minimum, excess and jitter over the reports of one direction."""

    def __init__(self, *, memory: float = MEMORY) -> None:
        self._loop = Minimum(memory)
        self._one_way = Minimum(memory)
        self._back = Minimum(memory)
        self.latest: float | None = None
        """Seconds of loop delay, newest."""
        self.excess = 0.0
        """Seconds that the newest byte waited in a queue (and jitter)."""
        self.jitter = 0.0
        """Seconds by which delays vary within a round, both ways together; the mean over rounds."""
        self.jitter_there = 0.0
        """The same, of the way there alone."""
        self.window = _SHORTEST_WINDOW
        """Seconds of the least delay, widened by jitter: what is delivered counts over so long."""
        self.late = 0.0
        """Seconds by which the newest report was late on its way back, or at the receiver's."""
        self._late_back = Mean(_BACK_GAIN)
        self.least_excess = 0.0
        """Seconds; the lowest excess in the later half of the last complete round: its first bytes
        were on their way before the decision that ended the round before could show."""
        self.round_ended = False
        """Did the newest report end a round?"""
        self._heard_at: float | None = None
        self._paused = self._paused_before = 0.0
        """Seconds of all pauses that do not count, now and before the last one,"""
        self._resumed_at = float("-inf")
        """which ended then."""
        self._round_start = float("-inf")
        self._round: list[tuple[float, float]] = []

    @property
    def late_back(self) -> float:
        """Seconds by which reports are late on their way back beyond the least, as most are: what
        they tell of has arrived meanwhile, and fills no queue."""
        return self._late_back.value + self._late_back.deviation

    @property
    def minimum(self) -> float | None:
        """Seconds of loop delay with nothing queued; None before the first report."""
        return self._loop.value

    @property
    def one_way(self) -> float:
        """Seconds of the least one-way delay, off by what the clocks differ; 0 before a report."""
        return self._one_way.value or 0.0

    @property
    def round(self) -> float:
        """Seconds between two decisions: long enough to see what the last one did."""
        return max(_ROUND_FLOOR, (self.minimum or 0.0) + self.jitter)

    def add(
        self,
        now: float,
        *,
        loop: float,
        one_way: float,
        steady: bool,
        noise: float,
        held: float,
        smaller: float = 0.0,
    ) -> None:
        """A report came. `smaller`: seconds by which a whole packet would have taken longer.

        `steady`: our own queue is level, so what varies now is jitter, but for seconds that are
        our own doing: `noise`, by which quanta make the way there vary, and `held`, for which the
        receiver may hold a report.
        """
        # By no more than twice: the rate may be wrong, and what is too long does no lasting harm.
        smaller, back = min(smaller, loop), loop - one_way
        self._count_pause(now)
        at = now - self._paused
        self._loop.add(at, loop + smaller)
        one_way += smaller
        self._one_way.add(at, one_way)
        self._back.add(at, back)
        self.late = back - (self._back.value or 0.0)
        self._late_back.add(self.late)
        least = self._one_way.value
        self.latest = loop
        self.excess = one_way - (one_way if least is None else least)
        self.round_ended = now - self._round_start >= self.round
        if self.round_ended:
            self._end_round(steady, noise, held)
            self._round_start = now
        self._round.append((one_way, back))
        self._fit_window()

    def begin_anew(self, samples: Iterable[tuple[float, float, float]]) -> None:
        """What was added is known better now: when, loop and one-way delay of each report."""
        for minimum in (self._loop, self._one_way):
            minimum.forget()
        for at, loop, one_way in samples:
            self._loop.add(at - self._paused, loop)
            self._one_way.add(at - self._paused, one_way)
        self._fit_window()

    def forget_before(self, time: float) -> None:
        """The path has changed: only what came since `time` counts."""
        if time < self._resumed_at:
            time = min(time - self._paused_before, self._resumed_at - self._paused)
        else:
            time -= self._paused
        self._loop.forget_before(time)
        self._one_way.forget_before(time)
        self._back.forget_before(time)
        self._fit_window()

    def forget_round(self) -> None:
        """A loss was repaired: what came since the round began says nothing of jitter."""
        self._round.clear()

    def _count_pause(self, now: float) -> None:
        """What is known of a path is not forgotten while nothing is heard of it."""
        pause = 0.0 if self._heard_at is None else now - self._heard_at
        self._heard_at = now
        if pause > PAUSE:
            self._resumed_at, self._paused_before = now, self._paused
            self._paused += uncounted(pause)
            for minimum in (self._one_way, self._back):
                minimum.allow(_DRIFT * pause)

    def _fit_window(self) -> None:
        self.window = max(_SHORTEST_WINDOW, (self.minimum or 0.0) + self.jitter)

    def _end_round(self, steady: bool, noise: float, held: float = 0.02) -> None:
        if not self._round:
            return
        there = [sample for sample, _ in self._round]
        back = [sample for _, sample in self._round]
        self._round.clear()
        least = self._one_way.value
        late = there[len(there) // 2 :]
        self.least_excess = min(late) - (least if least is not None else 0.0)
        if steady and len(there) > 1:
            forth, home = self._spread(there, noise), self._spread(back, held)
            self.jitter_there += (forth - self.jitter_there) * _JITTER_GAIN
            self.jitter += (forth + home - self.jitter) * _JITTER_GAIN

    def _spread(self, delays: list[float], noise: float) -> float:
        most = max(_MOST_JITTER, (self.minimum or 0.0) / 4)
        return min(most, max(0.0, max(delays) - min(delays) - noise))
