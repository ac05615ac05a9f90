"""The remote proxy is no door to its own machine: through both proxies, over real sockets."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from local_proxy.http.model import Request, Response
from remote_proxy.origin.client import OriginConfig
from tests.end_to_end.pair import FakeOrigin, Pair, pair, run, until
from tests.end_to_end.test_page_load import PHOTO

SITE = "127.0.0.9"
"""Stands for the public internet: the one address that is open."""
NOTATIONS = [
    "127.0.0.1", "127.0.0.2", "127.255.255.254", "127.1", "127.0.1", "127.0.0.1.", "2130706433",
    "0x7f000001", "0x7f.1", "0X7F.0x0.0x0.0x1", "0x7f.0.0x1", "0177.0.0.1", "0177.1",
    "017700000001", "0000177.0.0.01", "127.0x0.00.1", "0", "00", "0x0", "0.0.0.0", "localhost",
    "LOCALHOST", "localhost.", "app.localhost", "App.LocalHost.", "[::]", "[::1]",
    "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]",
    "[::127.0.0.1]", "[::7f00:1]", "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::1]", "[fc00::1]", "[fe80::1]",
    "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[fd00:ec2::254]", "10.0.0.1", "172.16.0.1",
    "192.168.1.1", "100.64.0.1", "100.100.100.200", "169.254.169.254", "0xa9fea9fe",
    "168.63.129.16", "192.0.0.192", "198.18.0.1", "192.0.2.1", "224.0.0.1", "255.255.255.255",
    "printer.local", "metadata.google.internal", "nas.home.arpa",
]  # fmt: skip
ODD = [
    "user:secret@127.0.0.1", "example.com@127.0.0.1", "[::1%25lo]", "[fe80::1%25lo]", "[::1%lo]",
    "%31%32%37.0.0.1", "%6cocalhost", "127%2e0%2e0%2e1", "１２７.0.0.1", "①②⑦.⓪.⓪.①",
    "127。0。0。1", "ⓛocalhost", "127.0.0.1%00.example", "127.0.0.1\\.example", "127.0.0.1%20",
    "0x7f.0.0.0.1",
]  # fmt: skip
"""What the browser's front does not let through; a hostile device has its own front."""


class Canary:
    """Listens on loopback and must not be found."""

    def __init__(self) -> None:
        self.port = 0
        self.found = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Canary]:
        def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.found += 1
            writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        others = []
        for host in ("127.0.0.2", "::1"):
            try:
                others.append(await asyncio.start_server(connected, host, self.port))
            except OSError:  # no IPv6 here
                continue
        try:
            yield self
        finally:
            for one in (server, *others):
                one.close()
                await one.wait_closed()


