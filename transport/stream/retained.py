"""Bytes sent that the peer has not reported: what a new connection must begin with.

A stream of bytes outlives the connections that carry it. What was reported is forgotten; when a
connection breaks the peer says how much it has, and the rest is sent again from exactly there.
What is kept is what the gate lets be under way, so nothing grows.

Where the stream loses its order (`part`), cells take places in it, in the order of filling. Over
the next connection those go in a row that the peer may lack, each as a frame. Pure.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from wire.errors import PeerError
from wire.frames import RECEIVED_MODULUS, CellFrame, FrameWriter

_WRITER: Final = FrameWriter()


class Retained:
    """The unreported end of one direction's stream."""

    def __init__(self) -> None:
        self.start = 0
        """Bytes of the stream that were reported: the first one kept comes next."""
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._again: deque[bytes] = deque()
        """To be sent once more, on the connection that there is now."""
        self.cut = False
        """What comes next begins inside a frame: nothing else may go before it."""
        self._parted_at: int | None = None
        """From there on there are cells in places; None: nowhere."""
        self._width = 0
        """Bytes of a place."""
        self._cells: dict[int, bytes] = {}
        """By their places, in the order of filling."""
        self._first = self._top = 0
        """The first place whose cell is not reported, and where the last one ends."""

    @property
    def end(self) -> int:
        """Bytes of the stream so far."""
        return self.start + self._size if self._parted_at is None else max(self._top, self.start)

    @property
    def parted(self) -> bool:
        """Whether what comes next has a place, and no order."""
        return self._parted_at is not None

    @property
    def replaying(self) -> bool:
        """Whether bytes wait to be sent once more."""
        return bool(self._again)

    def add(self, data: bytes) -> None:
        """`data` goes to the connection now."""
        self._kept.append(data)
        self._size += len(data)

    def part(self, word: bytes) -> None:
        """The word goes that what follows has no order."""
        self.add(word)
        self._parted_at = self._first = self._top = self.end

    def place(self, place: int, size: int, cell: bytes) -> None:
        """A cell goes, which takes so many bytes from there on, counted from where it began. All
        take as many."""
        assert self._parted_at is not None
        begin = self._parted_at + place
        self._width = size
        self._cells[begin] = cell
        self._top = max(self._top, begin + size)

    def pass_over(self, place: int, size: int) -> None:
        """A cell goes there that says nothing, and never will."""
        assert self._parted_at is not None
        self._width = size
        self._top = max(self._top, self._parted_at + place + size)

    def reported(self, received: int) -> None:
        """The peer has `received` bytes of the stream, modulo 2^32. A lie is not looked at."""
        gained = (received - self.start) % RECEIVED_MODULUS
        if gained <= self.end - self.start:
            self._settle(self.start + gained)

    def rewind(self, received: int) -> int:
        """A new connection: the peer has `received` bytes; how many will be sent again.

        Raises PeerError when that is less than it reported or more than was sent.
        """
        if not self.start <= received <= self.end:
            raise PeerError(f"{received} bytes received of {self.start} to {self.end} sent")
        self._settle(received)
        parted = bool(self._kept) and self._parted_at is not None
        if parted:
            self._kept.pop()  # the word, which holds for the connection before
        again = [_WRITER.encode(CellFrame(one)) for one in self._cells.values()]
        self.cut = bool(self._kept)
        self._kept.extend(again)
        self._cells, self._parted_at = {}, None
        self._again = deque(self._kept)
        self._size = sum(map(len, self._kept))
        return self._size

    def next_again(self) -> bytes:
        """The next piece to send once more, as it was sent before; b"": no more."""
        self.cut = False
        return self._again.popleft() if self._again else b""

    def _settle(self, received: int) -> None:
        """All before has come."""
        if self._parted_at is None:
            self._forget(received - self.start)
            return
        self._forget(max(0, min(received, self._parted_at) - self.start))
        self.start = received
        while self._width and self._first + self._width <= received:
            self._cells.pop(self._first, None)  # none where nothing was left to say
            self._first += self._width

    def _forget(self, nbytes: int) -> None:
        self.start += nbytes
        self._size -= nbytes
        while nbytes:
            first = self._kept.popleft()
            if len(first) > nbytes:
                self._kept.appendleft(first[nbytes:])
                return
            nbytes -= len(first)
