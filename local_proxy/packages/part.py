"""One component that brings ranges of a file, perhaps with a coarse picture in front of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from local_proxy.components import Component
from office.extents import Range

MAX_COARSE: Final = 1 << 18
"""Bytes of one picture's coarse version."""


class Broken(Exception):
    """It brings what can't be."""


@dataclass(eq=False, slots=True)
class IncomingPart:
    """What of the component has been put away, and where the rest belongs."""

    component: Component
    ranges: list[Range]
    taken: int = 0
    """Bytes of the component that have been put away."""
    index: int = 0
    """The range that the next byte of the file belongs to."""
    at: int = -1
    """Its place in the file."""

    def brings(self, ends: Sequence[int]) -> bool:
        """Whether it brings the last byte before any of these offsets."""
        return any(start < one <= end for start, end in self.ranges for one in ends)

    def take_coarse(self) -> bytes | None:
        """The coarse version, once, when all of it is here. Raises Broken."""
        size = self._coarse
        if size > MAX_COARSE:
            raise Broken
        if self.taken or not size or self.component.received < size:
            return None
        self.taken = size
        return bytes(self.component.data[:size])

    def take(self, write: Callable[[int, bytes], None]) -> bool:
        """Put away what has come of the file; whether a range has come to its end.

        Raises Broken.
        """
        component = self.component
        ended = False
        while self._coarse <= self.taken < component.received:
            if self.index == len(self.ranges):
                raise Broken
            start, end = self.ranges[self.index]
            self.at = max(self.at, start)
            offset = self.taken - component.trimmed
            data = bytes(component.data[offset : offset + end - self.at])
            write(self.at, data)
            self.taken += len(data)
            self.at += len(data)
            if self.at == end:
                ended = True
                self.index += 1
        component.release(self.taken)
        return ended

    @property
    def _coarse(self) -> int:
        """Bytes of the coarse version in front."""
        levels = self.component.levels
        return levels[-1].start if levels else 0
