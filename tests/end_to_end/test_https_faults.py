"""Origins whose TLS is not in order: what the page says of each, and whom it tells what to do."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from remote_proxy.origin.client import OriginConfig
from tests.end_to_end.pair import run
from tests.end_to_end.roots import Root
from tests.end_to_end.secure_sites import (
    get,
    host_of,
    secure,
    tls_through,
    trusting,
)


def _hello_of(version: tuple[int, int]) -> bytes:
    """A ServerHello that settles on this version, whatever was offered (RFC 4346, 7.4.1.3)."""
    hello = bytes(version) + bytes(32) + b"\x00" + b"\x00\x35" + b"\x00"
    message = b"\x02" + len(hello).to_bytes(3) + hello
    return b"\x16" + bytes(version) + len(message).to_bytes(2) + message


FAULTS = {
    "expired": ({"ends": timedelta(hours=-1)}, ["127.0.0.1"], "has expired"),
    "future": ({"begins": timedelta(hours=1)}, ["127.0.0.1"], "not valid yet"),
    "name": ({}, ["elsewhere.test"], "for another name"),
    "self-signed": ({"self_signed": True}, ["127.0.0.1"], "self-signed"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_origins_certificate_is_named(tmp_path: Path, fault: str) -> None:
    options, names, words = FAULTS[fault]

    async def go() -> None:
        root = Root(tmp_path)
        tls = root.server(*names, **options)
        async with secure(tmp_path, tls=tls, root=root) as (origin, both, authority):
            origin.serve("/", b"never seen", "text/plain")
            host = host_of(origin)
            streams = await tls_through(both, host, trusting(authority.certificate_pem))
            status, body = await get(streams, "/", host)
            assert status == 502
            assert words in body.decode()
            assert "127.0.0.1" in body.decode()
            assert not origin.asked
            streams[1].close()

    run(go())


def test_an_origin_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    async def go() -> None:
        other = Root(tmp_path, name="other root")
        async with secure(tmp_path, tls=other.server("127.0.0.1")) as (origin, both, authority):
            host = host_of(origin)
            streams = await tls_through(both, host, trusting(authority.certificate_pem))
            status, body = await get(streams, "/", host)
            assert status == 502
            assert "issuer" in body.decode()
            assert not origin.asked
            streams[1].close()

    run(go())


@asynccontextmanager
async def openssl_server(root: Root, folder: Path, *options: str) -> AsyncIterator[str]:
    """OpenSSL's own server; host and port."""
    root.server("127.0.0.1")
    process = await asyncio.create_subprocess_exec(
        *("openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", folder / "127.0.0.1.pem"),
        *("-www", *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        async for line in process.stdout:
            if line.startswith(b"ACCEPT "):
                yield line.decode().split()[1]
                break
    finally:
        process.kill()
        await process.communicate()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine")
@pytest.mark.parametrize("version", ["-tls1_3", "-tls1_2"])
def test_a_site_that_wants_a_certificate_of_the_clients_says_how_to_reach_it(
    tmp_path: Path, version: str
) -> None:
    async def go() -> None:
        root = Root(tmp_path)
        async with (
            secure(tmp_path, root=root) as (_, both, authority),
            openssl_server(root, tmp_path, "-Verify", "1", "-verify_return_error", version) as host,
        ):
            streams = await tls_through(both, host, trusting(authority.certificate_pem))
            status, body = await get(streams, "/", host)
            assert status == 502
            assert "[local] tunnel" in body.decode()
            streams[1].close()

    run(go())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine")
@pytest.mark.parametrize("version", ["-tls1_1", "-tls1"])
def test_a_site_whose_tls_is_too_old_is_told_from_others(tmp_path: Path, version: str) -> None:
    async def go() -> None:
        root = Root(tmp_path)
        async with (
            secure(tmp_path, root=root) as (_, both, authority),
            openssl_server(root, tmp_path, version, "-cipher", "ALL:@SECLEVEL=0") as host,
        ):
            streams = await tls_through(both, host, trusting(authority.certificate_pem))
            status, body = await get(streams, "/", host)
            assert status == 502
            assert "older than TLS 1.2" in body.decode()
            streams[1].close()

    run(go())


@pytest.mark.parametrize(
    ("speaks", "status", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", 502, "does not speak TLS"),
        (b"\x15\x03\x01\x00\x02\x02\x46", 502, "no version of TLS"),
        (_hello_of((3, 2)), 502, "older than TLS 1.2"),
        (b"\x15\x03\x01\x00\x02\x02\x28", 502, "no encryption that is safe"),
        (b"", 504, "took too long"),
    ],
)
def test_what_does_not_speak_our_tls_is_named(
    tmp_path: Path, speaks: bytes, status: int, words: str
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(speaks)
        await reader.read()
        writer.close()

    async def go() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        host = "{}:{}".format(*server.sockets[0].getsockname())
        quick = OriginConfig(connect_timeout=0.5)
        async with secure(tmp_path, config=quick) as (_, both, authority):
            streams = await tls_through(both, host, trusting(authority.certificate_pem))
            got, body = await get(streams, "/", host)
            assert got == status
            assert words in body.decode()
            streams[1].close()
        server.close()
        await server.wait_closed()

    run(go())
