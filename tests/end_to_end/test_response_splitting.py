"""Answers of origins made to be read in two ways: one reading or a clear error, and never a byte of
one answer in the next."""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass
from typing import Any

import h11
import pytest

from tests.end_to_end.pair import Address, Asked, all_three, pair, run
from tests.end_to_end.raw_origin import RawOrigin, Seen, echo

OK = b"HTTP/1.1 200 OK\r\n"
TEXT = OK + b"Content-Type: text/plain\r\n"
SMUGGLED = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"
BROKEN = (0, b"")
"""The connection ended before the answer did."""


@dataclass(frozen=True)
class Case:
    """What an origin writes, and what a browser may make of it."""

    raw: bytes
    outcomes: tuple[tuple[int, bytes], ...]
    """Status and body, any of these; of an error page only the status counts."""
    close: bool = False
    """The origin closes behind it."""


ABC = (200, b"abc")
BAD = (502, b"")

CASES = {
    "CL": Case(OK + b"Content-Length: 3\r\n\r\nabc", (ABC,)),
    "CL and TE": Case(
        OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        (ABC, BAD),
    ),
    "TE and CL": Case(
        OK + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        (ABC, BAD),
    ),
    "two CLs, equal": Case(OK + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", (ABC, BAD)),
    "two CLs, different": Case(OK + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabc", (BAD,)),
    "CL list": Case(OK + b"Content-Length: 3, 3\r\n\r\nabc", (ABC, BAD)),
    "CL list, different": Case(OK + b"Content-Length: 3, 5\r\n\r\nabc", (BAD,)),
    "CL plus": Case(OK + b"Content-Length: +3\r\n\r\nabc", (BAD,)),
    "CL minus": Case(OK + b"Content-Length: -3\r\n\r\nabc", (BAD,)),
    "CL of 25 digits": Case(OK + b"Content-Length: " + b"9" * 25 + b"\r\n\r\nabc", (BAD,)),
    "CL too small": Case(OK + b"Content-Length: 3\r\n\r\nabcdef", (ABC,), close=True),
    "CL too small, text": Case(TEXT + b"Content-Length: 3\r\n\r\nabcdef", (ABC,), close=True),
    "CL too small, closing": Case(
        OK + b"Connection: close\r\nContent-Length: 3\r\n\r\nabcdef", (ABC,), close=True
    ),
    "CL too small, open": Case(OK + b"Content-Length: 3\r\n\r\nabcdef", (ABC,)),
    "CL of 0 and a body": Case(OK + b"Content-Length: 0\r\n\r\nabc", ((200, b""),)),
    "CL too large": Case(OK + b"Content-Length: 9\r\n\r\nabc", (BROKEN,), close=True),
    "two answers": Case(OK + b"Content-Length: 3\r\n\r\nabc" + SMUGGLED, (ABC,)),
    "two answers, text": Case(TEXT + b"Content-Length: 3\r\n\r\nabc" + SMUGGLED, (ABC,)),
    "two answers, in chunks": Case(
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + SMUGGLED, (ABC,)
    ),
    "204 and a body": Case(b"HTTP/1.1 204 No\r\n\r\n" + SMUGGLED, ((204, b""),)),
    "304 and a body": Case(
        b"HTTP/1.1 304 No\r\nContent-Length: 3\r\n\r\n" + SMUGGLED, ((304, b""),)
    ),
    "no length": Case(OK + b"\r\nabc", (ABC,), close=True),
    "no length, a second answer": Case(OK + b"\r\n" + SMUGGLED, ((200, SMUGGLED),), close=True),
    "HTTP/1.0": Case(b"HTTP/1.0 200 OK\r\n\r\nabc", (ABC,), close=True),
    "HTTP/1.0 keep-alive": Case(
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc", (ABC,)
    ),
    "HTTP/1.0 in chunks": Case(
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        (ABC, BAD, (200, b"3\r\nabc\r\n0\r\n\r\n")),
        close=True,
    ),
    "HTTP/0.9": Case(b"abc", (BAD,), close=True),
    "HTTP/2.0": Case(b"HTTP/2.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", (ABC, BAD)),
    "TE identity": Case(
        OK + b"Transfer-Encoding: identity\r\n\r\nabc", (ABC, BAD), close=True
    ),
    "TE gzip": Case(OK + b"Transfer-Encoding: gzip\r\n\r\nabc", (BAD, ABC), close=True),
    "TE chunked, identity": Case(
        OK + b"Transfer-Encoding: chunked, identity\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        (BAD, ABC, (200, b"3\r\nabc\r\n0\r\n\r\n")),
        close=True,
    ),
    "TE xchunked": Case(
        OK + b"Transfer-Encoding: xchunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        (BAD, (200, b"3\r\nabc\r\n0\r\n\r\n")),
        close=True,
    ),
    "TE twice": Case(
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n0\r\n\r\n",
        (ABC, BAD),
        close=True,
    ),
    "bare line feeds": Case(b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", (ABC, BAD)),
    "bare CR in a value": Case(OK + b"X: a\rY: b\r\nContent-Length: 3\r\n\r\nabc", (ABC, BAD)),
    "NUL in a value": Case(OK + b"X: a\x00b\r\nContent-Length: 3\r\n\r\nabc", (ABC, BAD)),
    "control in a value": Case(OK + b"X: a\x01b\r\nContent-Length: 3\r\n\r\nabc", (ABC, BAD)),
    "folded": Case(OK + b"X: a\r\n b\r\nContent-Length: 3\r\n\r\nabc", (ABC, BAD)),
    "folded length": Case(OK + b"Content-Length:\r\n 3\r\n\r\nabc", (ABC, BAD)),
    "space before a colon": Case(OK + b"Content-Length : 3\r\n\r\nabc", (ABC, BAD), close=True),
    "no colon": Case(OK + b"nothing\r\nContent-Length: 3\r\n\r\nabc", (ABC, BAD)),
    "no reason": Case(b"HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc", (ABC,)),
    "odd reason": Case(b"HTTP/1.1 200 \xe4\x80\r\nContent-Length: 3\r\n\r\nabc", (ABC,)),
    "status 99": Case(b"HTTP/1.1 99 X\r\nContent-Length: 3\r\n\r\nabc", (BAD,)),
    "status 999": Case(b"HTTP/1.1 999 X\r\nContent-Length: 3\r\n\r\nabc", ((999, b"abc"), BAD)),
    "status 2000": Case(b"HTTP/1.1 2000 X\r\nContent-Length: 3\r\n\r\nabc", (BAD,)),
    "100 first": Case(b"HTTP/1.1 100 X\r\n\r\n" + OK + b"Content-Length: 3\r\n\r\nabc", (ABC,)),
    "103 first": Case(
        b"HTTP/1.1 103 X\r\nLink: </a>; rel=preload\r\n\r\n"
        + OK + b"Content-Length: 3\r\n\r\nabc",
        (ABC,),
    ),
    "101 unasked": Case(b"HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\nabc", (BAD,), close=True),
    "chunk: no size": Case(
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n", (BAD, BROKEN)
    ),
    "chunk: minus": Case(
        OK + b"Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n", (BAD, BROKEN)
    ),
    "chunk: 2^64 + 3": Case(
        OK + b"Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n",
        (BAD, BROKEN),
    ),
    "chunk: too long": Case(
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", (BAD, BROKEN)
    ),
    "chunk: cut": Case(
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", (BAD, BROKEN), close=True
    ),
    "chunk: trailers": Case(
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n", (ABC,)
    ),
    "chunk: Set-Cookie in a trailer": Case(
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nSet-Cookie: a=b\r\n\r\n",
        (ABC,),
    ),
    "chunk: CL in a trailer": Case(
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n",
        (ABC, BAD, BROKEN),
    ),
}  # fmt: skip


async def talk(proxy: Address, host: str) -> list[tuple[int, bytes]]:
    """A request for the case, and an innocent one behind it if the connection is still open."""
    found: list[tuple[int, bytes]] = []
    reader, writer = await asyncio.open_connection(*proxy)
    http = h11.Connection(h11.CLIENT)
    try:
        for target in ("/case", "/sentinel"):
            request = h11.Request(
                method="GET", target=f"http://{host}{target}", headers=[("Host", host)]
            )
            writer.write((http.send(request) or b"") + (http.send(h11.EndOfMessage()) or b""))
            found.append(await _answer(http, reader))
            if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
                break
            http.start_next_cycle()
    except (h11.RemoteProtocolError, ConnectionError):
        found.append(BROKEN)
    finally:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
    return found


async def _answer(http: h11.Connection, reader: asyncio.StreamReader) -> tuple[int, bytes]:
    status, body = 0, b""
    while not isinstance(event := await _event(http, reader), h11.EndOfMessage):
        if isinstance(event, h11.Response):
            status = event.status_code
            assert b"set-cookie" not in dict(event.headers)
        elif isinstance(event, h11.Data):
            body += event.data
    return status, body


async def _event(http: h11.Connection, reader: asyncio.StreamReader) -> Any:
    while (event := http.next_event()) is h11.NEED_DATA:
        http.receive_data(await reader.read(65536))
    if isinstance(event, h11.ConnectionClosed):
        raise ConnectionResetError("closed")
    return event


@functools.cache
def results() -> dict[str, list[tuple[int, bytes]] | str]:
    """All cases, one after the other, through one pair."""

    async def go() -> dict[str, list[tuple[int, bytes]] | str]:
        found: dict[str, list[tuple[int, bytes]] | str] = {}
        async with RawOrigin().running() as origin, pair() as both:
            for name, case in CASES.items():
                origin.answer = functools.partial(_respond, case=case)
                origin.close_behind = "/case" if case.close else ""
                try:
                    async with asyncio.timeout(60):
                        answers = await talk(both.address, origin.host)
                        # Another connection gets what the remote may have kept of the origin's.
                        answers += await talk_again(both.address, origin.host)
                        found[name] = answers
                except TimeoutError:
                    found[name] = "no answer, or half of one"
        return found

    return run(go(), timeout=120)


async def talk_again(proxy: Address, host: str) -> list[tuple[int, bytes]]:
    reader, writer = await asyncio.open_connection(*proxy)
    http = h11.Connection(h11.CLIENT)
    request = h11.Request(method="GET", target=f"http://{host}/again", headers=[("Host", host)])
    writer.write((http.send(request) or b"") + (http.send(h11.EndOfMessage()) or b""))
    try:
        return [await _answer(http, reader)]
    finally:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


def _respond(seen: Seen, *, case: Case) -> bytes:
    return case.raw if seen.target == "/case" else echo(seen)


@pytest.mark.parametrize("name", CASES)
def test_one_reading_or_an_error(name: str) -> None:
    case, found = CASES[name], results()[name]
    assert not isinstance(found, str), found
    first, *others = found
    assert (first if first[0] != 502 else BAD) in case.outcomes
    assert others[-1] == (200, b"GET /again ")
    assert others[:-1] in ([(200, b"GET /sentinel ")], [])
    if first != BROKEN:
        assert len(others) == 2


def test_an_answer_that_nobody_asked_for_is_nobodys() -> None:
    """It comes while the connection is kept for the next request."""

    async def go() -> None:
        async with all_three() as (origin, both):
            read, ended = asyncio.Event(), asyncio.Event()

            async def first(asked: Asked) -> None:
                await asked.answer(b"first", "text/plain")
                await read.wait()
                await asked.send(SMUGGLED)
                assert await asked.reader.read() == b""
                ended.set()

            origin.paths["/first"] = first
            origin.serve("/second", b"second", "text/plain")
            assert (await both.client.get(origin.base + "/first")).body == b"first"
            read.set()
            await ended.wait()
            assert (await both.client.get(origin.base + "/second")).body == b"second"

    run(go())


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_length_with_leading_zeros_reaches_the_client_in_its_one_reading(method: str) -> None:
    """It is legal, so the answer stands; what could be taken for framing by others does not."""

    def respond(seen: Seen) -> bytes:
        head = OK + b"Content-Length: 0010\r\nTransfer_Encoding: chunked\r\nX_Kept: 1\r\n\r\n"
        return head + (b"" if seen.method == "HEAD" else b"abcdefghij")

    async def go() -> bytes:
        async with RawOrigin().running() as origin, pair() as both:
            origin.answer = respond
            reader, writer = await asyncio.open_connection(*both.address)
            writer.write(
                f"{method} http://{origin.host}/x HTTP/1.1\r\nHost: {origin.host}\r\n"
                "Connection: close\r\n\r\n".encode()
            )
            answer = await reader.read()
            writer.close()
            return answer

    head, _, body = run(go()).lower().partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0].startswith(b"http/1.1 200")
    assert b"content-length: 10" in lines
    assert b"x_kept: 1" in lines
    assert b"transfer_encoding" not in head
    assert body == (b"abcdefghij" if method == "GET" else b"")
