"""Runs what is due, in the order of its time: a world's heart. Pure: time is what it says."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any


class Events:
    """A heap of calls; what is due together goes in the order in which it was asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self._number = count()

    def at(self, due: float, call: Callable[[Any], None], argument: Any = None) -> None:
        """`call(argument)` then, seconds."""
        heapq.heappush(self._heap, (due, next(self._number), call, argument))

    def run(self, until: float) -> None:
        """All that is due by then."""
        heap, pop = self._heap, heapq.heappop
        while heap and heap[0][0] <= until:
            self.now, _, call, argument = pop(heap)
            call(argument)
        self.now = until


class Alarm:
    """One timer that moves often: it is set anew only where it must ring earlier."""

    def __init__(self, events: Events, ring: Callable[[], None]) -> None:
        self._events, self._ring = events, ring
        self._due: float | None = None
        self._set = float("inf")
        """The earliest call that is on the heap."""

    def set(self, due: float | None) -> None:
        """Rings then, and no longer when it was to; None: not at all."""
        self._due = due
        if due is not None and due < self._set:
            self._set = due
            self._events.at(due, self._called, due)

    def _called(self, due: float) -> None:
        if due != self._set:
            return  # an earlier one has been set since
        self._set = float("inf")
        if self._due is None:
            return
        if self._due <= self._events.now:
            self._due = None
            self._ring()
        else:
            self.set(self._due)
