"""Adapted https: TLS of our own on the device, the origin's verified on the remote."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.pair import run, until
from tests.end_to_end.roots import Root
from tests.end_to_end.secure_sites import (
    TEXT,
    curl,
    get,
    host_of,
    needs_curl,
    secure,
    talker,
    tls_through,
    trusting,
)


@needs_curl
@pytest.mark.parametrize("version", ["--tlsv1.3", "--tls-max=1.2"])
def test_curl_that_trusts_the_authority_sees_the_origins_page(tmp_path: Path, version: str) -> None:
    async def go() -> None:
        async with secure(tmp_path) as (origin, both, authority):
            origin.serve("/page", TEXT, "text/plain", headers=[("alt-svc", 'h3=":443"')])
            code, out, words = await curl(
                both, authority.certificate_path, *version.split("="), "-w", "%{num_connects}",
                origin.base + "/page", origin.base + "/page",
            )  # fmt: skip
            assert code == 0, words
            assert out.count(TEXT) == 2
            assert b"alt-svc" not in out.lower()
            assert out.endswith(b"0"), "the second request has a connection of its own"
            assert origin.counts()["/page"] == 2

    run(go())


def test_requests_inside_tls_are_the_origins_and_no_others(tmp_path: Path) -> None:
    async def go() -> None:
        async with secure(tmp_path) as (origin, both, authority):
            origin.serve("/a", TEXT, "text/plain")
            host = host_of(origin)
            streams = await tls_through(both, host, trusting(authority.certificate_pem))
            assert await get(streams, "/a", host) == (200, TEXT)
            assert await get(streams, origin.base + "/a", host) == (200, TEXT)
            status, body = await get(streams, "/a", "other.test")
            assert status == 421
            assert b"no other" in body
            assert await streams[0].read() == b""
            streams[1].close()
            assert origin.counts() == {"/a": 2}
            assert origin.asked[0].header("host") == host

    run(go())


def test_a_large_body_both_ways_inside_tls(tmp_path: Path) -> None:
    async def go() -> None:
        async with secure(tmp_path) as (origin, both, authority):
            sent = bytes(range(256)) * 4000

            async def echo(asked: Any) -> None:
                await asked.answer(await asked.body(), "application/octet-stream")

            origin.paths["/echo"] = echo
            host = host_of(origin)
            reader, writer = await tls_through(both, host, trusting(authority.certificate_pem))
            writer.write(
                f"POST /echo HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(sent)}\r\n"
                "connection: close\r\n\r\n".encode()
            )
            writer.write(sent)
            head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert body == sent
            writer.close()

    run(go())


def test_the_status_page_answers_over_tls_too(tmp_path: Path) -> None:
    async def go() -> None:
        async with secure(tmp_path) as (_, both, authority):
            client = trusting(authority.certificate_pem)
            streams = await tls_through(both, "sluice.local:443", client, name="sluice.local")
            status, body = await get(streams, "/", "sluice.local")
            assert status == 200
            assert b"Sluice" in body
            streams[1].close()

    run(go())


def test_a_link_that_is_down_is_said_in_the_page_not_in_tls(tmp_path: Path) -> None:
    async def go() -> None:
        async with secure(tmp_path, patience=0.05) as (origin, both, authority):
            await both.remote.stop()
            await until(lambda: both.local.uplink.session is None)
            host = host_of(origin)
            streams = await tls_through(both, host, trusting(authority.certificate_pem))
            status, _ = await get(streams, "/", host)
            assert status in (502, 503, 504)
            streams[1].close()

    run(go())


def test_clients_that_stop_in_the_handshake_hinder_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_proxy.front.tls.connects.HANDSHAKE_TIME", 0.5)
    monkeypatch.setattr("local_proxy.front.tls.connects.HELLO_TIME", 0.5)

    async def go() -> None:
        async with talker(b"") as address, secure(tmp_path) as (origin, both, authority):
            origin.serve("/", TEXT)
            host = host_of(origin)
            outgoing = ssl.MemoryBIO()
            tls = trusting(authority.certificate_pem).wrap_bio(
                ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1"
            )
            with pytest.raises(ssl.SSLWantReadError):
                tls.do_handshake()
            hello = outgoing.read()
            _, after, first = await both.client.connect(host)
            first.write(hello)
            _, within, second = await both.client.connect(address)
            second.write(hello[:20])
            streams = await tls_through(both, host, trusting(authority.certificate_pem))
            assert (await get(streams, "/", host))[0] == 200
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await after.readexactly(1 << 20)  # our flight, then the end
            assert await within.readexactly(20) == hello[:20]  # not a hello in time: opaque
            for writer in (first, second, streams[1]):
                writer.close()

    run(go())


def test_a_private_root_is_trusted_besides_the_systems(tmp_path: Path) -> None:
    root = Root(tmp_path)
    context = root.trusted()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    subjects = [ca["subject"] for ca in context.get_ca_certs()]
    assert ((("commonName", "test root"),),) in subjects
