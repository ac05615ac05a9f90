"""An origin over https behind both proxies, and clients that speak TLS through a CONNECT."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import FakeOrigin, Pair, pair
from tests.end_to_end.roots import Root

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
TEXT = b"the secret " * 500


@asynccontextmanager
async def secure(
    folder: Path, *, tls: ssl.SSLContext | None = None, root: Root | None = None, **settings: Any
) -> AsyncIterator[tuple[FakeOrigin, Pair, Authority]]:
    """An https origin on 127.0.0.1 that the remote trusts, and a local proxy that takes TLS off."""
    root = root or Root(folder)
    authority = Authority.open(folder / "state")
    async with (
        FakeOrigin(tls=tls or root.server("127.0.0.1")).running() as origin,
        pair(tls=root.trusted(), authority=authority, **settings) as both,
    ):
        yield origin, both, authority


async def tls_through(
    both: Pair,
    authority: str,
    context: ssl.SSLContext,
    *,
    name: str = "127.0.0.1",
    agent: str = "test",
) -> Streams:
    """CONNECT, then TLS inside. Raises ssl.SSLError, ConnectionError."""
    reader, writer = await asyncio.open_connection(*both.address)
    writer.write(
        f"CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\nuser-agent: {agent}\r\n\r\n".encode()
    )
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    try:
        await writer.start_tls(context, server_hostname=name)
    except BaseException:
        writer.transport.abort()
        with contextlib.suppress(OSError):  # asyncio may have it logged by chance else
            await writer.wait_closed()
        raise
    return reader, writer


def trusting(pem: bytes, *, alpn: tuple[str, ...] = ("http/1.1",)) -> ssl.SSLContext:
    """A client that trusts one authority and no other."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=pem.decode())
    context.set_alpn_protocols(list(alpn))
    return context


async def get(streams: Streams, target: str, host: str, *, more: str = "") -> tuple[int, bytes]:
    """Status and body of one request on a connection that goes on."""
    reader, writer = streams
    writer.write(f"GET {target} HTTP/1.1\r\nhost: {host}\r\n{more}\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = int(head.split(" ")[1])
    if "transfer-encoding: chunked" in head:
        body = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += await reader.readexactly(size)
            await reader.readuntil(b"\r\n")
        await reader.readuntil(b"\r\n")
        return status, body
    return status, await reader.readexactly(int(head.split("content-length: ")[1].split("\r")[0]))


def host_of(origin: FakeOrigin) -> str:
    return origin.base.removeprefix("https://")


async def curl(both: Pair, ca: Path, *arguments: str) -> tuple[int, bytes, str]:
    """Exit code, output and complaints of a curl that trusts the certificates in one file."""
    process = await asyncio.create_subprocess_exec(
        *("curl", "-sS", "-i", "--http1.1", "--max-time", "20", "--cacert", str(ca)),
        *("--proxy", "http://{}:{}".format(*both.address), *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out, err.decode()


@asynccontextmanager
async def talker(greeting: bytes) -> AsyncIterator[str]:
    """A server that says `greeting` first and then repeats what it hears."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield "{}:{}".format(*server.sockets[0].getsockname())
    server.close()
    await server.wait_closed()
