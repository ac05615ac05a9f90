"""The HTTP/1.1 front over real sockets on loopback: framing, order, leaving, back-pressure."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

import pytest

from local_proxy.http import Request, Response
from local_proxy.http1 import Http1Front
from local_proxy.http1_connection import Limits
from tests.local_proxy.small_core import Echo, SmallCore, hello

GET = b"GET http://host.test/%b HTTP/1.1\r\nHost: host.test\r\n\r\n"


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[], Awaitable[Streams]]


def served(
    core: SmallCore,
    talk: Callable[[Dial], Coroutine[None, None, None]],
    *,
    limits: Limits | None = None,
) -> Http1Front:
    """Run `talk` against a front; it must leave nothing behind."""

    async def main() -> Http1Front:
        front = Http1Front(core, limits=limits)
        host, port = await front.listen("127.0.0.1", 0)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(front.close)

            async def dial() -> Streams:
                reader, writer = await asyncio.open_connection(host, port)
                stack.callback(writer.close)
                return reader, writer

            async with asyncio.timeout(10):
                await talk(dial)
        assert front.statistics().connections == 0
        assert len(asyncio.all_tasks()) == 1
        return front

    return asyncio.run(main())


async def ask(dial: Dial, data: bytes) -> bytes:
    """Everything that comes back, the connection being closed by the front."""
    reader, writer = await dial()
    writer.write(data)
    return await reader.read()


async def response(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body (by Content-Length) of the next response."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return head, await reader.readexactly(int(length or 0))


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


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


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

    assert served(SmallCore(), talk, limits=Limits(body=100)).statistics().refused == 1


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

    served(SmallCore(handler), talk, limits=Limits(body=100))


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


@pytest.mark.parametrize(("length", "fails"), [(None, True), (10, True), (10, False)])
def test_a_body_that_stops_short_breaks_the_connection(length: int | None, fails: bool) -> None:
    done: list[bool] = []

    async def body() -> AsyncIterator[bytes]:
        yield b"abc"
        if fails:
            raise OSError("gone")

    async def handler(request: Request) -> Response:
        return Response(200, [], body(), length, [done.append])

    async def talk(dial: Dial) -> None:
        answer = await ask(dial, GET % b"")
        assert b"abc" in answer
        assert not answer.endswith(b"0\r\n\r\n")
        assert done == [False]

    served(SmallCore(handler), talk)


def test_http10_hears_of_a_broken_body_by_reset() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"abc"
        raise OSError("gone")

    async def handler(request: Request) -> Response:
        return Response(200, [], body())

    async def talk(dial: Dial) -> None:
        with pytest.raises(ConnectionResetError):
            await ask(dial, b"GET http://a/ HTTP/1.0\r\n\r\n")

    served(SmallCore(handler), talk)


def test_a_client_that_leaves_cancels_its_handler() -> None:
    cancelled, entered = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError("unreachable")

    async def talk(dial: Dial) -> None:
        _, writer = await dial()
        writer.write(GET % b"")
        await entered.wait()
        writer.close()
        async with asyncio.timeout(5):
            await cancelled.wait()

    served(SmallCore(handler), talk)
    assert cancelled.is_set()


def test_a_client_that_leaves_during_the_body() -> None:
    done: list[bool] = []
    closed = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def handler(request: Request) -> Response:
        return Response(200, [], body(), on_done=[done.append])

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(GET % b"")
        await reader.readuntil(b"first")
        writer.close()
        await closed.wait()

    served(SmallCore(handler), talk)
    assert done == [False]


def test_a_slow_client_holds_the_body_back() -> None:
    made = 0
    total = 64 << 20

    async def body() -> AsyncIterator[bytes]:
        nonlocal made
        for _ in range(total >> 16):
            made += 1 << 16
            yield bytes(1 << 16)

    async def handler(request: Request) -> Response:
        return Response(200, [], body(), total)

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(GET % b"")
        await reader.readuntil(b"\r\n\r\n")
        other_reader, other = await dial()
        stalled = -1
        while stalled != made:  # until nothing more is made in a whole other exchange
            stalled = made
            other.write(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
            await other_reader.readuntil(b"\r\n\r\n")
        assert made < 16 << 20
        left = total
        while left:
            left -= len(await reader.read(1 << 20))
        assert made == total

    served(SmallCore(handler), talk)


def test_heads_must_come_in_time_and_idle_connections_end() -> None:
    async def talk(dial: Dial) -> None:
        assert (await ask(dial, b"GET / HT")).startswith(b"HTTP/1.1 408 ")
        assert await ask(dial, b"") == b""

    served(SmallCore(), talk, limits=Limits(head_time=0.02, idle_time=0.02))


def test_too_many_connections() -> None:
    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(GET % b"1")
        await response(reader)
        assert (await ask(dial, b"")).startswith(b"HTTP/1.1 503 ")
        writer.write(GET % b"2")
        assert (await response(reader))[1].endswith(b"2")

    served(SmallCore(), talk, limits=Limits(connections=1))


def test_tunnel_with_half_close() -> None:
    far = Echo(parting=b"bye")
    core = SmallCore(far=far)

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"CONNECT Host.Test:443 HTTP/1.1\r\nHost: x\r\n\r\nearly")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert b"transfer-encoding" not in head.lower()
        assert await reader.readexactly(5) == b"early"
        writer.write(b"late")
        assert await reader.readexactly(4) == b"late"
        writer.write_eof()
        assert await reader.read() == b"bye"

    assert served(core, talk).statistics().tunnels == 1
    assert core.asked == [("host.test", 443)]
    assert far.closed.is_set()


def test_tunnel_refused_and_then_a_request() -> None:
    core = SmallCore(far=Response(403, [], b"no"))

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"CONNECT a:443 HTTP/1.1\r\nHost: x\r\n\r\n" + GET % b"1")
        head, body = await response(reader)
        assert head.startswith(b"HTTP/1.1 403 ")
        assert body == b"no"
        assert (await response(reader))[1].endswith(b"1")

    served(core, talk)


def test_tunnel_ends_with_the_front() -> None:
    far = Echo()

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"CONNECT a:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")

    served(SmallCore(far=far), talk)
    assert far.closed.is_set()


@pytest.mark.parametrize("error", [OSError("the link broke"), ConnectionResetError("reset")])
def test_a_tunnel_that_breaks_resets_the_client(error: Exception) -> None:
    class Breaking(Echo):
        async def write(self, data: bytes) -> None:
            raise error

    far = Breaking()

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"CONNECT a:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"x")
        with pytest.raises(ConnectionResetError):
            await reader.read()

    served(SmallCore(far=far), talk)
    assert far.closed.is_set()


def test_a_half_closed_tunnel_in_which_nothing_moves_ends() -> None:
    class Silent(Echo):
        async def end(self) -> None:
            pass

    far = Silent()

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"CONNECT a:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.write_eof()
        assert await reader.read() == b""

    served(SmallCore(far=far), talk, limits=Limits(idle_time=0.02))
    assert far.closed.is_set()
