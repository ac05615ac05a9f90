"""https through both proxies: real TLS to the client, real TLS to the origin."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from browsers import trust
from local_proxy.authority import Authority
from local_proxy.store import Store
from remote_proxy.origin import OriginConfig
from tests.end_to_end.pair import FakeOrigin, Pair, pair, run, until
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


# -- what is adapted -------------------------------------------------------------------------------


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


# -- faults of origins -----------------------------------------------------------------------------


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
async def demanding(root: Root, folder: Path, version: str) -> AsyncIterator[str]:
    """OpenSSL's server, which wants its client's certificate, and says so by an alert."""
    root.server("127.0.0.1")
    process = await asyncio.create_subprocess_exec(
        *("openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", folder / "127.0.0.1.pem"),
        *("-Verify", "1", "-verify_return_error", "-www", version),
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
            demanding(root, tmp_path, version) as host,
        ):
            streams = await tls_through(both, host, trusting(authority.certificate_pem))
            status, body = await get(streams, "/", host)
            assert status == 502
            assert "[local] tunnel" in body.decode()
            streams[1].close()

    run(go())


@pytest.mark.parametrize(
    ("speaks", "status", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", 502, "does not speak TLS"),
        (b"\x15\x03\x01\x00\x02\x02\x46", 502, "no version of TLS"),
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


# -- what stays opaque -----------------------------------------------------------------------------


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


@needs_curl
def test_a_client_that_rejected_the_authority_is_remembered_until_trust_was_set_up(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        root, state = Root(tmp_path), tmp_path / "state"
        async with secure(tmp_path, root=root, store=Store(state)) as (origin, both, _):
            origin.serve("/", TEXT)
            code, _, words = await curl(both, root.file, origin.base + "/")
            assert code == 60, words
        async with secure(tmp_path, root=root, store=Store(state)) as (origin, both, authority):
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


def test_clients_that_stop_in_the_handshake_hinder_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_proxy.https.HANDSHAKE_TIME", 0.5)
    monkeypatch.setattr("local_proxy.https.HELLO_TIME", 0.5)

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
