"""Certificate, PAC file and instructions, asked for as a proxy's pages and as a plain server's."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from local_proxy.front.http1.front import Http1Front
from local_proxy.front.tls.authority import Authority
from local_proxy.http.model import Duplex, Request, Response
from local_proxy.status.offer import fingerprint
from local_proxy.status.pac import PrivateError
from local_proxy.status.page import StatusPage
from local_proxy.status.setup import Setup, address_of, is_own
from tests.local_proxy.test_status import status
from wire.fields import header

HERE = ("192.0.2.7", 8118)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.open(tmp_path_factory.mktemp("state"))


def request(url: str, *, reached: tuple[str, int] | None = HERE) -> Request:
    return Request("GET", url, [], reached=reached)


def answer(setup: Setup, url: str) -> Response:
    return asyncio.run(StatusPage(status, setup=setup).handle(request(url)))


def text(response: Response) -> str:
    assert isinstance(response.body, bytes)
    return response.body.decode()


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://sluice.local/setup", True),
        ("https://sluice.local/", True),
        ("http://192.0.2.7:8118/proxy.pac", True),
        (f"http://{socket.gethostname().lower()}:8118/", True),
        ("http://192.0.2.7/proxy.pac", False),
        ("http://192.0.2.8:8118/", False),
        ("http://rebound.example:8118/status.json", False),
        ("http://localhost:8118/", False),
        ("http://notsluice.local/", False),
    ],
)
def test_only_what_surely_names_this_proxy_is_its_own(url: str, own: bool) -> None:
    assert is_own(request(url)) is own
    if "sluice.local" not in url:
        assert not is_own(request(url, reached=None))


@pytest.mark.parametrize("url", ["http://localhost:8118/", "http://127.0.0.1:8118/x"])
def test_loopback_has_several_names(url: str) -> None:
    assert is_own(request(url, reached=("127.0.0.1", 8118)))
    assert not is_own(request(url, reached=("127.0.0.1", 80)))


def test_the_address_is_the_one_that_the_client_uses() -> None:
    assert address_of(request("http://sluice.local/proxy.pac")) == "192.0.2.7:8118"
    assert address_of(request("http://sluice.local/", reached=("fe80::1", 1))) == "[fe80::1]:1"
    loopback = request("http://localhost:8118/proxy.pac", reached=("127.0.0.1", 8118))
    assert address_of(loopback) == "localhost:8118"


def test_the_certificate_comes_in_both_forms(authority: Authority) -> None:
    setup = Setup(authority.certificate_pem)
    pem, der = (
        answer(setup, "http://sluice.local/ca.pem"),
        answer(setup, "http://sluice.local/ca.crt"),
    )
    assert pem.body == authority.certificate_pem
    assert header(der.headers, "content-type") == "application/x-x509-ca-cert"
    assert isinstance(der.body, bytes)
    assert ssl.DER_cert_to_PEM_cert(der.body).split() == authority.certificate_pem.decode().split()


def test_without_an_authority_there_is_no_certificate() -> None:
    assert answer(Setup(), "http://sluice.local/ca.pem").status == 404
    assert answer(Setup(), "http://sluice.local/ca.crt").status == 404
    page = text(answer(Setup(), "http://sluice.local/setup"))
    assert 'id="certificate" hidden' in page
    assert "$" not in page


def test_the_instructions_name_what_is_really_there(authority: Authority) -> None:
    setup = Setup(authority.certificate_pem)
    page = text(answer(setup, "http://192.0.2.7:8118/setup"))
    assert "http://192.0.2.7:8118/proxy.pac" in page
    assert fingerprint(authority.certificate_pem) in page
    assert len(fingerprint(authority.certificate_pem).split(":")) == 32
    for system in ("Linux", "Android", "iPhone", "Windows", "macOS", "Chromium", "Firefox"):
        assert f"<b>{system}" in page
    assert 'id="certificate" hidden' not in page
    assert "$" not in page


@pytest.mark.parametrize("secure", [True, False])
def test_the_pac_file_offers_tls_only_where_it_is_spoken(
    authority: Authority, secure: bool
) -> None:
    setup = Setup(authority.certificate_pem, secure=secure)
    response = answer(setup, "http://192.0.2.7:8118/proxy.pac")
    assert header(response.headers, "content-type") == "application/x-ns-proxy-autoconfig"
    assert ("HTTPS 192.0.2.7:8118" in text(response)) is secure
    assert "PROXY 192.0.2.7:8118; DIRECT" in text(response)


def test_the_instructions_say_which_private_hosts_go_through() -> None:
    page = text(answer(Setup(private=["10.1.0.0/16", "*.ship.lan"]), "http://sluice.local/setup"))
    assert '<b id="private">10.1.0.0/16, *.ship.lan</b>' in page
    assert "[local] private" in page
    assert '<b id="private">none</b>' in text(answer(Setup(), "http://sluice.local/setup"))


@pytest.mark.parametrize(
    "private", ["10.1.0.0/33", "a b", 'x"); alert(1); ("', "*", "a.*.test", "", "a..b", "http://a/"]
)
def test_what_is_no_private_host_never_gets_into_the_script(private: str) -> None:
    with pytest.raises(PrivateError, match=r"local\.private"):
        Setup(private=[private])


# -- over a socket -----------------------------------------------------------------------------


class Core:
    """The pages alone, behind a real front."""

    def __init__(self, setup: Setup) -> None:
        self.pages = StatusPage(status, setup=setup)
        self.asked: list[str] = []

    async def handle(self, request: Request) -> Response:
        self.asked.append(request.url)
        if is_own(request):
            return await self.pages.handle(request)
        return Response(200, [("content-type", "text/html")], b"<title>through</title>")

    async def connect(self, host: str, port: int, **how: object) -> Duplex | Response:
        return Response(403, [], b"")


@asynccontextmanager
async def listening(core: Core) -> AsyncIterator[tuple[str, int]]:
    front = Http1Front(core)
    try:
        yield await front.listen("127.0.0.1", 0)
    finally:
        await front.close()


async def curl(*arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "curl", "-sS", "--max-time", "10", *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_the_listener_answers_as_a_plain_server_too(authority: Authority, tmp_path: Path) -> None:
    async def go() -> None:
        core = Core(Setup(authority.certificate_pem))
        async with listening(core) as (host, port):
            direct = await curl(f"http://{host}:{port}/proxy.pac")
            through = await curl("-x", f"http://{host}:{port}", "http://sluice.local/proxy.pac")
            assert f"PROXY {host}:{port}" in direct
            assert direct == through
            assert await curl(f"http://localhost:{port}/ca.pem") == (
                authority.certificate_pem.decode()
            )
            rebound = ("--resolve", f"evil.example:{port}:{host}")
            assert "through" in await curl(*rebound, f"http://evil.example:{port}/status.json")

    asyncio.run(go())
