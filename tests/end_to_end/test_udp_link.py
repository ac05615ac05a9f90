"""The pair over UDP, and in segments over TCP: pages, bodies both ways, revocation, restarts,
networks that lose UDP."""

from __future__ import annotations

import asyncio
import json
import random
import socket

import pytest

from bench.pairs.ports import free_port
from tests.end_to_end.blocking_way import BlockingWay
from tests.end_to_end.pair import Asked, Pair, all_three, run, until
from tests.end_to_end.test_sites import PICTURE, furnish
from transport.paths import preferring_udp
from transport.stream import dialling_end

BODY = random.Random(3).randbytes(3_000_000)
"""More than the credit that a reader has not used."""


def carrier(both: Pair) -> str:
    session = both.local.uplink.session
    assert session is not None
    return session.link.statistics().transport


def test_a_download_and_an_upload_cross_whole() -> None:
    async def go() -> None:
        async with all_three(udp=True) as (origin, both):
            bodies: list[bytes] = []

            async def take(asked: Asked) -> None:
                bodies.append(await asked.body())
                await asked.answer(b"taken", "text/plain")

            origin.paths["/upload"] = take
            origin.serve("/file", BODY, "application/octet-stream")
            assert (await both.client.get(origin.base + "/file")).body == BODY
            posted = await both.client.get(origin.base + "/upload", method="POST", body=BODY)
            assert posted.body == b"taken"
            assert bodies == [BODY]
            assert carrier(both) == "udp"
            remote = both.session.link.statistics()
            assert remote.transport == "udp"
            assert remote.outgoing is not None
            assert remote.outgoing.source == "reports"  # the gate's, fed by acknowledgements

    run(go())


@pytest.mark.parametrize("kind", ["tcp", "udp", "atp-tcp"])
def test_a_page_is_the_same_over_any(kind: str) -> None:
    async def go() -> None:
        udp, segments = kind == "udp", kind == "atp-tcp"
        async with all_three(secure=True, udp=udp, segments=segments) as (origin, both):
            page = furnish(origin)
            assert b"text</body>" in (await both.browser.navigate(page)).body
            style = await both.browser.style(page + "s.css", page)
            assert style.body == b"@font-face{font-family:f;src:url(/f.woff2)} body{font:1em f}"
            picture = await both.browser.image(page + "p.jpg", page)
            assert picture.header("content-type") == "image/jpeg"
            plain = await both.client.get(page + "p.jpg")
            assert plain.body == PICTURE
            assert carrier(both) == kind

    run(go())


def test_downloads_and_restarts_in_segments() -> None:
    async def go() -> None:
        async with all_three(secure=True, segments=True, patience=20.0) as (origin, both):
            origin.serve("/file", BODY, "application/octet-stream")
            async with both.client.open(origin.base + "/file") as answer:
                body = await anext(answer.stream)
                await both.remote.stop()
                await both.remote.start()
                async for chunk in answer.stream:
                    body += chunk
            assert body == BODY
            assert carrier(both) == "atp-tcp"

    run(go())


def test_a_revoked_device_s_connection_ends() -> None:
    async def go() -> None:
        async with all_three(udp=True) as (_, both):
            server, remote = both.remote.server, both.remote
            assert server is not None
            assert server.udp is not None
            assert remote.keys is not None
            assert remote.security is not None
            assert server.udp.links == 1
            remote.keys.let_in({})
            remote.security.let_in({})
            server.end_unknown(remote.security)
            await until(lambda: not remote.sessions)
            await until(lambda: not both.local.uplink.connected)
            # It asks again, and is told why it gets nothing.
            await until(lambda: "sluice pair" in both.local.uplink.state().reason)

    run(go())


@pytest.mark.alone
def test_where_udp_gets_no_answer_tcp_carries_the_link_until_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preferring_udp, "FIRST_AGAIN", 0.2)
    monkeypatch.setattr(dialling_end, "LOOK", 0.05)

    async def go() -> None:
        loop = asyncio.get_running_loop()
        port = free_port()
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        silent.bind(("127.0.0.1", port))  # as a firewall that eats what comes
        async with all_three(udp=True, start_remote=False, remote_port=port) as (origin, both):
            keys, both.remote.keys = both.remote.keys, None
            began = loop.time()
            await both.remote.start()
            await both.connected()
            assert loop.time() - began < 3.5  # an attempt of before was refused; then a back-off
            assert carrier(both) == "tcp"
            answer = await both.client.get("http://sluice.local/status.json")
            link = json.loads(answer.body)["link"]
            assert link["transport"] == "tcp"
            assert "did not answer" in link["instead"]
            session = both.local.uplink.session
            assert both.remote.server is not None
            assert keys is not None
            silent.close()
            await both.remote.server.listen_udp("127.0.0.1", both.remote.port, keys=keys)
            await until(lambda: carrier(both) == "udp")
            assert both.local.uplink.session is session  # which has not noticed
            await both.serves(origin)

    run(go())


def test_a_download_goes_on_with_a_remote_that_was_restarted() -> None:
    async def go() -> None:
        async with all_three(udp=True, patience=20.0) as (origin, both):
            origin.serve("/file", BODY, "application/octet-stream")
            async with both.client.open(origin.base + "/file") as answer:
                body = await anext(answer.stream)
                await both.remote.stop()
                await both.remote.start()
                async for chunk in answer.stream:
                    body += chunk
            assert body == BODY
            assert origin.counts()["/file"] == 2
            await both.connected()
            assert carrier(both) == "udp"

    run(go())


def test_a_remote_that_was_killed_and_restarted_is_noticed_without_waiting_for_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dialling_end, "SILENCE", 1000.0)

    async def go() -> None:
        port = free_port()
        async with (
            BlockingWay(("127.0.0.1", port)) as way,
            all_three(udp=True, patience=20.0, start_remote=False, remote_port=way.address[1]) as (
                origin,
                both,
            ),
        ):
            both.remote.port = port
            await both.remote.start()
            await both.connected()
            await both.serves(origin)
            assert carrier(both) == "udp"
            way.udp_left = 0
            await both.remote.stop()  # as if killed: nobody hears its farewell
            way.udp_left = None
            await both.remote.start()
            await both.serves(origin)
            assert carrier(both) == "udp"

    run(go())


@pytest.mark.parametrize("left", [0, 1_000_000])
def test_udp_that_is_blocked_in_the_middle_gives_way_to_tcp_without_waiting_for_silence(
    left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialling_end, "SILENCE", 1000.0)

    async def go() -> None:
        port = free_port()
        async with (
            BlockingWay(("127.0.0.1", port)) as way,
            all_three(udp=True, start_remote=False, remote_port=way.address[1]) as (origin, both),
        ):
            both.remote.port = port
            await both.remote.start()
            await both.connected()
            await both.serves(origin)
            assert carrier(both) == "udp"
            session = both.local.uplink.session
            origin.serve("/file", BODY, "application/octet-stream")
            way.udp_left = left
            assert (await both.client.get(origin.base + "/file")).body == BODY
            assert way.blocks
            assert way.tcp_connections == 1
            assert carrier(both) == "tcp"
            assert both.local.uplink.session is session  # which has not noticed
            answer = await both.client.get("http://sluice.local/status.json")
            assert "UDP" in json.loads(answer.body)["link"]["instead"]

    run(go())
