"""Judges what was heard of a link over time against what its line carried. Pure.

A moment counts from the first one on at which anything had been said. On a line of one rate every
such moment counts, busy or not: what is held during a rest is to be right too. On a line whose rate
varies a moment counts while something is on the line or was within the last `LATELY` seconds, since
nobody can know what a line at rest would carry now. A stretch outside the bounds lasts as long as
counted moments follow each other outside; moments that do not count are left out of it and do not
end it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.scenarios.bandwidth.hearing import EVERY, HeardSample

LEAST: Final = 0.5
"""Of the line's own rate: what is heard is never below it for long."""
MOST: Final = 1.3
"""Of the line's own rate: what is heard is never above it for long."""
LATELY: Final = 2.0
"""Seconds for which a line that varies counts after something was on it."""


@dataclass(frozen=True, slots=True)
class HeardVerdict:
    """How well one tour's hearing kept to the line. Seconds."""

    first: float | None
    """When anything was said first; None: never."""
    counted: float
    """Time that counts."""
    outside: float
    """Time that counts and was outside the bounds."""
    longest: float
    """The longest stretch of that."""
    longest_at: float
    """When that began."""
    error: float
    """Median of |heard - true| / true over the time that counts, per cent."""

    @property
    def share(self) -> float:
        """Per cent of the time that counts in which it was outside."""
        return 100 * self.outside / self.counted if self.counted else 0.0


def judged(samples: Sequence[HeardSample], *, varies: bool) -> HeardVerdict:
    """`samples`: one each `EVERY` seconds; `varies`: the line's rate does."""
    said = [one for one in samples if one.heard is not None]
    counted = list(_lately_busy(said) if varies else said)
    away = [not within(one) for one in counted]
    longest, longest_at, run = 0, 0.0, 0
    for place, out in enumerate(away):
        run = run + 1 if out else 0
        if run > longest:
            longest, longest_at = run, counted[place - run + 1].at
    errors = [
        abs(one.heard - one.true) / one.true
        for one in counted
        if one.heard is not None and one.true
    ]
    return HeardVerdict(
        said[0].at if said else None,
        len(counted) * EVERY,
        sum(away) * EVERY,
        longest * EVERY,
        longest_at,
        100 * statistics.median(errors) if errors else 0.0,
    )


def within(one: HeardSample) -> bool:
    """Whether what is heard is between the bounds of what the line carries."""
    return one.heard is not None and LEAST * one.true <= one.heard <= MOST * one.true


def _lately_busy(samples: Iterable[HeardSample]) -> Iterator[HeardSample]:
    last = float("-inf")
    for one in samples:
        last = one.at if one.busy else last
        if one.at - last <= LATELY:
            yield one
