"""Binds the bytes of a stream to the path that is asked for them, when they go. Pure.

At first the stream has an order, and is written as it is asked for (`SendBuffer`). From `part` on
it consists of cells of one size, counted from its beginning. A cell is filled when a path that was
asked for it has something to bring, never before: one that a long path is to bring may have been
asked for sooner than those before it, and is filled later. What was filled is sent as it is,
whoever asks again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from transport.rcp.send_buffer import SendBuffer
from transport.rcp.settings import LARGEST
from wire.errors import PeerError

_REST: Final = 1.0
"""Seconds: by then nothing more goes for now, and all that has gone has come."""

_PADDING: Final = b"\0".ljust(1 << 14, b"\xff")
"""A cell that begins with a 0 is empty, whatever follows (transport/stream/cell.py)."""


class Choose(Protocol):
    """Who fills cells."""

    def __call__(self, place: int, behind: int, *, ends: bool) -> bytes | None:
        """A cell for these bytes of the stream, counted from where the order ended. None: there is
        none for that path.

        `behind`: bytes that others bring sooner; `ends`: what is last of a component may go before
        what others are to bring of it.
        """


class FilledCell(NamedTuple):
    """A cell that has its bytes."""

    data: bytes
    at: float | None
    """When something was put into it; None: nothing was."""
    behind: int
    """Bytes that others bring sooner than the path that it was filled for."""


class LateStream:
    """The stream that all paths of one connection send."""

    def __init__(self, *, capacity: int, size: int, clock: Callable[[], float]) -> None:
        """`capacity`: bytes that the receiver may lack; `size`: of a cell."""
        self.ordered = SendBuffer(capacity)
        self.choose: Choose = lambda place, behind, *, ends: None
        self.on_padded: Callable[[int], None] = lambda place: None
        """Told of each that is filled with nothing before anything is behind it, by its place."""
        self.size = size
        self.top = 0
        """All cells that are filled end here at most."""
        self.settled: list[float] = []
        """When cells were filled that have come, but for empty ones."""
        self._clock = clock
        self._origin: int | None = None
        self._cells: dict[int, FilledCell] = {}
        self._filled_at = 0.0
        """When something was put into a cell."""

    @property
    def parted(self) -> bool:
        """It has lost its order."""
        return self._origin is not None

    @property
    def origin(self) -> int:
        """Where the first cell begins."""
        assert self._origin is not None
        return self._origin

    @property
    def purged(self) -> int:
        """All before has come."""
        return self.ordered.purged

    def widen(self, places: int) -> None:
        """The receiver has places for so many bytes behind those that it has. Who has taken in as
        many may lack twice as many: nobody has us keep so much by asking alone."""
        buffer = self.ordered
        buffer.capacity = max(buffer.capacity, 2 * min(places, buffer.purged, LARGEST))

    def part(self) -> None:
        """All that comes next is cells; what was written ends with one."""
        assert not self.ordered.written % self.size
        self._origin = self.top = self.ordered.written

    def begins(self, begin: int, end: int) -> range:
        """Where the cells begin that have any of these bytes and may be sent."""
        first = max(begin, self.origin, self.purged)
        last = min(end, self.purged + self.ordered.capacity)
        return range(first - first % self.size, last, self.size)

    def filled(self, begin: int) -> bool:
        """Whether the cell that begins there is."""
        return begin in self._cells

    def comes_sooner(self, begin: int, behind: int) -> bool:
        """Whether that cell has come, or was filled for a path that leaves less than so much to
        others."""
        if begin < self.purged:
            return True
        return begin in self._cells and self._cells[begin].behind < behind

    def fill(self, begin: int, behind: int, *, ends: bool = False) -> bool:
        """Has a cell filled, if there is anything for its path (`Choose`); whether it is."""
        if begin in self._cells:
            return True
        if begin + self.size > self.purged + self.ordered.capacity:
            return False
        now = self._clock()
        # The receiver has no more places behind it.
        full = self.top - begin > self.ordered.capacity // 4
        data = None if full else self.choose(begin - self.origin, behind, ends=ends)
        if data is not None:
            self._filled_at = now
            self._put(begin, data, now, behind)
            return True
        stale = self.stale_at(begin)
        if full or (stale is not None and stale <= now):
            self._put(begin, b"", None, behind)
            return True
        return False

    def pad(self, begin: int, size: int) -> bool:
        """Fills a cell with so many bytes of nothing, if it may be; whether it is."""
        if begin in self._cells or begin + self.size > self.purged + self.ordered.capacity:
            return begin in self._cells
        self.on_padded(begin - self.origin)
        self._put(begin, _PADDING[:size], None, 0)
        return True

    def stale_at(self, begin: int) -> float | None:
        """When that cell is filled with nothing, lest what lies behind it is never settled; None:
        nothing lies behind it."""
        return self._filled_at + _REST if begin < self.top else None

    def _put(self, begin: int, data: bytes, at: float | None, behind: int) -> None:
        self._cells[begin] = FilledCell(data.ljust(self.size, b"\0"), at, behind)
        self.top = max(self.top, begin + self.size)

    def cell(self, begin: int) -> bytes:
        """A cell that is filled, with zeros to its end; none but zeros where it has come, for
        nobody looks at it."""
        cell = self._cells.get(begin)
        return bytes(self.size) if cell is None else cell.data

    def purge(self, upto: int) -> None:
        """Nobody will ask for what is before. Raises PeerError where there was no such thing."""
        if upto > max(self.top, self.ordered.written):
            raise PeerError("the receiver has what was never sent")
        begins = range(0) if self._origin is None else self.begins(0, upto - upto % self.size)
        self.ordered.purge(upto)
        for at in begins:
            cell = self._cells.pop(at, None)
            if cell is not None and cell.at is not None:
                self.settled.append(cell.at)
