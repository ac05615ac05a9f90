"""A file from its origin into a spool: from its first byte to its last, and what is wanted sooner.

The response is read to its end, so what comes together is one version of the file. Parts that are
wanted long before they would come are asked for by range, where the origin has a validator that
says they are of the same version. Sources: RFC 9110, 13.1.5 (If-Range), 14.2 and 8.8.1 (strong).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from office.errors import Unreadable
from office.extents import Range
from remote_proxy.documents.spool import PIECE, Changed, Spool
from remote_proxy.origin.client import OriginResponse
from remote_proxy.reach.failures import Failure, OriginError
from wire.fields import Headers, header

AHEAD: Final = 131_072
"""Bytes ahead of the response within which asking by range would not be sooner."""
NEAR: Final = 65_536
"""Bytes between two ranges for which it is not worth to ask twice."""
MAX_RANGES: Final = 32
"""Requests by range for one document; the rest comes as it comes."""
ATTEMPTS: Final = 3
"""Times that a response that broke off is gone on with."""
_CONTENT_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+)")

Ask = Callable[[Headers], Awaitable[OriginResponse]]
"""The same request once more, with further fields."""


class Gathering:
    """One response on its way into a spool."""

    def __init__(self, response: OriginResponse, spool: Spool, *, limit: int, ask: Ask) -> None:
        """`limit`: bytes of which there may be no more."""
        self.spool = spool
        self.length: int | None = response.length
        """Bytes of the file; None: not known yet."""
        self.too_long = False
        self.complete = False
        self._response = response
        self._limit = limit
        self._ask = ask
        self._at = 0
        self._asked = 0
        self._ended = asyncio.Event()
        self._validator = _validator(response)

    async def begin(self, size: int) -> bytes:
        """The first bytes, `size` of them if there are as many. Raises OriginError."""
        while self.spool.there.reaches(0) < size and not self._ended.is_set():
            await self.spool.change()
        return self.spool.read(0, size)

    async def run(self) -> None:
        """Read the response to its end, or the limit. Who waits for bytes is told of failures."""
        try:
            await self._run()
        except OriginError as error:
            self.spool.fail(error)
        finally:
            if not self.complete and not self.too_long:
                self.spool.fail(OriginError(Failure.PROTOCOL, "the response ended early"))
            self._ended.set()
            self.spool.end()

    async def _run(self) -> None:
        try:
            async for chunk in self._response.body:
                self.spool.write(self._at, chunk)
                self._at += len(chunk)
                if self._at > self._limit:
                    self.too_long = True
                    return
        except Changed:
            raise
        except OriginError:
            if self.length is None or not await self._rest(self.length):
                raise
        if self.length in (None, self._at):
            self.length = self._at
            self.complete = True

    async def _rest(self, length: int) -> bool:
        """The connection broke: whether the rest of the same version could be had."""
        for _ in range(ATTEMPTS):
            if self._validator is None:
                break
            await self._range(self._at, length)
            self._at = self.spool.there.reaches(self._at)
            if self._at == length:
                return True
        return False

    async def tail(self, size: int) -> bytes:
        """The last bytes, `size` of them if there are as many. Raises Unreadable beyond the limit.

        Raises OriginError if they will never be there.
        """
        if self.length is None:
            await self._ended.wait()
        if self.too_long:
            raise Unreadable(f"it has more than {self._limit} bytes")
        if self.length is None:
            await self.spool.change()  # raises
        assert self.length is not None
        start = max(0, self.length - size)
        await self.need([(start, self.length)])
        return self.spool.read(start, self.length)

    async def need(self, ranges: Sequence[Range]) -> None:
        """Until these bytes are in the spool. Raises OriginError if they will never be."""
        missing = [gap for start, end in ranges for gap in self.spool.there.missing(start, end)]
        far = [gap for gap in missing if gap[0] > self._at + AHEAD]
        for start, end in _near_ones_together(far):
            if self._validator is None or self._asked >= MAX_RANGES:
                break
            self._asked += 1
            await self._range(start, end)
        await self.spool.wait(ranges)

    async def everything(self) -> None:
        """Until all of it is there. Raises OriginError."""
        await self._ended.wait()
        if not self.complete:
            await self.spool.change()  # raises

    async def stream(self) -> AsyncIterator[bytes]:
        """All of it as it comes, what goes beyond the limit too. Raises OriginError."""
        at = 0
        while True:
            reach = self.spool.there.reaches(at)
            while at < reach:
                piece = self.spool.read(at, min(reach, at + PIECE))
                at += len(piece)
                yield piece
            if self._ended.is_set() and at == self.spool.there.reaches(at):
                break
            await self.spool.change()
        if not self.too_long:
            await self.everything()
        async for chunk in self._response.body:
            yield chunk

    async def _range(self, start: int, end: int) -> None:
        """Ask for these bytes alone; as many of them as come."""
        assert self._validator is not None
        fields = [("range", f"bytes={start}-{end - 1}"), ("if-range", self._validator)]
        try:
            response = await self._ask(fields)
        except OriginError:
            self._validator = None
            return
        try:
            if not self._is_part(response, start):
                self._validator = None
                return
            async for chunk in response.body:
                self.spool.write(start, chunk[: end - start])
                start += len(chunk)
                if start >= end:
                    break
        except Changed:
            self._validator = None
        except OriginError:
            pass  # what is not here is asked for again, or comes with the rest
        finally:
            response.close()

    def _is_part(self, response: OriginResponse, start: int) -> bool:
        found = _CONTENT_RANGE.fullmatch(header(response.headers, "content-range"))
        return (
            response.status == 206
            and found is not None
            and (int(found[1]), int(found[3])) == (start, self.length)
            and _validator(response) in (self._validator, None)
        )


def _validator(response: OriginResponse) -> str | None:
    """What If-Range may say: a strong tag, or a date where there is no tag at all."""
    tag = header(response.headers, "etag")
    if header(response.headers, "accept-ranges").lower() != "bytes" and response.status != 206:
        return None
    if tag:
        return tag if tag.startswith('"') else None
    return header(response.headers, "last-modified") or None


def _near_ones_together(ranges: Sequence[Range]) -> list[Range]:
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start - found[-1][1] <= NEAR:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found