class Names(AbstractResolver):
    """A name server: each lookup of a name gets its next answer, the last one for ever."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self._answers = {name: list(those) for name, those in answers.items()}
        self.lookups = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.lookups += 1
        answers = self._answers.get(host.partition(".")[0])
        if answers is None:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [
            ResolveResult(hostname=host, host=one, port=port, proto=0, flags=0,
                          family=socket.AF_INET6 if ":" in one else socket.AF_INET)
            for one in (answers.pop(0) if len(answers) > 1 else answers[0])
        ]  # fmt: skip

    async def close(self) -> None:
        pass


@asynccontextmanager
async def house(
    *, allow: Sequence[str] = (SITE,), **answers: Sequence[Sequence[str]]
) -> AsyncIterator[tuple[Pair, FakeOrigin, Canary]]:
    """A pair whose remote may reach the site alone, and a canary that it must not find."""
    async with (
        Canary().running() as canary,
        FakeOrigin().running(SITE) as site,
        pair(
            allow=allow, resolver=Names(**answers), config=OriginConfig(connect_timeout=2)
        ) as both,
    ):
        yield both, site, canary
        assert canary.found == 0


async def asked(both: Pair, url: str, method: str = "GET") -> Response:
    """A request that no front has looked at: as a hostile device would send it."""
    return await both.local.core.handle(Request(method, url, [("accept", "*/*")]))


def test_every_notation_is_refused_with_advice() -> None:
    async def go() -> None:
        async with house() as (both, _, canary):
            for host in NOTATIONS:
                answer = await both.client.get(f"http://{host}:{canary.port}/secret")
                assert answer.status == 403, host
                assert b"the remote proxy does not connect to it" in answer.body, host
                assert b"allow = [" in answer.body, host
            assert len(NOTATIONS) >= 40

    run(go())


def test_every_notation_is_refused_to_tunnels() -> None:
    async def go() -> None:
        async with house() as (both, _, canary):
            for host in NOTATIONS:
                status, _, writer = await both.client.connect(f"{host}:{canary.port}")
                assert status == 403, host
                writer.close()

    run(go())


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_hostile_device_gets_no_further(method: str) -> None:
    async def go() -> None:
        async with house() as (both, _, canary):
            for host in [*NOTATIONS, *ODD]:
                answer = await asked(both, f"http://{host}:{canary.port}/", method)
                assert answer.status in (403, 502), host
                far = await both.local.core.connect(host, canary.port)
                assert isinstance(far, Response) and far.status in (403, 502), host
            assert (await asked(both, f"http://{SITE}:1/")).status == 403

    run(go())


def test_a_hostile_name_of_any_length_is_answered() -> None:
    async def go() -> None:
        async with house() as (both, _, _):
            for host in ("a" * 40_000, "%EF%B7%BA" * 900, "9" * 8000, "a." * 4000):
                assert (await asked(both, f"http://{host}/")).status in (403, 502)
                far = await both.local.core.connect(host, 80)
                assert isinstance(far, Response) and far.status in (403, 502)

    run(go())


def test_a_tunnel_needs_a_port() -> None:
    async def go() -> None:
        async with house() as (both, _, canary):
            for port in (0, -1, 65536, canary.port + 65536, 25, 445):
                far = await both.local.core.connect(SITE, port)
                assert isinstance(far, Response) and far.status in (403, 502), port

    run(go())


def test_the_site_is_reached_both_ways() -> None:
    async def go() -> None:
        async with house() as (both, site, _):
            site.serve("/", b"welcome", "text/plain")
            assert (await both.client.get(site.base + "/")).body == b"welcome"
            status, reader, writer = await both.client.connect(f"{SITE}:{site.address[1]}")
            assert status == 200
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert b"welcome" in await reader.readuntil(b"welcome")
            writer.close()

    run(go())


def test_a_redirect_leads_nowhere() -> None:
    async def go() -> None:
        async with house() as (both, site, canary):
            inside = f"http://127.0.0.1:{canary.port}/"
            site.serve("/away", b"", status=302, headers=[("location", inside)])
            answer = await both.client.get(site.base + "/away")
            assert (answer.status, answer.header("location")) == (302, inside)
            assert (await both.client.get(inside)).status == 403

    run(go())


def test_a_page_that_names_inner_pictures_loads_without_them() -> None:
    async def go() -> None:
        inner = ["127.0.0.1", "2130706433", "[::1]", "localhost", "10.0.0.1", "hidden.example"]
        async with house(hidden=[["127.0.0.1"]]) as (both, site, canary):
            urls = [f"http://{host}:{canary.port}/x.png" for host in inner]
            tags = "".join(f'<img src="{url}"><link rel=stylesheet href="{url}">' for url in urls)
            page = f"<!doctype html><p>text</p>{tags}<img src=/away.jpg><img src=/good.jpg>"
            site.serve("/", page.encode())
            site.serve("/away.jpg", b"", status=302, headers=[("location", urls[0])])
            site.serve("/good.jpg", PHOTO.read_bytes(), "image/jpeg")
            url = site.base + "/"
            answer = await both.browser.navigate(url)
            assert answer.status == 200 and b"text" in answer.body
            await until(lambda: site.counts()["/good.jpg"] and site.counts()["/away.jpg"])
            for bad in urls:
                assert (await both.browser.image(bad, url)).status == 403, bad
            moved = await both.browser.image(site.base + "/away.jpg", url)
            assert (moved.status, moved.header("location")) == (302, urls[0])
            assert (await both.browser.image(site.base + "/good.jpg", url)).status == 200
            assert site.counts() == {"/": 1, "/good.jpg": 1, "/away.jpg": 1}

    run(go())


def test_a_name_that_changes_its_mind_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: the site's address first, then an inner one."""
    monkeypatch.setattr("remote_proxy.reach.lookups.BELIEVED", 0.0)  # it may, at once

    async def go() -> None:
        answers = [[SITE], ["127.0.0.1"]]
        async with house(turn=answers, twist=answers) as (both, site, canary):
            # The canary has the site's port too, so that only the address tells them apart.
            port = site.address[1]
            inner = await asyncio.start_server(lambda *_: _found(canary), "127.0.0.1", port)
            site.serve("/", b"outside", "text/plain")
            url = f"http://turn.example:{port}/"
            assert (await both.client.get(url)).body == b"outside"
            assert (await both.client.get(url, method="POST", body=b"x")).status == 403
            status, _, writer = await both.client.connect(f"twist.example:{port}")
            assert status == 200
            writer.close()
            status, _, writer = await both.client.connect(f"twist.example:{port}")
            assert status == 403
            writer.close()
            inner.close()
            await inner.wait_closed()

    run(go())


