"""Origins say more than an answer's head and body: interim answers, and trailers."""

from __future__ import annotations

import asyncio
import gzip

import pytest
from h2.events import InformationalResponseReceived, TrailersReceived

from tests.end_to_end.pair import Address, Asked, Browser, FakeOrigin, all_three, run
from tests.end_to_end.test_http2 import client_of
from tests.local_proxy.http2_client import Client, Fields

HINT = b"HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload; as=style\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n"
FORBIDDEN = (
    b"Set-Cookie: a=b\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\nHost: evil\r\n"
    b"Content-Security-Policy: default-src *\r\nAccess-Control-Allow-Origin: *\r\nVia: 1.1 x\r\n"
    b"Location: /\r\nCache-Control: public\r\nWWW-Authenticate: Basic\r\nAlt-Svc: h3\r\nTE: x\r\n"
)


async def raw(proxy: Address, url: str, *fields: str) -> bytes:
    """All that comes back over one HTTP/1.1 connection."""
    reader, writer = await asyncio.open_connection(*proxy)
    head = [f"GET {url} HTTP/1.1", f"Host: {url.split('/')[2]}", "Connection: close", *fields]
    writer.write("\r\n".join([*head, "", ""]).encode())
    data = await reader.read()
    writer.close()
    await writer.wait_closed()
    return data


def ask(client: Client, origin: FakeOrigin, *more: tuple[str, str]) -> int:
    authority = origin.base.removeprefix("http://")
    fields: Fields = [(":method", "GET"), (":scheme", "http"), (":authority", authority)]
    return client.ask_with([*fields, (":path", "/"), *more])


def trailers(client: Client) -> list[tuple[str, str]]:
    found = [event for event in client.events if isinstance(event, TrailersReceived)]
    return [(str(n), str(v)) for event in found for n, v in event.headers]


@pytest.mark.parametrize("kind", [b"application/grpc", b"text/plain"])
def test_trailers_reach_a_client_that_takes_them(kind: bytes) -> None:
    async def go() -> None:
        async with all_three() as (origin, both):

            async def trailing(asked: Asked) -> None:
                assert (asked.header("te"), asked.header("connection")) in (
                    ("trailers", "TE"), ("", "keep-alive"), ("", "")
                )  # fmt: skip
                body = b"5\r\nhello\r\n0\r\nX-Sum: 1\r\nServer-Timing: db;dur=3\r\nX-Sum: 2\r\n\r\n"
                await asked.send(CHUNKED % kind + b"Trailer: X-Sum\r\n\r\n" + body)

            origin.paths["/"] = trailing
            url = origin.base + "/"
            ended = b"0\r\nx-sum: 1\r\nserver-timing: db;dur=3\r\nx-sum: 2\r\n\r\n"
            assert (await raw(both.address, url, "TE: trailers")).endswith(ended)
            assert (await raw(both.address, url)).endswith(b"\r\n0\r\n\r\n")
            client = await client_of(both)
            answer = await client.answer(ask(client, origin, ("te", "trailers")))
            assert (answer.body, answer.ended) == (b"hello", True)
            expected = [("x-sum", "1"), ("server-timing", "db;dur=3"), ("x-sum", "2")]
            assert trailers(client) == expected
            answer = await client.answer(ask(client, origin))
            assert (answer.body, answer.ended) == (b"hello", True)
            assert trailers(client) == expected
            assert origin.connections == 1
            client.close()

    run(go())


def test_what_must_not_trail_stays_behind() -> None:
    """Framing, routing, credentials, what becomes of the answer (RFC 9110, 6.5.1)."""

    async def go() -> None:
        async with all_three() as (origin, both):

            async def trailing(asked: Asked) -> None:
                body = b"5\r\nhello\r\n0\r\n" + FORBIDDEN + b"Grpc-Status: 0\r\n\r\n"
                await asked.send(CHUNKED % b"application/grpc" + b"\r\n" + body)

            origin.paths["/"] = trailing
            came = await raw(both.address, origin.base + "/", "TE: gzip;q=0.5 , Trailers")
            assert came.endswith(b"5\r\nhello\r\n0\r\ngrpc-status: 0\r\n\r\n")

    run(go())


def test_trailers_of_bytes_that_the_client_does_not_get_stay_behind() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):

            async def coded(asked: Asked) -> None:
                data = gzip.compress(b"hello " * 100)
                head = CHUNKED % b"text/plain" + b"Content-Encoding: gzip\r\n\r\n"
                body = b"%x\r\n%b\r\n0\r\nContent-Digest: sha-256=:x:\r\n\r\n" % (len(data), data)
                await asked.send(head + body)

            origin.paths["/"] = coded
            came = await raw(both.address, origin.base + "/", "TE: trailers")
            assert came.count(b"hello") == 100
            assert came.endswith(b"\r\n0\r\n\r\n")

    run(go())


def test_hints_come_at_once_over_http2_and_never_over_http1() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            heard = asyncio.Event()

            async def hinting(asked: Asked) -> None:
                await asked.send(HINT * 20)
                await heard.wait()
                await asked.answer(b"hello", "text/plain")

            origin.paths["/"] = hinting
            client = await client_of(both)
            number = ask(client, origin)
            await client.flush()
            while not client.answers[number].informed:
                await client.hear()
            heard.set()
            answer = await client.answer(number)
            assert (answer.status, answer.body) == (200, b"hello")
            assert answer.informed == [103] * 8
            events = [e for e in client.events if isinstance(e, InformationalResponseReceived)]
            assert ("link", "</s.css>; rel=preload; as=style") in events[0].headers
            answer = await client.answer(ask(client, origin, *Browser.navigation()))
            assert (answer.status, answer.informed) == (200, [])  # its parts are promised instead
            client.close()
            came = await raw(both.address, origin.base + "/")
            assert came.startswith(b"HTTP/1.1 200")
            assert b"103" not in came

    run(go())


def test_a_hint_that_nobody_could_write_is_left_out() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):

            async def hinting(asked: Asked) -> None:
                bad = b"HTTP/1.1 104 X\r\nConnection: X-Own\r\nX-Own: 1\r\nX: \xe9\r\n\r\n"
                await asked.send(bad)
                await asked.answer(b"hello", "text/plain")

            origin.paths["/"] = hinting
            client = await client_of(both)
            answer = await client.answer(ask(client, origin))
            assert (answer.status, answer.body, answer.informed) == (200, b"hello", [104])
            (event,) = (e for e in client.events if isinstance(e, InformationalResponseReceived))
            assert not [name for name, _ in event.headers if name == "x-own"]
            client.close()

    run(go())
