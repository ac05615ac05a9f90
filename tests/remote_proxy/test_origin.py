"""The origin client against servers that misbehave. Real sockets on loopback, small limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from remote_proxy.origin.client import ForwardedRequest, Origin, OriginConfig, OriginResponse
from remote_proxy.reach.failures import Failure, OriginError
from tests.remote_proxy.raw_origin import HERE, HURRIED, QUICK, Serve, get, saying, server
from wire.origin_request import OriginRequest


def outcome(
    serve: Serve, *, method: str = "GET", config: OriginConfig = QUICK
) -> tuple[OriginResponse, bytes]:
    async def run() -> tuple[OriginResponse, bytes]:
        async with server(serve) as base:
            return await get(base + "/", method=method, config=config)

    return asyncio.run(run())


def failure(serve: Serve, *, config: OriginConfig = QUICK) -> OriginError:
    with pytest.raises(OriginError) as raised:
        outcome(serve, config=config)
    return raised.value


def test_head_and_body_come_as_they_were_sent() -> None:
    response, body = outcome(
        saying(
            b"HTTP/1.1 200 Very Well\r\nSet-Cookie: a=1\r\nX-Odd: \xe9\r\nset-cookie: b=2\r\n"
            b"Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nContent-Encoding: gzip\r\n"
            b"Content-Length: 5\r\n\r\nhe",
            b"llo",
        )
    )
    assert (response.status, response.reason, response.length) == (200, "Very Well", 5)
    assert response.headers == [
        ("set-cookie", "a=1"),
        ("x-odd", "é"),
        ("set-cookie", "b=2"),
        ("content-encoding", "gzip"),
        ("content-length", "5"),
    ]
    assert body == b"hello"


@pytest.mark.parametrize("kind", ["text/html; a*=idna''%ff", "a*=undefined''b", "", ";", "\xff"])
def test_a_type_that_is_none_is_passed_on(kind: str) -> None:
    field = f"content-type: {kind}\r\ncontent-length: 2\r\n\r\nok".encode("latin-1")
    response, got = outcome(saying(b"HTTP/1.1 200 OK\r\n" + field))
    assert response.headers[0] == ("content-type", kind)
    assert got == b"ok"


def test_redirects_are_answers() -> None:
    response, _ = outcome(
        saying(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
    )
    assert response.status == 302
    assert ("location", "http://127.0.0.1:1/") in response.headers


@pytest.mark.parametrize(
    ("said", "method", "length", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HEAD", 0, b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "GET", 0, b""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "GET", 0, b""),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", "GET", None, b"until the end"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "GET",
         2, b"ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "GET", None,
         b"ok"),
    ],
)  # fmt: skip
def test_lengths(said: bytes, method: str, length: int | None, body: bytes) -> None:
    response, got = outcome(saying(said), method=method)
    assert (response.length, got) == (length, body)


@pytest.mark.parametrize(
    "target", ["/a?", "/?", "/a|b%zz?q={}\"'", "/a/../b/./c", "/%7e//x;y=1?a?b", "?q", ""]
)
def test_the_url_goes_out_byte_for_byte(target: str) -> None:
    lines: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async def run() -> None:
        async with server(serve) as base:
            await get(base + target + "#fragment")

    asyncio.run(run())
    sent = target if target.startswith("/") else "/" + target
    assert lines[0].split(b"\r\n")[0] == b"GET " + sent.encode() + b" HTTP/1.1"


def test_nothing_is_added_to_the_request_and_bytes_are_kept() -> None:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\nSet-Cookie: never=again\r\n\r\n")

    async def run() -> str:
        async with server(serve) as base, Origin(QUICK, guard=HERE) as origin:
            headers = [("x-a", "é".encode().decode("latin-1")), ("x-a", "2"), ("te", "x"),
                       ("connection", "x-b"), ("x-b", "1"), ("host", "other")]  # fmt: skip
            for _ in range(2):
                response = await origin.fetch(
                    ForwardedRequest(OriginRequest("GET", base + "/", headers))
                )
                assert [chunk async for chunk in response.body] == []
            return base.partition("//")[2]

    host = asyncio.run(run())
    expected = f"GET / HTTP/1.1\r\nHost: {host}\r\nx-a: é\r\nx-a: 2\r\n\r\n".encode()
    assert heads == [expected, expected]


GARBAGE = [
    ("no HTTP", saying(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), Failure.PROTOCOL),
    ("nothing", saying(), Failure.RESET),
    ("reset before the head", saying(b"HTTP/1.1 200 OK\r\n", reset=True), Failure.RESET),
    ("half a head", saying(b"HTTP/1.1 200 OK\r\nContent-"), Failure.RESET),
    ("silence", saying(stay=True), Failure.TIMEOUT),
    ("a head that drips", saying(*[b"HTTP/1.1 200 OK\r\n"] + [b"a: b\r\n"] * 20, pause=0.05),
     Failure.TIMEOUT),
    ("interim responses for ever", saying(*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 20, pause=0.05),
     Failure.TIMEOUT),
    ("a huge field", saying(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 9000), Failure.PROTOCOL),
    ("fields for ever", saying(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 500), Failure.PROTOCOL),
    ("two lengths", saying(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
     Failure.PROTOCOL),
    ("a short body", saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"),
     Failure.PROTOCOL),
    ("a reset body", saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", pause=0.02,
                            reset=True), Failure.RESET),
    ("a reset body without length", saying(b"HTTP/1.1 200 OK\r\n\r\nshort", pause=0.02, reset=True),
     Failure.RESET),
    ("a silent body", saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", stay=True),
     Failure.TIMEOUT),
    ("chunks without end", saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok"),
     Failure.PROTOCOL),
    ("chunked garbage", saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
     Failure.PROTOCOL),
]  # fmt: skip


@pytest.mark.parametrize(
    ("serve", "kind"), [case[1:] for case in GARBAGE], ids=[case[0] for case in GARBAGE]
)
def test_what_is_broken_is_said_to_be(serve: Serve, kind: Failure) -> None:
    error = failure(serve, config=HURRIED if kind is Failure.TIMEOUT else QUICK)
    assert error.kind is kind
    assert error.status == (504 if kind is Failure.TIMEOUT else 502)
    assert "127.0.0.1" in str(error)


def test_the_bytes_before_the_break_arrive() -> None:
    async def run() -> tuple[bytes, Failure]:
        got = b""
        said = saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", pause=0.05)
        async with server(said) as base, Origin(QUICK, guard=HERE) as origin:
            response = await origin.fetch(ForwardedRequest(OriginRequest("GET", base, [])))
            try:
                async for chunk in response.body:
                    got += chunk
            except OriginError as error:
                return got, error.kind
        return got, Failure.DNS

    assert asyncio.run(run()) == (b"short", Failure.PROTOCOL)


def test_a_reset_after_the_whole_body_is_none_of_its_business() -> None:
    said = saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", reset=True)
    assert outcome(said)[1] == b"ok"


def test_a_body_too_long_is_cut_and_not_taken_for_the_next_response() -> None:
    async def run() -> list[bytes]:
        said = saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\nevil")
        bodies = []
        async with server(said) as base, Origin(QUICK, guard=HERE) as origin:
            for _ in range(2):
                response = await origin.fetch(ForwardedRequest(OriginRequest("GET", base, [])))
                bodies.append(b"".join([chunk async for chunk in response.body]))
        return bodies

    assert asyncio.run(run()) == [b"ok", b"ok"]


def test_a_slow_body_and_a_slow_reader_have_all_the_time_they_need() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"

    async def run() -> bytes:
        got = b""
        async with (
            server(saying(head, *[b"x"] * 10, pause=0.05)) as base,
            Origin(QUICK, guard=HERE) as origin,
        ):
            response = await origin.fetch(ForwardedRequest(OriginRequest("GET", base, [])))
            await asyncio.sleep(1.2)
            async for chunk in response.body:
                got += chunk
        return got

    assert asyncio.run(run()) == b"x" * 10


def test_a_body_is_not_read_ahead_of_its_reader() -> None:
    written = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(bytes(1 << 16))
            written += 1 << 16
            await writer.drain()

    async def run() -> None:
        async with server(serve) as base, Origin(QUICK, guard=HERE) as origin:
            response = await origin.fetch(ForwardedRequest(OriginRequest("GET", base, [])))
            first = await anext(response.body)
            assert 0 < len(first) <= 1 << 16
            await asyncio.sleep(0.2)
            response.close()

    asyncio.run(run())
    assert written < 16 << 20  # What the kernel's buffers hold, not what a disk can send.


def test_uploads_arrive_framed_as_announced() -> None:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        end = b"0\r\n\r\n" if b"chunked" in head else b"cd"
        seen.append(head.split(b"\r\n\r\n")[0].lower() + b"|" + await reader.readuntil(end))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async def body() -> AsyncIterator[bytes]:
        yield b"ab"
        await asyncio.sleep(1.2)  # Longer than any limit: the slow link is not the server's fault.
        yield b"cd"

    async def run() -> None:
        async with server(serve) as base, Origin(QUICK, guard=HERE) as origin:
            for headers in ([("content-length", "4")], []):
                response = await origin.fetch(
                    ForwardedRequest(OriginRequest("POST", base, headers), body())
                )
                assert response.status == 204
                response.close()

    asyncio.run(run())
    assert seen[0].endswith(b"|abcd") and b"content-length: 4" in seen[0]
    assert seen[1].endswith(b"|2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n")


@pytest.mark.parametrize("announced", ["3", "9"])
def test_an_upload_that_lies_about_its_length_fails(announced: str) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"abcd"

    async def run() -> None:
        async with server(saying(stay=True)) as base, Origin(QUICK, guard=HERE) as origin:
            headers = [("content-length", announced)]
            await origin.fetch(ForwardedRequest(OriginRequest("POST", base, headers), body()))

    with pytest.raises(OriginError) as raised:
        asyncio.run(run())
    assert raised.value.kind is Failure.PROTOCOL
    assert "upload" in str(raised.value)
