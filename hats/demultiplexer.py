"""The demultiplexer: what has come of each component, and what that means (HATS, 3.2.3).

Like the multiplexer it sees lengths only; whoever keeps the bytes appends them. Components are
opened before their first byte and forgotten with their last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from hats.tree.errors import ReceiveError
from hats.tree.rules import MAX_MARKS

MAX_COMPONENTS: Final = 65536
"""Open at a time, by default: about 20 MB of bookkeeping."""


@dataclass(frozen=True, slots=True)
class ComponentProgress:
    """More of a component has come."""

    component: int
    length: int
    """Bytes that came now."""
    received: int
    """Bytes that have come in all."""


@dataclass(frozen=True, slots=True)
class LevelReached:
    """All bytes up to a fidelity mark are here."""

    component: int
    level: int
    """Index of the mark, from 0."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The component has ended; it is no longer known."""

    component: int
    received: int
    """Bytes in all."""


Event = ComponentProgress | LevelReached | Completed


class _Incoming:
    """What is known of one open component."""

    __slots__ = ("limit", "marks", "received")

    def __init__(self, marks: tuple[int, ...], limit: int | None) -> None:
        self.marks = marks
        self.limit = limit
        self.received = 0


@dataclass(frozen=True, slots=True)
class DemultiplexerStatistics:
    """An immutable snapshot."""

    open: int
    """Components that have not ended."""
    completed: int
    received: int
    """Bytes of all components so far."""


class Demultiplexer:
    """Keeps count of what arrives, bounded in how much it keeps."""

    def __init__(self, *, max_components: int = MAX_COMPONENTS) -> None:
        self._open: dict[int, _Incoming] = {}
        self._max_components = max_components
        self._completed = 0
        self._received = 0

    def __contains__(self, component: int) -> bool:
        return component in self._open

    def open(self, component: int, marks: Sequence[int] = (), *, limit: int | None = None) -> None:
        """Expect data of a component, of at most `limit` bytes. Raises ReceiveError."""
        if component in self._open:
            raise ReceiveError(f"component {component} is open already")
        if len(self._open) >= self._max_components:
            raise ReceiveError(f"more than {self._max_components} components open")
        self._open[component] = _Incoming(_checked(component, marks), limit)

    def set_marks(self, component: int, marks: Sequence[int]) -> list[Event]:
        """Its fidelity levels, absolute offsets; the events of those that are here already."""
        incoming = self._known(component)
        incoming.marks = _checked(component, marks)
        return list(_levels(component, incoming.marks, 0, incoming.received))

    def set_limit(self, component: int, limit: int | None) -> None:
        """Bytes the component may have in all, what has come included; None: any number."""
        incoming = self._known(component)
        if limit is not None and limit < incoming.received:
            raise ReceiveError(f"component {component} has more than {limit} bytes already")
        incoming.limit = limit

    def received(self, component: int, length: int, last: bool = False) -> list[Event]:
        """So many bytes came; what that means, in order. Raises ReceiveError."""
        incoming = self._known(component)
        if length < 0:
            raise ReceiveError(f"{length} bytes of component {component}")
        before = incoming.received
        after = before + length
        if incoming.limit is not None and after > incoming.limit:
            raise ReceiveError(f"component {component} is longer than {incoming.limit} bytes")
        incoming.received = after
        self._received += length
        events: list[Event] = [ComponentProgress(component, length, after)] if length else []
        if incoming.marks:
            events += _levels(component, incoming.marks, before, after)
        if last:
            del self._open[component]
            self._completed += 1
            events.append(Completed(component, after))
        return events

    def so_far(self, component: int) -> int:
        """Bytes of an open component that have come. Raises ReceiveError."""
        return self._known(component).received

    def close(self, component: int) -> None:
        """Forget a component that will not be complete, if it is open."""
        self._open.pop(component, None)

    def statistics(self) -> DemultiplexerStatistics:
        return DemultiplexerStatistics(len(self._open), self._completed, self._received)

    def _known(self, component: int) -> _Incoming:
        incoming = self._open.get(component)
        if incoming is None:
            raise ReceiveError(f"component {component} is not open")
        return incoming


def _levels(component: int, marks: tuple[int, ...], before: int, after: int) -> list[Event]:
    """The marks passed between two offsets."""
    passed = range(bisect_right(marks, before), bisect_right(marks, after))
    return [LevelReached(component, level) for level in passed]


def _checked(component: int, marks: Sequence[int]) -> tuple[int, ...]:
    if len(marks) > MAX_MARKS or any(a >= b for a, b in pairwise((0, *marks))):
        raise ReceiveError(f"component {component}: up to {MAX_MARKS} marks, rising from above 0")
    return tuple(marks)
