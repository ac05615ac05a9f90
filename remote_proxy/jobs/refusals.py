"""Counts what one device was refused for want of room or time, and says so to who uses it.

A page whose pictures come whole instead of coarse first looks as if nothing were adapted. So the
device is told, at once and then now and again while it goes on. Must not know who refuses, or how
it is said. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

AGAIN: Final = 10.0
"""Seconds between two notices of one session."""
_WHAT: Final = {
    "low": "coarse versions of pictures",
    "levels": "finer levels of pictures",
    "thumbnail": "coarse pictures in documents",
    "exact": "denser forms of pictures in documents",
    "gathered": "pictures that would be held whole",
}
_WHY: Final = {
    "busy": "too many were waiting",
    "late": "it took too long",
    "memory": "remote.memory was full",
}


class Refusals:
    """The refusals of one session."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._told: Counter[str] = Counter()
        self._at: float | None = None

    def add(self, what: str) -> None:
        """Once more, in the words of `Transcoders.refused`."""
        self._counts[what] += 1

    def counts(self, others: Mapping[str, int]) -> dict[str, int]:
        """All that was refused, with what others counted."""
        return dict(self._counts + Counter(others))

    def begin(self, others: Mapping[str, int]) -> None:
        """What was refused before is no news."""
        self._told = Counter(self.counts(others))

    def news(self, others: Mapping[str, int], *, now: float) -> str:
        """What is to be told; empty: nothing, or not yet. `now`: seconds."""
        if self._at is not None and now < self._at + AGAIN:
            return ""
        counts = Counter(self.counts(others))
        if not (new := counts - self._told):
            return ""
        self._told, self._at = counts, now
        said = ", ".join(f"{number} {_said(what)}" for what, number in sorted(new.items()))
        return f"The remote proxy left out {said}"


def _said(what: str) -> str:
    thing, _, why = what.partition(" ")
    return f"{_WHAT.get(thing, thing)} ({_WHY.get(why, why)})"
