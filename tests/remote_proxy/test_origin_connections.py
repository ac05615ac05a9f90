"""Connections to origins: refused, to none, to the wrong ones, used again."""

from __future__ import annotations

import asyncio

import pytest

from remote_proxy.origin.client import ForwardedRequest, Origin, OriginConfig, end_to_end
from remote_proxy.reach.failures import Failure, OriginError
from tests.remote_proxy.raw_origin import HERE, QUICK, get, saying, server
from wire.origin_request import OriginRequest


def test_a_refused_connection() -> None:
    async def run() -> None:
        async with server(saying()) as base:
            port = base.rpartition(":")[2]
        await get(f"http://127.0.0.1:{port}/")

    with pytest.raises(OriginError) as raised:
        asyncio.run(run())
    assert raised.value.kind is Failure.REFUSED


def test_an_unknown_name() -> None:
    with pytest.raises(OriginError) as raised:
        asyncio.run(get("http://no-such-name.invalid/"))
    assert raised.value.kind is Failure.DNS


def test_plain_text_where_tls_should_be() -> None:
    async def run() -> None:
        async with server(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as base:
            await get(base.replace("http:", "https:"))

    async def speak_at_once() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        async with server(serve) as base:
            await get(base.replace("http:", "https:"))

    with pytest.raises(OriginError) as raised:
        asyncio.run(speak_at_once())
    assert raised.value.kind is Failure.TLS


@pytest.mark.parametrize(
    "url", ["ftp://h/", "http://127.1/", "http://2130706433/", "http://",
            "nonsense", "http://h/a b", "http://h/\r\nx", "http://h:x/",
            "http://h/é", "http:///p", "http://[::1/"]
)  # fmt: skip
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(OriginError) as raised:
        asyncio.run(get(url))
    assert raised.value.kind is Failure.PROTOCOL


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_loopback_is_closed_unless_it_is_allowed(host: str) -> None:
    async def run() -> None:
        async with Origin(QUICK) as origin:
            await origin.fetch(ForwardedRequest(OriginRequest("GET", f"http://{host}:8009/", [])))

    with pytest.raises(OriginError, match=r"allow = ") as raised:
        asyncio.run(run())
    assert raised.value.kind is Failure.FORBIDDEN
    assert raised.value.status == 403


def test_connections_are_used_again_and_bounded_per_host() -> None:
    open_now = most = total = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most, total
        open_now, total = open_now + 1, total + 1
        most = max(most, open_now)
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(0.01)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        finally:
            open_now -= 1

    async def one(origin: Origin, base: str) -> None:
        response = await origin.fetch(ForwardedRequest(OriginRequest("GET", base, [])))
        assert [chunk async for chunk in response.body] == [b"ok"]

    async def run() -> None:
        async with server(serve) as base, Origin(OriginConfig(per_host=3), guard=HERE) as origin:
            await asyncio.gather(*(one(origin, base) for _ in range(12)))

    asyncio.run(run())
    assert most == total == 3


def test_hop_by_hop_fields() -> None:
    headers = [("connection", "a, B"), ("a", "1"), ("b", "2"), ("c", "3"), ("te", "x")]
    assert end_to_end(headers) == [("c", "3")]
