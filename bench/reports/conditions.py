"""Whether a measurement can be trusted: how busy the machine was, how late the emulated link.

A busy machine delays what it measures, and a relay that wakes late is a slower link than the one
asked for. The first is written down, the second decides. Knows /proc and a relay's statistics.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, Self, TypeVar

LATE: Final = 0.020
"""Seconds of lateness at the 99th percentile that spoil a load. With two processors it is 0.002 to
0.006; a proxy that works on many pictures at once takes it to 0.018, and figures are the same to
0.1 s (ziproxy, five loads). From 0.025 on they moved by up to 1 s."""
LATEST: Final = 0.25
"""Seconds of one delivery's lateness that spoil it: as much as a screenshot may be late."""
_STAT: Final = Path("/proc/stat")

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which a load was measured."""

    load_average: float
    """Processes that ran or wanted to, over the last minute."""
    busy: float | None
    """Share of all processors' time that was used, 0 to 1; None: the system does not say."""
    lateness: tuple[float, float, float] | None
    """Seconds by which the link delivered late: median, 99th percentile, most."""

    @property
    def unfit(self) -> str:
        """Why the load does not count; empty: it does."""
        if self.lateness is None:
            return ""
        _, p99, most = self.lateness
        if p99 > LATE:
            return f"the link was late by {p99 * 1000:.1f} ms at the 99th percentile"
        return f"the link was late by {most * 1000:.0f} ms once" if most > LATEST else ""

    def as_json(self) -> dict[str, Any]:
        """For a report; seconds."""
        late = dict(zip(("p50_s", "p99_s", "most_s"), self.lateness or (), strict=False))
        return {
            "load_average": round(self.load_average, 2),
            "busy": None if self.busy is None else round(self.busy, 3),
            "lateness": {name: round(value, 5) for name, value in late.items()} or None,
        }


@dataclass(frozen=True, slots=True)
class Fit(Generic[Result]):
    """What came of `until_fit`."""

    kept: Result | None
    """None: it was given up."""
    discarded: list[tuple[Result, str]]
    """Results that don't count, and why."""
    least_late: tuple[Result, str] | None = None
    """Where none is kept: the one among them whose link was the least late."""
    failed: list[str] = field(default_factory=list)
    """Why measurements came to nothing."""


async def until_fit(
    measure: Callable[[], Awaitable[tuple[Result, Conditions]]],
    *,
    again: int,
    survives: tuple[type[Exception], ...] = (),
) -> Fit[Result]:
    """Measure until the conditions are fit, at most `again` times more.

    A measurement that raises one of `survives` is one that came to nothing.
    """
    discarded: list[tuple[Result, str]] = []
    failed: list[str] = []
    lateness: list[float] = []
    for _ in range(again + 1):
        try:
            result, conditions = await measure()
        except survives as error:
            failed.append(str(error) or type(error).__name__)
            continue
        if not conditions.unfit:
            return Fit(result, discarded, failed=failed)
        discarded.append((result, conditions.unfit))
        lateness.append(conditions.lateness[1] if conditions.lateness is not None else 0.0)
    best = discarded[lateness.index(min(lateness))] if discarded else None
    return Fit(None, discarded, best, failed)


class Watched:
    """The machine since `begin`."""

    def __init__(self, used: tuple[int, int] | None) -> None:
        self._before = used

    @classmethod
    def begin(cls) -> Self:
        return cls(processor_time())

    def end(self, statistics: Callable[[], object]) -> Conditions:
        """`statistics`: the link's, which may know nothing of lateness."""
        late = getattr(statistics(), "lateness", None)
        return Conditions(os.getloadavg()[0], self._busy(), late and tuple(late))

    def _busy(self) -> float | None:
        after = processor_time()
        if self._before is None or after is None or after[1] == self._before[1]:
            return None
        return (after[0] - self._before[0]) / (after[1] - self._before[1])


def processor_time(stat: Path = _STAT) -> tuple[int, int] | None:
    """Ticks used, and ticks there were, since the system started; None: it does not say."""
    try:
        words = stat.read_text().split("\n", 1)[0].split()
        ticks = [int(word) for word in words[1:9]]  # guests are counted in the first two
    except (OSError, ValueError):
        return None
    if len(ticks) < 5:
        return None
    idle = ticks[3] + ticks[4]  # nothing to do, or waiting for a disk
    return sum(ticks) - idle, sum(ticks)
