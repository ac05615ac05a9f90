"""A request's body on its way to the origin, and the clock that runs meanwhile.

Time counts only while the origin is to act: what comes over the slow link may take what it takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Protocol

import aiohttp

from remote_proxy.reach.failures import Failure, OriginError
from remote_proxy.reach.limits import Count


class Patience(Protocol):
    """Seconds, of OriginConfig."""

    @property
    def head_timeout(self) -> float: ...
    @property
    def upload_idle_timeout(self) -> float: ...


def sending_restarts_the_clock(patience: Patience) -> aiohttp.TraceConfig:
    """The head's time runs from the last byte of the request that was sent."""

    async def restart(_: aiohttp.ClientSession, context: SimpleNamespace, __: Any) -> None:
        _set(context.trace_request_ctx, patience.head_timeout)

    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(restart)
    trace.on_request_chunk_sent.append(restart)
    return trace


def _set(clock: asyncio.Timeout, seconds: float | None) -> None:
    """Let the request fail so long from now; None: never. Nothing, once its head has come."""
    when = None if seconds is None else asyncio.get_running_loop().time() + seconds
    with suppress(RuntimeError):
        clock.reschedule(when)


def uploaded(
    body: AsyncIterator[bytes], headers: list[tuple[str, str]], clock: asyncio.Timeout,
    patience: Patience, count: Count,
) -> AsyncIterator[bytes]:  # fmt: skip
    """The request's body; fails where its length is not the one announced, lest both ends wait."""
    length = next((value for name, value in headers if name == "content-length"), "")
    announced = int(length) if length.isdecimal() else None
    return _upload(body, announced, clock, patience, count)


async def _upload(
    body: AsyncIterator[bytes],
    announced: int | None,
    clock: asyncio.Timeout,
    patience: Patience,
    count: Count,
) -> AsyncIterator[bytes]:
    """The clock runs while the server is to take a chunk, and stands while we wait for the next
    one, which comes over the slow link."""
    sent = 0
    _set(clock, None)
    async for chunk in body:
        sent += len(chunk)
        count(len(chunk))
        if announced is not None and sent > announced:
            raise OriginError(Failure.PROTOCOL, "the upload is longer than announced")
        _set(clock, patience.upload_idle_timeout)
        yield chunk
        _set(clock, None)
    if announced is not None and sent < announced:
        raise OriginError(Failure.PROTOCOL, "the upload ended before its announced length")
    _set(clock, patience.head_timeout)
