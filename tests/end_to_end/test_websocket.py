"""WebSockets through the pair, by every way that a client may take: real server, real clients."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from bench.browsers.cdp import find_chromium
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import Pair, pair, run, until
from tests.end_to_end.roots import Root
from tests.end_to_end.secure_sites import trusting
from tests.end_to_end.test_chromium import shows, tab_through

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
"""And what a server answers to it: RFC 6455, 1.3."""
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
UPGRADE = (
    "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n"
)
HELLO = bytes.fromhex("818537fa213d7f9f4d5158")
"""The masked frame `Hello`, and its echo: RFC 6455, 5.7."""
ECHO = bytes.fromhex("810548656c6c6f")


class Echo:
    """A server of WebSockets and of some pages that are none."""

    def __init__(self) -> None:
        self.address = ("", 0)
        self.asked: list[web.Request] = []
        self.open = 0

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Echo]:
        app = web.Application()
        app.router.add_get("/echo", self._echo)
        app.router.add_get("/page", self._page)
        app.router.add_get("/flood", self._flood)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        self.address = runner.addresses[0][:2]
        try:
            yield self
        finally:
            await runner.cleanup()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.address[1]}"

    async def _echo(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        socket = web.WebSocketResponse(protocols=("chat",))
        await socket.prepare(request)
        self.open += 1
        try:
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    await socket.send_str(message.data)
                elif message.type is aiohttp.WSMsgType.BINARY:
                    await socket.send_bytes(message.data)
        finally:
            self.open -= 1
        return socket

    async def _page(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        return web.Response(text="no socket here", status=int(request.query.get("status", "426")))

    async def _flood(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        for _ in range(64):
            await socket.send_bytes(bytes(65536))
        await socket.close()
        return socket


async def converse(both: Pair, url: str, *, tls: ssl.SSLContext | None = None) -> None:
    """Texts and bytes, small and large, with pings, to an orderly end."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(
            url,
            proxy=f"http://{both.address[0]}:{both.address[1]}",
            ssl=tls or True,
            protocols=("chat",),
            max_msg_size=0,
        ) as socket,
    ):
        assert socket.protocol == "chat"
        for size in (0, 1, 125, 126, 70_000, 1 << 20):
            await socket.send_str("x" * size)
            assert await socket.receive_str() == "x" * size
            await socket.send_bytes(bytes(size))
            assert await socket.receive_bytes() == bytes(size)
        await socket.ping(b"still there?")
        await socket.close()
        assert socket.close_code == 1000


def test_an_upgrade_in_absolute_form() -> None:
    async def go() -> None:
        async with Echo().running() as echo, pair() as both:
            await converse(both, f"ws://{echo.host}/echo")
            (request,) = echo.asked
            assert request.headers["host"] == echo.host
            assert request.headers["connection"].lower() == "upgrade"
            await until(lambda: not echo.open)
            await until(lambda: both.session.statistics().deliveries == 0)

    run(go(), timeout=30)


def test_inside_tls_that_is_taken_off(tmp_path: Path) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        async with (
            Echo().running(tls=root.server("127.0.0.1")) as echo,
            pair(tls=root.trusted(), authority=authority) as both,
        ):
            trust = trusting(authority.certificate_path.read_bytes())
            await converse(both, f"wss://{echo.host}/echo", tls=trust)
            assert len(echo.asked) == 1

    run(go(), timeout=30)


def test_a_server_that_nobody_vouches_for_gets_no_socket(tmp_path: Path) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        async with (
            Echo().running(tls=root.server("127.0.0.1", self_signed=True)) as echo,
            pair(tls=root.trusted(), authority=authority) as both,
        ):
            trust = trusting(authority.certificate_path.read_bytes())
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await converse(both, f"wss://{echo.host}/echo", tls=trust)
            assert refused.value.status == 502
            assert not echo.asked

    run(go(), timeout=30)


