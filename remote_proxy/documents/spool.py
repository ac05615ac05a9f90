"""A file that is being gathered, on disk: written in any order, read as soon as bytes are there.

What was written once stays: other bytes at the same place mean that the origin has changed the
file under our hands. The file has no name, so nothing outlives the process.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Final, Self

from office.extents import Extents, Range
from remote_proxy.reach.failures import Failure, OriginError

PIECE: Final = 65_536
"""Bytes read from disk at a time."""


class Changed(OriginError):
    """Bytes that come for the second time are others."""


class Spool:
    """One file. `with`."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="sluice-")  # noqa: SIM115 (see __exit__)
        self.there = Extents()
        self._failure: OriginError | None = None
        self._changed = asyncio.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, at: int, data: bytes) -> None:
        """Bytes of the file from `at` on. Raises Changed if others are there."""
        end = at + len(data)
        gaps = self.there.missing(at, end)
        if gaps != [(at, end)] and data:
            self._compare(at, data, gaps)
        for start, stop in gaps:
            os.pwrite(self._file.fileno(), data[start - at : stop - at], start)
            self.there.add(start, stop)
        self._tell()

    def _compare(self, at: int, data: bytes, gaps: list[Range]) -> None:
        known = Extents(gaps).missing(at, at + len(data))
        if any(self.read(start, end) != data[start - at : end - at] for start, end in known):
            raise Changed(Failure.PROTOCOL, "the file has changed while it was fetched")

    def read(self, start: int, end: int) -> bytes:
        """Bytes that are there."""
        return os.pread(self._file.fileno(), end - start, start)

    def pieces(self, ranges: Iterable[Range]) -> Iterator[bytes]:
        """The bytes of these ranges, which are there, a few at a time."""
        for start, end in ranges:
            for at in range(start, end, PIECE):
                yield self.read(at, min(end, at + PIECE))

    def fail(self, error: OriginError) -> None:
        """No more will come; who waits for what is not there is told. The first reason counts."""
        self._failure = self._failure or error
        self._tell()

    async def wait(self, ranges: Iterable[Range]) -> None:
        """Until these are there. Raises OriginError if they will never be."""
        for start, end in ranges:
            while not self.there.covers(start, end):
                await self.change()

    async def change(self) -> None:
        """Until anything about it has changed. Raises OriginError once it has failed."""
        if self._failure is not None:
            raise self._failure
        await self._changed.wait()

    def end(self) -> None:
        """All has come that comes by itself; who waits looks again."""
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
