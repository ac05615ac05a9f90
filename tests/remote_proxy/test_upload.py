"""Tests of a request's body on its way: its length, and the clock that stands while it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import aiohttp
import pytest

from emulation.memory.virtual_time import run
from remote_proxy.origin.upload import sending_restarts_the_clock, uploaded
from remote_proxy.reach.failures import Failure, OriginError

PIECES = (b"ab", b"cde")


@dataclass(frozen=True)
class Patience:
    """Seconds for the origin."""

    head_timeout: float = 3.0
    upload_idle_timeout: float = 2.0


def sent(
    length: str | None,
    pieces: Sequence[bytes] = PIECES,
    *,
    comes: float = 0.0,
    takes: float = 0.0,
    answers: float = 0.0,
) -> tuple[list[bytes], int, float]:
    """What went out, the bytes that were counted, and when it was over. Each piece comes after
    `comes` seconds, the origin takes as many as `takes` for it and `answers` for its head."""

    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            await asyncio.sleep(comes)
            yield piece

    async def main() -> tuple[list[bytes], int, float]:
        counted: list[int] = []
        headers = [("content-length", length)] if length is not None else []
        went = []
        async with asyncio.timeout(1.0) as clock:
            stream = uploaded(body(), headers, clock, Patience(), counted.append)
            async for piece in stream:
                went.append(piece)
                await asyncio.sleep(takes)
            await asyncio.sleep(answers)
        return went, sum(counted), asyncio.get_running_loop().time()

    return run(main())


def test_a_body_goes_out_as_it_comes_and_is_counted() -> None:
    assert sent("5") == ([*PIECES], 5, 0.0)
    assert sent(None) == ([*PIECES], 5, 0.0)
    assert sent("not a number") == ([*PIECES], 5, 0.0)
    assert sent("0", []) == ([], 0, 0.0)


@pytest.mark.parametrize(("length", "said"), [("4", "longer"), ("6", "before its announced")])
def test_a_body_of_another_length_than_announced_fails(length: str, said: str) -> None:
    with pytest.raises(OriginError, match=said) as raised:
        sent(length)
    assert raised.value.kind is Failure.PROTOCOL


def test_time_does_not_count_while_the_body_comes_over_the_slow_link() -> None:
    assert sent("5", comes=1000.0)[2] == 2000.0


def test_an_origin_that_takes_nothing_for_long_is_given_up() -> None:
    assert sent("5", takes=1.9)[2] == pytest.approx(3.8)
    with pytest.raises(TimeoutError):
        sent("5", takes=2.1)


def test_the_time_for_the_head_begins_behind_the_body() -> None:
    assert sent("5", answers=2.9)[2] == pytest.approx(2.9)
    with pytest.raises(TimeoutError):
        sent("5", answers=3.1)


@pytest.mark.parametrize("sent_part", ["on_request_headers_sent", "on_request_chunk_sent"])
def test_what_has_been_sent_of_a_request_gives_the_head_its_time_anew(sent_part: str) -> None:
    async def main() -> float:
        trace = sending_restarts_the_clock(Patience())
        trace.freeze()
        loop = asyncio.get_running_loop()
        async with aiohttp.ClientSession() as session:
            try:
                async with asyncio.timeout(None) as clock:
                    await asyncio.sleep(10.0)
                    context = SimpleNamespace(trace_request_ctx=clock)
                    await getattr(trace, sent_part).send(session, context, None)
                    await asyncio.sleep(100.0)
            except TimeoutError:
                ended = loop.time()
            await getattr(trace, sent_part).send(session, context, None)  # its head has come
        return ended

    assert run(main()) == 10.0 + Patience().head_timeout