async def raw(both: Pair, host: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connected as browsers are for ws://, by CONNECT."""
    reader, writer = await asyncio.open_connection(*both.address)
    writer.write(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    return reader, writer


def test_in_a_tunnel() -> None:
    async def go() -> None:
        async with Echo().running() as echo, pair() as both:
            reader, writer = await raw(both, echo.host)
            writer.write(f"GET /echo HTTP/1.1\r\nHost: {echo.host}\r\n{UPGRADE}\r\n".encode())
            assert ACCEPT.encode() in await reader.readuntil(b"\r\n\r\n")
            writer.write(HELLO)
            assert await reader.readexactly(len(ECHO)) == ECHO
            writer.close()
            await until(lambda: not echo.open)

    run(go(), timeout=30)


def asking(echo: Echo, path: str, *, more: str = UPGRADE) -> bytes:
    return f"GET http://{echo.host}{path} HTTP/1.1\r\nHost: {echo.host}\r\n{more}\r\n".encode()


def test_the_answer_is_the_servers_to_the_byte() -> None:
    """Also what client and server say before they have heard of the other's agreement."""

    async def go() -> None:
        async with Echo().running() as echo, pair() as both:
            reader, writer = await asyncio.open_connection(*both.address)
            writer.write(asking(echo, "/echo") + HELLO)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            assert head[0] == "HTTP/1.1 101 Switching Protocols"
            fields = dict(line.split(": ", 1) for line in head[1:-2])
            low = {name.lower(): value for name, value in fields.items()}
            assert low["sec-websocket-accept"] == ACCEPT
            assert low["connection"].lower() == "upgrade"
            assert low["upgrade"] == "websocket"
            assert await reader.readexactly(len(ECHO)) == ECHO
            writer.close()
            await until(lambda: not echo.open)
            await until(lambda: both.session.statistics().deliveries == 0)

    run(go(), timeout=30)


@pytest.mark.parametrize("status", [426, 200, 204, 304, 403, 401])
def test_an_answer_that_is_no_switch_is_an_ordinary_one(status: int) -> None:
    async def go() -> None:
        async with Echo().running() as echo, pair() as both:
            reader, writer = await asyncio.open_connection(*both.address)
            for _ in range(2):  # twice: nothing may be left over on the connection
                writer.write(asking(echo, f"/page?status={status}"))
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 %d " % status)
                if status not in (204, 304):
                    assert await reader.readexactly(14) == b"no socket here"
            writer.write(asking(echo, "/page?status=200", more=""))
            await reader.readuntil(b"no socket here")
            writer.close()
            await until(lambda: both.session.statistics().deliveries == 0)

    run(go(), timeout=30)


@pytest.mark.parametrize(
    "more",
    [
        "Upgrade: websocket\r\n",
        "Connection: Upgrade\r\nUpgrade: h2c\r\n",
        "Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n",
    ],
)
def test_no_other_protocol_is_passed_on(more: str) -> None:
    async def go() -> None:
        async with Echo().running() as echo, pair() as both:
            reader, writer = await asyncio.open_connection(*both.address)
            body = "abc" if "Length" in more else ""
            writer.write(asking(echo, "/page?status=200", more=more) + body.encode())
            await reader.readuntil(b"no socket here")
            assert "upgrade" not in echo.asked[0].headers
            writer.close()

    run(go(), timeout=30)


def test_nobody_there() -> None:
    async def go() -> None:
        async with Echo().running() as echo, pair() as both:
            there = echo.address
            echo.address = ("127.0.0.1", 1)
            reader, writer = await asyncio.open_connection(*both.address)
            writer.write(asking(echo, "/echo"))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith((b"HTTP/1.1 502 ", b"HTTP/1.1 403 "))
            echo.address = there
            writer.close()

    run(go(), timeout=30)


def test_a_client_that_leaves_ends_the_servers_side_and_a_server_the_clients() -> None:
    async def go() -> None:
        async with Echo().running() as echo, pair() as both:
            reader, writer = await asyncio.open_connection(*both.address)
            writer.write(asking(echo, "/echo"))
            await reader.readuntil(b"\r\n\r\n")
            await until(lambda: echo.open)
            writer.transport.abort()
            await until(lambda: not echo.open)

            reader, writer = await asyncio.open_connection(*both.address)
            writer.write(asking(echo, "/flood"))
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"101" in head
            flood = await reader.readexactly(64 * (65536 + 10))
            assert flood.count(0) > 64 * 65536
            writer.write(bytes.fromhex("888000000000"))  # a close frame, masked
            await reader.read()  # the server's close frame, and the end
            writer.close()
            await until(lambda: both.session.statistics().deliveries == 0)
            await until(lambda: both.session.budget.used == 0)

    run(go(), timeout=30)


def test_a_tunnel_that_turns_into_a_download_is_told_apart() -> None:
    """Talk goes before pictures, a transfer among them; after a while it may talk again."""

    async def go() -> None:
        async with Echo().running() as echo, pair() as both:
            reader, writer = await asyncio.open_connection(*both.address)
            writer.write(asking(echo, "/echo"))
            await reader.readuntil(b"\r\n\r\n")
            tree = both.session.tree
            (leaf,) = tree.hierarchy.find(("tunnels",)).children.values()  # type: ignore[union-attr]
            assert leaf.kind == "tunnel"
            frame = b"\x82\xff" + (65536).to_bytes(8, "big") + bytes(4) + bytes(65536)
            writer.write(frame)
            await reader.readexactly(65546)
            assert leaf.kind == "other"
            writer.close()
            await until(lambda: not leaf.attached)

    run(go(), timeout=30)


TALK = """
new Promise((done, fail) => {
  const said = [], socket = new WebSocket("WHERE", ["chat"]);
  socket.onerror = () => fail(new Error("no socket"));
  socket.onopen = () => { for (const n of [1, 1000, 100000]) socket.send("x".repeat(n)); };
  socket.onmessage = (message) => {
    said.push(message.data.length);
    if (said.length === 3) { socket.close(); done(JSON.stringify([socket.protocol, said])); }
  };
})
"""


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
def test_a_browser_talks() -> None:
    async def go() -> None:
        async with Echo().running() as echo, pair() as both, tab_through(both) as tab:
            await tab.call("Page.navigate", url=f"http://{echo.host}/page?status=200")
            await shows(tab, "no socket here")
            talk = TALK.replace("WHERE", f"ws://{echo.host}/echo")
            reply = await tab.call(
                "Runtime.evaluate", expression=talk, awaitPromise=True, returnByValue=True
            )
            assert reply["result"]["value"] == '["chat",[1,1000,100000]]', reply
            assert echo.asked[-1].path == "/echo"
            assert both.local.front.statistics().tunnels >= 1

    asyncio.run(go())
