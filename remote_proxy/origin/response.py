"""A response's body as it comes, and whether what came is the whole.

Knows how aiohttp's connections end; must not know what was asked. Source: RFC 9112, 8 (incomplete
messages).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Final, Self

import aiohttp
from aiohttp.connector import Connection

from remote_proxy.reach.failures import Failure, OriginError, translated
from remote_proxy.reach.limits import Count

CHUNK: Final = 64 << 10
"""Bytes of a body handed on at a time, at most."""


class WatchedResponse(aiohttp.ClientResponse):
    """Knows how its connection ended: to aiohttp, a reset ends a body without length as well as a
    close does, and the half that came would pass for the whole."""

    ended: asyncio.Future[None] | None = None

    async def start(self, connection: Connection) -> Self:
        protocol = connection.protocol
        self.ended = protocol.closed if protocol is not None else None
        if self.ended is not None:
            # Once per connection, lest asyncio complain of an exception nobody looked at.
            self.ended.remove_done_callback(_looked_at)
            self.ended.add_done_callback(_looked_at)
        await super().start(connection)
        return self

    @property
    def was_reset(self) -> bool:
        ended = self.ended
        return (
            ended is not None and ended.done() and not ended.cancelled() and bool(ended.exception())
        )


def _looked_at(ended: asyncio.Future[None]) -> None:
    if not ended.cancelled():
        ended.exception()


async def body_of(
    response: aiohttp.ClientResponse, host: str, idle: float, count: Count, *, until_close: bool
) -> AsyncIterator[bytes]:
    try:
        with translated(host):
            while True:
                try:
                    async with asyncio.timeout(idle):
                        chunk = await response.content.read(CHUNK)
                except Exception:
                    for chunk in _left(response.content):
                        count(len(chunk))
                        yield chunk
                    raise
                if not chunk:
                    break
                count(len(chunk))
                yield chunk
        if until_close and _was_reset(response):
            raise OriginError(Failure.RESET, f"{host} broke the connection off")
    except OriginError as error:
        if error.kind is Failure.PROTOCOL and _was_reset(response):
            raise OriginError(Failure.RESET, f"{host} broke the connection off") from error
        raise
    finally:
        if response.content.at_eof():
            response.release()
        else:
            response.close()


def _left(content: aiohttp.StreamReader) -> Iterator[bytes]:
    """What had come before the body broke off; aiohttp tells of the break at once instead."""
    while content._buffer:
        yield content._read_nowait(CHUNK)


def _was_reset(response: aiohttp.ClientResponse) -> bool:
    """Whether the connection was lost under a body that only its end would have delimited, or
    before its announced end."""
    return isinstance(response, WatchedResponse) and response.was_reset
