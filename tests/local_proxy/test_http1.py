"""The HTTP/1.1 front over real sockets on loopback: framing, order, good and bad requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Request, Response
from tests.local_proxy.http1_client import GET, Dial, ask, response, served, stream
from tests.local_proxy.small_core import SmallCore, hello


def test_keep_alive_and_forms() -> None:
    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(GET % b"one")
        head, body = await response(reader)
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert body == b"http://host.test/one"
        writer.write(b"GET /two HTTP/1.1\r\nHost: Sluice.Local\r\n\r\n")
        assert (await response(reader))[1] == b"http://sluice.local/two"

    assert served(SmallCore(), talk).statistics().requests == 2


def test_pipelined_requests_are_answered_in_order() -> None:
    gate = asyncio.Event()

    async def handler(request: Request) -> Response:
        if request.url.endswith("first"):
            await gate.wait()
        else:
            gate.set()
        return await hello(request)

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        post = b"POST http://host.test/first HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        writer.write(post + GET % b"second" + GET % b"third")
        other_reader, other = await dial()
        other.write(GET % b"other")
        await response(other_reader)
        bodies = [(await response(reader))[1] for _ in range(3)]
        assert [body.rpartition(b"/")[2] for body in bodies] == [b"first", b"second", b"third"]

    served(SmallCore(handler), talk)


def test_pipelined_bytes_cut_anywhere() -> None:
    data = GET % b"1" + b"\r\n" + GET % b"2"

    async def talk(dial: Dial) -> None:
        for cut in range(1, len(data), 7):
            reader, writer = await dial()
            writer.write(data[:cut])
            await asyncio.sleep(0)
            writer.write(data[cut:])
            assert (await response(reader))[1][-1:] == b"1"
            assert (await response(reader))[1][-1:] == b"2"
            writer.close()

    served(SmallCore(), talk)


async def upper(request: Request) -> Response:
    """The request's body in upper case, as it comes."""
    assert request.body is not None

    async def body() -> AsyncIterator[bytes]:
        assert request.body is not None
        async for chunk in request.body:
            yield chunk.upper()

    return Response(200, [], body())


def test_chunked_both_ways() -> None:
    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"3\r\nabc\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head.lower()
        assert await reader.readuntil(b"ABC\r\n") == b"3\r\nABC\r\n"
        writer.write(b"2;x=y\r\nde\r\n0\r\nTrailer: x\r\n\r\n")
        assert await reader.readexactly(12) == b"2\r\nDE\r\n0\r\n\r\n"
        writer.write(GET % b"")  # no body: the core fails, the connection does not
        assert (await response(reader))[0].startswith(b"HTTP/1.1 502 ")

    served(SmallCore(upper), talk)


def test_100_continue_is_sent_when_the_core_reads() -> None:
    async def handler(request: Request) -> Response:
        assert request.body is not None
        data = b"".join([chunk async for chunk in request.body])
        return Response(200, [], data.upper())

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        writer.write(b"ab" + GET % b"")
        assert (await response(reader))[1] == b"AB"

    served(SmallCore(handler), talk)


def test_no_100_continue_when_the_core_does_not_read() -> None:
    async def talk(dial: Dial) -> None:
        data = await ask(
            dial,
            b"POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
            b"Expect: 100-continue\r\n\r\n",
        )
        assert data.startswith(b"HTTP/1.1 200 ")
        assert data.endswith(b"http://a/")

    served(SmallCore(), talk)


@pytest.mark.parametrize(
    ("method", "status", "length", "expected"),
    [
        (b"HEAD", 200, b"1234", b"content-length: 1234"),
        (b"GET", 304, b"1234", b"content-length: 1234"),
        (b"GET", 204, b"1234", b""),
    ],
)
def test_responses_without_a_body(
    method: bytes, status: int, length: bytes, expected: bytes
) -> None:
    async def handler(request: Request) -> Response:
        return Response(status, [("content-length", length.decode())], b"never sent")

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        for _ in range(2):  # twice: a stray body byte would spoil the second
            writer.write(method + b" http://a/ HTTP/1.1\r\nHost: a\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 %d " % status)
            assert (b"content-length" in head) == bool(expected)
            assert expected in head

    served(SmallCore(handler), talk)


def test_conditional_requests_pass() -> None:
    async def handler(request: Request) -> Response:
        assert ("if-none-match", '"x"') in request.headers
        return Response(304, [("etag", '"x"')])

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b'GET http://a/ HTTP/1.1\r\nHost: a\r\nIf-None-Match: "x"\r\n\r\n')
        assert b'etag: "x"' in await reader.readuntil(b"\r\n\r\n")

    served(SmallCore(handler), talk)


def test_http10() -> None:
    async def handler(request: Request) -> Response:
        return Response(200, [], stream(b"a", b"b"))

    async def talk(dial: Dial) -> None:
        data = await ask(dial, b"GET http://a/ HTTP/1.0\r\n\r\n")
        head, _, body = data.partition(b"\r\n\r\n")
        assert b"chunked" not in head.lower()
        assert body == b"ab"

    served(SmallCore(handler), talk)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\n\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
        (b"GET /" + b"a" * 70000, 414),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 70000, 431),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n", 413),
        (b"CONNECT nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ],
)
def test_bad_requests_are_answered_and_closed(data: bytes, status: int) -> None:
    async def talk(dial: Dial) -> None:
        answer = await ask(dial, data)
        assert answer.startswith(b"HTTP/1.1 %d " % status)
        assert b"<h1>%d" % status in answer
        assert answer.count(b"HTTP/1.1") - answer.count(b"HTTP/1.1 here") == 1

    assert served(SmallCore(), talk, limits=FrontLimits(body=100)).statistics().refused == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"65\r\n" + b"a" * 101 + b"\r\n0\r\n\r\n", 413),
        (b"zz\r\nabc\r\n", 400),
        (b"3\r\nabcd\r\n0\r\n\r\n", 400),
    ],
)
def test_bad_bodies(body: bytes, status: int) -> None:
    async def handler(request: Request) -> Response:
        assert request.body is not None
        return Response(200, [], b"".join([chunk async for chunk in request.body]))

    async def talk(dial: Dial) -> None:
        head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert (await ask(dial, head + body)).startswith(b"HTTP/1.1 %d " % status)

    served(SmallCore(handler), talk, limits=FrontLimits(body=100))


def test_a_failing_core_is_a_page_and_the_connection_goes_on() -> None:
    async def handler(request: Request) -> Response:
        if request.url.endswith("bad"):
            raise ValueError("secret detail")
        if request.url.endswith("header"):
            return Response(200, [("x", "a\r\nSet-Cookie: evil=1")], b"")
        return await hello(request)

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(GET % b"bad" + GET % b"header" + GET % b"good")
        head, body = await response(reader)
        assert head.startswith(b"HTTP/1.1 502 ")
        assert b"ValueError" in body
        assert b"secret" not in body
        head, _ = await response(reader)
        assert head.startswith(b"HTTP/1.1 502 ")
        assert b"evil" not in head
        assert (await response(reader))[1].endswith(b"good")

    served(SmallCore(handler), talk)
