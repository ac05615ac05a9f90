"""Keeps at which fidelity level each picture stops, and where its levels end.

Either may be said first: a policy speaks of pictures that are not fetched yet, and a picture may
never have levels. Pure; knows offsets in bytes, not leaves (HATS, 3.2.5: fidelity levels).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Final, NamedTuple

from wire.skeleton import LEVELS

WHOLE: Final = LEVELS[-1]
"""The level at which nothing stops short."""


class _Stop(NamedTuple):
    """Where a picture is to stop."""

    level: str
    at_least: bool


class LevelLimits:
    """The levels of one device's pictures, and which of them are wanted."""

    def __init__(self) -> None:
        self._ends: dict[int, Mapping[str, int]] = {}
        self._stops: dict[int, _Stop] = {}

    def __iter__(self) -> Iterator[int]:
        return iter({*self._ends, *self._stops})

    def known(self, component: int, ends: Mapping[str, int]) -> None:
        """The picture's levels end at these offsets, bytes, as far as they are known."""
        self._ends[component] = ends

    def stop_at(self, component: int, level: str, *, at_least: bool) -> bool:
        """Where the picture is to stop from now on; whether that is news.

        `at_least`: where it lacks that level, at the next finer one; else at the next coarser.
        """
        before = self._stops.pop(component, None)
        if level == WHOLE:
            return before is not None
        stop = self._stops[component] = _Stop(level, at_least)
        return stop != before

    def stopping(self) -> Iterator[int]:
        """The pictures that are to stop short."""
        return iter(tuple(self._stops))

    def limit(self, component: int) -> int | None:
        """The offset, bytes, at which the picture stops; None: it does not, or has no levels."""
        stop, ends = self._stops.get(component), self._ends.get(component)
        if stop is None or not ends:
            return None
        named = [name for name in LEVELS if name in ends]
        place = LEVELS.index(stop.level)
        finer = [name for name in named if LEVELS.index(name) >= place]
        if stop.at_least:
            return ends[finer[0]] if finer and finer[0] != WHOLE else None
        coarser = [name for name in named if LEVELS.index(name) <= place]
        return ends[(coarser or named)[-1 if coarser else 0]]

    def ends(self, component: int) -> Mapping[str, int]:
        """Where the picture's levels end, as far as is known."""
        return self._ends.get(component, {})

    def end(self, component: int, level: str) -> int | None:
        """Where that level or the next finer one ends; None: it is not known yet."""
        ends = self._ends.get(component)
        if not ends or level not in LEVELS:
            return None
        finer = LEVELS[LEVELS.index(level) :]
        return next((ends[name] for name in finer if name in ends), None)

    def forget(self, component: int) -> None:
        """It has left."""
        self._ends.pop(component, None)
        self._stops.pop(component, None)

    def sweep(self, live: Container[int]) -> None:
        """Forget all but these."""
        self._ends = {id_: ends for id_, ends in self._ends.items() if id_ in live}
        self._stops = {id_: stop for id_, stop in self._stops.items() if id_ in live}