def _found(canary: Canary) -> None:
    canary.found += 1


@pytest.mark.parametrize("first", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254"])
def test_of_several_addresses_only_the_open_ones_are_used(first: str) -> None:
    async def go() -> None:
        async with house(mixed=[[first, SITE]]) as (both, site, canary):
            site.serve("/", b"outside", "text/plain")
            port = site.address[1]
            inner = await asyncio.start_server(lambda *_: _found(canary), "127.0.0.1", port)
            answer = await both.client.get(f"http://mixed.example:{port}/")
            assert answer.body == b"outside"
            status, _, writer = await both.client.connect(f"mixed.example:{port}")
            assert status == 200
            writer.close()
            inner.close()
            await inner.wait_closed()

    for attempt in range(5):
        try:
            run(go())
            return
        except OSError as error:  # somebody's connection has the site's port on loopback
            if error.errno != errno.EADDRINUSE or attempt == 4:
                raise


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fe80::1%lo", "0.0.0.0",
     "fd00:ec2::254", "64:ff9b::7f00:1", "224.0.0.1"],
)  # fmt: skip
def test_a_name_with_an_inner_address_is_refused_without_telling_which(address: str) -> None:
    async def go() -> None:
        async with house(inner=[[address]]) as (both, _, canary):
            answer = await both.client.get(f"http://inner.example:{canary.port}/")
            assert answer.status == 403
            assert address.encode() not in answer.body
            status, _, writer = await both.client.connect(f"inner.example:{canary.port}")
            assert status == 403
            writer.close()

    run(go())


def test_names_of_this_machine_are_not_looked_up() -> None:
    async def go() -> None:
        names = Names()
        async with pair(allow=(), resolver=names) as both:
            for host in ("localhost", "a.localhost", "nas.local", "db.internal", "127.0.0.1"):
                assert (await both.client.get(f"http://{host}/")).status == 403
        assert names.lookups == 0

    run(go())


def test_what_the_page_advises_opens_the_door() -> None:
    async def go() -> None:
        async with FakeOrigin().running(SITE) as site:
            site.serve("/", b"in", "text/plain")
            port = site.address[1]
            for allow, url in (
                (f"{SITE}:{port}", f"http://{SITE}:{port}/"),
                (f"inner.example:{port}", f"http://inner.example:{port}/"),
                ("*.example", f"http://inner.example:{port}/"),
            ):
                names = Names(inner=[[SITE]])
                async with pair(allow=[], resolver=names) as both:
                    assert (await both.client.get(url)).status == 403
                async with pair(allow=[allow], resolver=names) as both:
                    assert (await both.client.get(url)).body == b"in"

    run(go())


def test_the_remote_proxy_does_not_call_itself() -> None:
    async def go() -> None:
        async with pair(allow=["127.0.0.0/8", "::1", "0.0.0.0/8"]) as both:
            for host in ("127.0.0.1", "localhost", "0.0.0.0"):
                answer = await both.client.get(f"http://{host}:{both.remote.port}/")
                assert answer.status == 403
                assert b"the remote proxy itself" in answer.body
            assert len(both.remote.sessions) == 1

    run(go())


def test_ipv6_is_reached_where_it_is_allowed() -> None:
    async def go() -> None:
        async with FakeOrigin().running("::1") as six:
            six.serve("/", b"six", "text/plain")
            port = six.address[1]
            async with pair(allow=[f"[::1]:{port}"]) as both:
                assert (await both.client.get(f"http://[::1]:{port}/")).body == b"six"
                assert (await both.client.get(f"http://localhost:{port}/")).body == b"six"
                status, _, writer = await both.client.connect(f"[::1]:{port}")
                assert status == 200
                writer.close()
                assert (await both.client.get(f"http://[::ffff:127.0.0.1]:{port}/")).status == 403

    if not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    run(go())


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
