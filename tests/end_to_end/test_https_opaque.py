"""Tunnels stay opaque: hosts never adapted, clients that reject us, what is not TLS."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from browsers import trust
from local_proxy.kept.store import LocalStore
from tests.end_to_end.pair import FakeOrigin, Pair, run, until
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


async def direct(both: Pair, origin: FakeOrigin, root: Root, **more: Any) -> int:
    """The status of a request whose TLS reaches the origin itself."""
    host = host_of(origin)
    streams = await tls_through(both, host, trusting(root.pem), **more)
    status, _ = await get(streams, "/", host)
    streams[1].close()
    return status


@pytest.mark.parametrize("pattern", ["127.0.0.1", "*"])
def test_hosts_that_are_never_adapted(tmp_path: Path, pattern: str) -> None:
    async def go() -> None:
        root = Root(tmp_path)
        async with secure(tmp_path, root=root, tunnel=[pattern]) as (origin, both, _):
            origin.serve("/", TEXT)
            assert await direct(both, origin, root) == 200

    run(go())


@needs_curl
@pytest.mark.parametrize("version", ["--tlsv1.3", "--tls-max=1.2"])
def test_a_client_that_rejects_the_authority_gets_a_tunnel_at_the_second_try(
    tmp_path: Path, version: str
) -> None:
    async def go() -> None:
        root = Root(tmp_path)
        async with secure(tmp_path, root=root) as (origin, both, authority):
            origin.serve("/", TEXT)
            https = both.local.https
            assert https is not None
            arguments = (*version.split("="), origin.base + "/")
            code, _, words = await curl(both, root.file, *arguments)
            assert code == 60, words
            await until(https.learnt)
            code, out, words = await curl(both, root.file, *arguments)
            assert (code, out[-len(TEXT) :]) == (0, TEXT), words
            (learnt,) = https.learnt()
            assert learnt.client.startswith("curl/")
            assert learnt.host == "*"
            # A client of another name, which trusts us, is adapted all the while.
            host = host_of(origin)
            streams = await tls_through(both, host, trusting(authority.certificate_pem))
            assert (await get(streams, "/", host))[0] == 200
            streams[1].close()

    run(go())


def test_a_client_that_leaves_in_silence_gets_a_tunnel_at_the_fourth_try(tmp_path: Path) -> None:
    """asyncio's own clients send no alert."""

    async def go() -> None:
        root = Root(tmp_path)
        async with secure(tmp_path, root=root) as (origin, both, _):
            origin.serve("/", TEXT)
            https = both.local.https
            assert https is not None
            for _ in range(3):
                with pytest.raises((ssl.SSLError, ConnectionError)):
                    await direct(both, origin, root)
            await until(https.learnt)
            assert await direct(both, origin, root) == 200

    run(go())


def test_another_name_inside_or_no_http_inside_stays_opaque(tmp_path: Path) -> None:
    async def go() -> None:
        root = Root(tmp_path)
        tls = root.server("127.0.0.1", "inside.test")
        async with secure(tmp_path, tls=tls, root=root) as (origin, both, _):
            origin.serve("/", TEXT)
            host = host_of(origin)
            for name, alpn in (("inside.test", "http/1.1"), ("127.0.0.1", "imap")):
                client = trusting(root.pem, alpn=(alpn,))
                streams = await tls_through(both, host, client, name=name)
                assert (await get(streams, "/", host))[0] == 200
                streams[1].close()

    run(go())


def test_a_server_that_speaks_first_is_heard(tmp_path: Path) -> None:
    async def go() -> None:
        async with talker(b"SSH-2.0-test\r\n") as address, secure(tmp_path) as (_, both, _a):
            status, reader, writer = await both.client.connect(address)
            assert status == 200
            assert await reader.readline() == b"SSH-2.0-test\r\n"
            writer.write(b"SSH-2.0-client\r\n")
            assert await reader.readline() == b"SSH-2.0-client\r\n"
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()

    run(go())


GARBAGE = {
    "http": b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    "not TLS": b"\x16\x04\x01\x00\x05hello",
    "not a hello": b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
    "huge": b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + bytes(16380),
    "records of one byte": b"\x16\x03\x01\x00\x01\x01" + b"\x16\x03\x01\x00\x01\x00" * 100,
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_what_is_not_a_hello_passes_through_byte_by_byte(tmp_path: Path, kind: str) -> None:
    async def go() -> None:
        async with talker(b"") as address, secure(tmp_path) as (_, both, _a):
            _, reader, writer = await both.client.connect(address)
            writer.write(GARBAGE[kind])
            assert await reader.readexactly(len(GARBAGE[kind])) == GARBAGE[kind]
            writer.close()

    run(go())


def test_a_hello_in_single_bytes_is_one_all_the_same(tmp_path: Path) -> None:
    async def go() -> None:
        async with secure(tmp_path) as (origin, both, authority):
            origin.serve("/", TEXT)
            host = host_of(origin)
            _, reader, writer = await both.client.connect(host)
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = trusting(authority.certificate_pem).wrap_bio(
                incoming, outgoing, server_hostname="127.0.0.1"
            )
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    for byte in outgoing.read():
                        writer.write(bytes([byte]))
                        await asyncio.sleep(0)
                    incoming.write(await reader.read(65536))
            tls.write(f"GET / HTTP/1.0\r\nhost: {host}\r\n\r\n".encode())
            writer.write(outgoing.read())
            incoming.write(await reader.read(-1))
            incoming.write_eof()
            answer = tls.read(65536)
            while data := tls.read(65536):
                answer += data
            assert answer.endswith(TEXT)
            writer.close()

    run(go())


@needs_curl
def test_a_client_that_rejected_the_authority_is_remembered_until_trust_was_set_up(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        root, state = Root(tmp_path), tmp_path / "state"
        async with secure(tmp_path, root=root, store=LocalStore(state)) as (origin, both, _):
            origin.serve("/", TEXT)
            code, _, words = await curl(both, root.file, origin.base + "/")
            assert code == 60, words
        async with secure(tmp_path, root=root, store=LocalStore(state)) as (
            origin,
            both,
            authority,
        ):
            origin.serve("/", TEXT)
            code, out, words = await curl(both, root.file, origin.base + "/")
            assert (code, out[-len(TEXT) :]) == (0, TEXT), words
            now = asyncio.get_running_loop().time
            asked = now()
            await asyncio.to_thread(trust.forget, state)
            while code := (await curl(both, authority.certificate_path, origin.base + "/"))[0]:
                assert code == 60, "the tunnel is opaque still, and shows the origin's certificate"
            assert now() - asked < 5.0

    run(go())
