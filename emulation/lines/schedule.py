"""How fast a line is at each moment: steady, or in steps that repeat. Pure.

A trace of packet deliveries is a schedule of steps too: pulses in which 1500 bytes pass, and
nothing in between (traces.py). Bytes not used while a pulse lasts are gone, as in the network it
was recorded in.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Protocol

_GRAIN: Final = 1e-3
"""Bytes by which sums of rounded products may be off: a pulse must not miss a packet for those."""


class Schedule(Protocol):
    """What a serialiser can do. Seconds and bytes."""

    @property
    def mean(self) -> float:
        """Bytes/second over a long time."""

    def end(self, start: float, size: float) -> float:
        """When `size` bytes are through that begin at `start`; infinity: never."""

    def carried(self, start: float, until: float) -> float:
        """Bytes that could pass meanwhile."""


class Steady:
    """One rate for ever."""

    __slots__ = ("mean",)

    def __init__(self, rate: float) -> None:
        """`rate` in bytes/second; 0: stalled. Raises ValueError."""
        if not 0 <= rate < float("inf"):
            raise ValueError(f"no such {rate=}")
        self.mean = rate

    def end(self, start: float, size: float) -> float:
        return start + size / self.mean if self.mean else float("inf")

    def carried(self, start: float, until: float) -> float:
        return (until - start) * self.mean


class Steps:
    """Rates that hold until the next one, over and over."""

    def __init__(
        self, steps: Sequence[tuple[float, float]], *, duration: float, epoch: float = 0.0
    ) -> None:
        """`steps`: seconds from the first one (0) and bytes/second. `duration` of one round, and
        the clock's time at which the first one begins, in seconds. Raises ValueError.
        """
        times = [time for time, _ in steps]
        ordered = all(a < b for a, b in pairwise([*times, duration]))
        if not steps or times[0] != 0 or not ordered or duration == float("inf"):
            raise ValueError("steps begin at 0 and go forward, to the duration")
        if not all(0 <= rate < float("inf") for _, rate in steps):
            raise ValueError("a rate is a number of bytes a second, 0 or more")
        self._times = [*times, duration]
        self._rates = [rate for _, rate in steps]
        self._sums = [0.0]
        """Bytes since the round's beginning, at each of `_times`."""
        for (begin, end), rate in zip(pairwise(self._times), self._rates, strict=True):
            self._sums.append(self._sums[-1] + (end - begin) * rate)
        self._epoch = epoch
        if not self._sums[-1]:
            raise ValueError("nothing ever passes")

    @property
    def mean(self) -> float:
        return self._sums[-1] / self._times[-1]

    def from_epoch(self, epoch: float) -> Steps:
        """The same, beginning at another time."""
        steps = list(zip(self._times, self._rates, strict=False))
        return Steps(steps, duration=self._times[-1], epoch=epoch)

    def scaled(self, factor: float) -> Steps:
        """The same times, with so many times the rates. Raises ValueError for what is no rate."""
        rates = [factor * rate for rate in self._rates]
        steps = list(zip(self._times, rates, strict=False))
        return Steps(steps, duration=self._times[-1], epoch=self._epoch)

    def carried(self, start: float, until: float) -> float:
        return self._passed(until) - self._passed(start)

    def end(self, start: float, size: float) -> float:
        if size <= 0:
            return start
        rounds, wanted = divmod(self._passed(start) + size - _GRAIN, self._sums[-1])
        if wanted == 0:  # the last byte of a round, not the first of none
            rounds, wanted = rounds - 1, self._sums[-1]
        # The step in which the byte passes: of those with equal sums the first, others stand still.
        step = bisect_left(self._sums, wanted, 1) - 1
        into = (wanted - self._sums[step]) / self._rates[step]
        return max(start, self._epoch + rounds * self._times[-1] + self._times[step] + into)

    def _passed(self, at: float) -> float:
        """Bytes from the epoch on."""
        rounds, into = divmod(at - self._epoch, self._times[-1])
        step = min(bisect_right(self._times, into), len(self._rates)) - 1
        passed = self._sums[step] + (into - self._times[step]) * self._rates[step]
        return rounds * self._sums[-1] + passed


def interrupted(rate: float, *, every: float, outage: float) -> Steps:
    """A steady rate with nothing for `outage` seconds `every` so many, the first half of it in."""
    steps = [(0.0, rate), (every / 2, 0.0)]
    if every / 2 + outage < every:
        steps.append((every / 2 + outage, rate))
    return Steps(steps, duration=every)
