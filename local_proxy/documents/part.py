"""One component that brings ranges of a file, perhaps with a coarse picture in front of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import Final

from local_proxy.link.components import Component
from office.extents import Range
from wire.abilities import EXACT

MAX_COARSE: Final = 1 << 18
"""Bytes of one picture's coarse version."""


MAX_FORM: Final = 1 << 18
"""Bytes of an exact form that are in memory; the rest is in a file."""


class PartBroken(Exception):
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
    _form: SpooledTemporaryFile[bytes] | None = field(default=None, repr=False)
    """What has come of an exact form of the ranges."""

    def brings(self, ranges: Sequence[Range]) -> bool:
        """Whether it brings any byte of these."""
        return any(
            start < until and since < end for start, end in self.ranges for since, until in ranges
        )

    def take_coarse(self) -> bytes | None:
        """The coarse version, once, when all of it is here. Raises Broken."""
        size = self._coarse
        if size > MAX_COARSE:
            raise PartBroken
        if self.taken or not size or self.component.received < size:
            return None
        self.taken = size
        return bytes(self.component.data[:size])

    def take(self, write: Callable[[int, bytes], None]) -> bool:
        """Put away what has come of the file; whether a range has come to its end.

        Raises Broken.
        """
        component = self.component
        if component.coding == EXACT:
            self._keep()
            return False
        ended = False
        while self._coarse <= self.taken < component.received:
            if self.index == len(self.ranges):
                raise PartBroken
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
    def size(self) -> int:
        """Bytes of the file that it brings."""
        return sum(end - start for start, end in self.ranges)

    def form(self) -> bytes | None:
        """All of an exact form that came instead of the bytes, once; None: they came."""
        if self._form is None:
            return None
        with self._form as file:
            self._form = None
            file.seek(0)
            return file.read()

    def put(self, data: bytes, write: Callable[[int, bytes], None]) -> None:
        """Put away the bytes that it was the form of."""
        at = 0
        for start, end in self.ranges:
            write(start, data[at : at + end - start])
            at += end - start

    def close(self) -> None:
        """Nothing more of it is wanted."""
        if self._form is not None:
            self._form.close()
            self._form = None

    def _keep(self) -> None:
        """Raises Broken where it is no smaller than what it is the form of."""
        component, coarse = self.component, self._coarse
        if component.received - coarse > self.size:
            raise PartBroken
        if component.received > max(self.taken, coarse):
            self.taken = max(self.taken, coarse)
            if self._form is None:
                self._form = SpooledTemporaryFile(MAX_FORM)  # noqa: SIM115 - closed by `form`, `close`
            self._form.write(component.data[self.taken - component.trimmed :])
            self.taken = component.received
        component.release(self.taken)

    @property
    def _coarse(self) -> int:
        """Bytes of the coarse version in front."""
        levels = self.component.levels
        return levels[-1].start if levels else 0
