"""Real clients over HTTP/2: curl with prior knowledge, and inside TLS through a CONNECT."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
import ssl
from pathlib import Path

import pytest

from local_proxy.front.listener import PROTOCOLS, Front
from local_proxy.front.tls.authority import Authority
from local_proxy.front.tls.connects import Https
from local_proxy.http.model import Duplex, Request, Response
from tests.local_proxy.http2_client import Client, Fields

CURL = shutil.which("curl")
needs_curl = pytest.mark.skipif(CURL is None, reason="no curl on this machine")


class Core:
    """Says what it was asked, and how; swallows uploads."""

    async def handle(self, request: Request) -> Response:
        digest = hashlib.sha256()
        if request.body is not None:
            async for chunk in request.body:
                digest.update(chunk)
        text = f"{request.method} {request.url} {request.multiplexed} {digest.hexdigest()}"
        return Response(200, [("content-type", "text/plain")], text.encode())

    async def connect(self, host: str, port: int, **how: object) -> Duplex | Response:
        return Response(502, [], b"")


async def curl(*arguments: str) -> str:
    assert CURL is not None
    process = await asyncio.create_subprocess_exec(
        *(CURL, "-sS", "--max-time", "10", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


EMPTY = hashlib.sha256().hexdigest()


@needs_curl
def test_curl(tmp_path: Path) -> None:
    data = bytes(range(256)) * 8192  # 2 MB: many windows
    (tmp_path / "upload").write_bytes(data)

    async def main() -> None:
        authority = Authority.open(tmp_path / "ca")
        front = Front(Core(), https=Https(authority, now=asyncio.get_running_loop().time))
        host, port = await front.listen("127.0.0.1", 0)
        here = f"{host}:{port}"
        upload = ("--data-binary", f"@{tmp_path / 'upload'}")
        try:
            plain = await curl("--http2-prior-knowledge", f"http://{here}/a", *upload)
            assert plain == f"POST http://{here}/a True {hashlib.sha256(data).hexdigest()}"
            trust = ("--cacert", str(authority.certificate_path))
            tunnel = ("-x", f"http://{here}", *trust, "-w", " %{http_version}")
            inside = await curl(*tunnel, "https://site.test/b", *upload)
            digest = hashlib.sha256(data).hexdigest()
            assert inside == f"POST https://site.test/b True {digest} 2"
            older = await curl(*tunnel, "--http1.1", "https://site.test/c")
            assert older == f"GET https://site.test/c False {EMPTY} 1.1"
            over_tls = ("-x", f"https://{here}", "--proxy-cacert", str(authority.certificate_path))
            assert await curl(*over_tls, "http://site.test/d") == (
                f"GET http://site.test/d False {EMPTY}"
            )
            both = await curl(*over_tls, *trust, "-w", " %{http_version}", "https://site.test/e")
            assert both == f"GET https://site.test/e True {EMPTY} 2"
        finally:
            await front.close()

    asyncio.run(main())


class Inside:
    """TLS in a CONNECT stream of `outer`, and HTTP/2 in that."""

    def __init__(self, outer: Client, context: ssl.SSLContext, host: str) -> None:
        self._outer = outer
        self._number = outer.ask_with(
            [(":method", "CONNECT"), (":authority", f"{host}:443")], end=False
        )
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    async def begin(self) -> None:
        """The tunnel, then the handshake."""
        await self._outer.flush()
        answer = self._outer.answers[self._number]
        while not answer.status:
            await self._outer.hear()
        while True:
            try:
                self.tls.do_handshake()
                return
            except ssl.SSLWantReadError:
                await self._exchange()

    async def answered(self, client: Client, *numbers: int) -> None:
        """Until these streams inside are over."""
        self.tls.write(client.http.data_to_send())
        while not all(client.answers[number].ended for number in numbers):
            await self._exchange()
            with contextlib.suppress(ssl.SSLWantReadError):
                while True:
                    for event in client.http.receive_data(self.tls.read(65536)):
                        client.happened(event)

    async def _exchange(self) -> None:
        if self._outgoing.pending:
            self._outer.http.send_data(self._number, self._outgoing.read())
            await self._outer.flush()
        await self._outer.hear()
        body = self._outer.answers[self._number].body
        self._incoming.write(bytes(body))
        body.clear()


def test_an_https_site_in_a_connect_stream(tmp_path: Path) -> None:
    """HTTP/2 in TLS in a stream of HTTP/2 in TLS: what a browser does with an HTTPS proxy."""

    def site(name: str) -> Fields:
        return [(":method", "GET"), (":scheme", "https"), (":authority", name), (":path", "/")]

    async def main() -> None:
        authority = Authority.open(tmp_path / "ca")
        front = Front(Core(), https=Https(authority, now=asyncio.get_running_loop().time))
        host, port = await front.listen("127.0.0.1", 0)
        context = ssl.create_default_context(cadata=authority.certificate_pem.decode())
        context.set_alpn_protocols(list(PROTOCOLS))
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
        outer, inner = Client(reader, writer), Client(reader, writer)
        await outer.begin()
        inside = Inside(outer, context, "site.test")
        await inside.begin()
        assert inside.tls.selected_alpn_protocol() == "h2"
        inner.http.initiate_connection()
        asked, elsewhere = inner.ask_with(site("site.test")), inner.ask_with(site("other.test"))
        nested = inner.ask_with([(":method", "CONNECT"), (":authority", "site.test:443")])
        await inside.answered(inner, asked, elsewhere, nested)
        assert inner.answers[asked].body == f"GET https://site.test/ True {EMPTY}".encode()
        assert [inner.answers[one].status for one in (elsewhere, nested)] == [421, 421]
        assert (await outer.get()).status == 200  # beside the tunnel
        outer.close()
        await front.close()
        assert front.statistics().connections == 0

    async def bounded() -> None:
        async with asyncio.timeout(60):
            await main()

    asyncio.run(bounded())
