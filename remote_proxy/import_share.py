"""What the reading of pages may take of the event loop that all devices share.

A page is read for its parts a little at a time. Every real one is through in a few milliseconds;
one that was made to hold a proxy up could take seconds, and each round of the loop meanwhile is
longer by a piece of it, for everybody. So whoever has had its fair time takes turns with all others
like it, and together they get a part of the loop.

Knows nothing of pages.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, Protocol

READ: Final = 4096
"""Bytes that are read at a time. The worst page or sheet takes 2.5 us a byte."""
FREE: Final = 0.1
"""Processor seconds of the loop that each reader has before it must take turns: ten megabytes of an
encyclopedia; recorded pages take 1 to 3 ms."""
SHARE: Final = 0.2
"""Of the loop's time that all readers get together who have had that."""


class Reader(Protocol):
    """Reads one text."""

    def feed(self, data: bytes) -> None: ...


class ImportShare:
    """Of one event loop."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        """`clock`: processor seconds of the loop's thread. By the wall clock every page would have
        had its fair time where the machine is busy, and all would wait for each other."""
        self._clock = clock
        self._turn = asyncio.Lock()

    def of(self, reader: Reader) -> ImportTurns:
        """For one reader, from its first byte to its last."""
        return ImportTurns(reader, self._turn, self._clock)


class ImportTurns:
    """One reader's."""

    def __init__(self, reader: Reader, turn: asyncio.Lock, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._reader = reader
        self._turn = turn
        self._spent = 0.0

    async def read(self, data: bytes) -> None:
        """Have it read that, with everybody else's turns in between."""
        for at in range(0, len(data), READ):
            piece = data[at : at + READ]
            if self._spent < FREE:
                if at:
                    await asyncio.sleep(0)
                self._feed(piece)
            else:
                async with self._turn:
                    await asyncio.sleep(self._feed(piece) * (1 / SHARE - 1))

    def _feed(self, piece: bytes) -> float:
        """Processor seconds that it took."""
        began = self._clock()
        self._reader.feed(piece)
        took = self._clock() - began
        self._spent += took
        return took
