"""WebSockets on HTTP/2 streams (RFC 8441) through the pair: real servers, and a real browser."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bench.browsers.cdp import find_chromium
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import Asked, Pair, all_three, pair, run, until
from tests.end_to_end.roots import Root
from tests.end_to_end.test_chromium import shows
from tests.end_to_end.test_http2 import client_of
from tests.end_to_end.test_https_chromium import tab_through
from tests.end_to_end.test_websocket import ECHO, HELLO, TALK, Echo
from tests.local_proxy.http2_client import Answer, Client, Fields


def asking(host: str, path: str, *more: tuple[str, str], protocol: str = "websocket") -> Fields:
    return [
        *((":method", "CONNECT"), (":protocol", protocol), (":scheme", "http")),
        *((":authority", host), (":path", path), ("sec-websocket-version", "13")),
        *more,
    ]


async def opened(client: Client, fields: Fields) -> tuple[int, Answer]:
    number = client.ask_with(fields, end=False)
    await client.flush()
    answer = client.answers[number]
    while not answer.status and answer.reset is None:
        await client.hear()
    return number, answer


async def settled(both: Pair) -> None:
    await until(lambda: both.session.statistics().deliveries == 0)


def test_bytes_go_both_ways_beside_requests_until_either_ends() -> None:
    async def go() -> None:
        async with Echo().running() as echo, pair() as both:
            client = await client_of(both)
            chat = ("sec-websocket-protocol", "chat")
            number, answer = await opened(client, asking(echo.host, "/echo?x=1", chat))
            assert answer.status == 200
            assert answer.fields["sec-websocket-protocol"] == "chat"
            assert not {"sec-websocket-accept", "upgrade", "connection"} & answer.fields.keys()
            assert echo.asked[0].query_string == "x=1"
            client.http.send_data(number, HELLO)
            await client.flush()
            while answer.body != ECHO:
                await client.hear()
            page = [(":method", "GET"), (":scheme", "http"), (":authority", echo.host)]
            other = await client.answer(client.ask_with([*page, (":path", "/page")]))
            assert (other.status, other.body) == (426, b"no socket here")
            client.http.reset_stream(number)
            await client.flush()
            await until(lambda: not echo.open)
            await settled(both)
            client.close()

    run(go())


@pytest.mark.parametrize(("status", "seen"), [(426, 426), (403, 403), (200, 502), (204, 502)])
def test_an_answer_that_is_no_switch_is_never_taken_for_one(status: int, seen: int) -> None:
    async def go() -> None:
        async with Echo().running() as echo, pair() as both:
            client = await client_of(both)
            number, answer = await opened(client, asking(echo.host, f"/page?status={status}"))
            assert answer.status == seen
            if seen == status:
                client.http.end_stream(number)
                assert (await client.answer(number)).body == b"no socket here"
            client.close()
            await settled(both)

    run(go())


def test_a_server_that_does_not_answer_the_key_has_not_agreed() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):

            async def wrong(asked: Asked) -> None:
                assert len(asked.header("sec-websocket-key")) == 24
                await asked.send(
                    b"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    b"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\nbytes"
                )

            origin.paths["/"] = wrong
            client = await client_of(both)
            host = origin.base.removeprefix("http://")
            _, answer = await opened(client, asking(host, "/"))
            assert answer.status == 502
            client.close()
            await settled(both)

    run(go())


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (asking("host.test", "/", protocol="connect-udp"), 501),
        (asking("host.test", "/", protocol="WebSocket"), 501),
        (asking("a b", "/"), 400),
        (asking("host.test", "/")[:4] + asking("host.test", "/")[5:], 0),
        ([field for field in asking("host.test", "/") if field[0] != ":authority"], 0),
        ([(":protocol", "websocket"), *asking("host.test", "/")], 0),
    ],
)
def test_what_is_no_websocket_is_refused(fields: Fields, status: int) -> None:
    async def go() -> None:
        async with pair() as both:
            client = await client_of(both)
            _, answer = await opened(client, fields)
            assert answer.status == status
            client.close()

    run(go())


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
def test_a_browser_talks_over_the_connection_of_its_page(tmp_path: Path) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        async with (
            Echo().running(tls=root.server("127.0.0.1")) as echo,
            pair(tls=root.trusted(), authority=authority) as both,
            tab_through(both, authority.spki_sha256) as tab,
        ):
            await tab.call("Page.navigate", url=f"https://{echo.host}/page?status=200")
            await shows(tab, "no socket here")
            talk = TALK.replace("WHERE", f"wss://{echo.host}/echo")
            assert await tab.evaluate(talk) == '["chat",[1,1000,100000]]'
            # Over HTTP/2 Chromium sends no key, so ours stands last; its own precedes extensions.
            (request,) = (one for one in echo.asked if one.path == "/echo")
            names = [name.lower() for name in request.headers]
            assert names.index("sec-websocket-key") > names.index("sec-websocket-extensions")
            await until(lambda: not echo.open)

    asyncio.run(go())
