"""The PAC file as Chromium runs it: its script over many hosts, and its choice of a real proxy."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from local_proxy.front.listener import Front
from local_proxy.front.tls.authority import Authority
from local_proxy.front.tls.connects import Https
from local_proxy.status.pac import pac
from local_proxy.status.setup import Setup
from tests.local_proxy.chromium import EXECUTABLE, launched
from tests.local_proxy.test_setup import Core

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no chromium on this machine")

DIRECT = (
    *("localhost", "printer", "a.localhost", "laptop.local", "nas.home.arpa", "LAPTOP.LOCAL."),
    *("127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "172.31.255.1", "192.168.43.1"),
    *("169.254.1.1", "::1", "[::1]", "fe80::1", "fd00::1", "FD12:3456::1"),
)
THROUGH = (
    *("sluice.local", "example.org", "localhost.example.org", "10.example", "11.0.0.1"),
    *(
        "172.15.0.1",
        "172.32.0.1",
        "192.169.0.1",
        "128.0.0.1",
        "2001:db8::1",
        "10.0.0.1.example.org",
    ),
    *("local.example.org", "notlocal", "fd.example.org", "fe80.example.org"),
)


def test_the_script_sends_what_is_near_directly_and_all_else_through() -> None:
    async def go() -> None:
        async with launched(proxy="127.0.0.1:9") as browser, browser.tab() as tab:
            await tab.evaluate("window.find = " + _function(pac("h:1", secure=True)))
            for host in (*DIRECT, *THROUGH):
                asked = f"find('http://x/', {json.dumps(host)})"
                near = host in DIRECT or host == "notlocal"  # a plain name
                expected = "DIRECT" if near else "HTTPS h:1; PROXY h:1; DIRECT"
                assert await tab.evaluate(asked) == expected, host

    asyncio.run(go())


PRIVATE = ("10.1.0.0/16", "192.168.7.9", "*.Ship.LAN", "intranet", "nas.local", "fd12:3400::/22",
           "172.16.0.0/13")  # fmt: skip
FAR = (
    *("10.1.0.1", "10.1.255.255", "192.168.7.9", "a.ship.lan", "b.a.ship.lan", "Intranet"),
    *("nas.local", "fd12:3400::1", "[FD12:37ff::1]", "172.16.0.1", "172.23.255.1"),
)
STILL_NEAR = (
    *("10.2.0.1", "10.10.0.1", "192.168.7.8", "printer", "xnas.local", "fd12:3800::1", "::1"),
    *("172.24.0.1", "localhost", "127.0.0.1", "fe80::1", "1"),
)


def test_private_hosts_on_the_other_side_go_through_where_they_are_named() -> None:
    async def go() -> None:
        async with launched(proxy="127.0.0.1:9") as browser, browser.tab() as tab:
            script = pac("h:1", secure=False, private=PRIVATE)
            await tab.evaluate("window.find = " + _function(script))
            for host in (*FAR, *STILL_NEAR, *THROUGH):
                asked = f"find('http://x/', {json.dumps(host)})"
                near = host in STILL_NEAR or host == "notlocal"
                expected = "DIRECT" if near else "PROXY h:1; DIRECT"
                assert await tab.evaluate(asked) == expected, host

    asyncio.run(go())


def _function(text: str) -> str:
    return f"(() => {{ {text}; return FindProxyForURL; }})()"


@pytest.mark.parametrize("secure", [False, True])
def test_chromium_takes_it_and_without_trust_the_plain_way(tmp_path: Path, secure: bool) -> None:
    async def go() -> None:
        authority = Authority.open(tmp_path / "state")
        core = Core(Setup(authority.certificate_pem, secure=secure))
        https = Https(authority, now=asyncio.get_running_loop().time) if secure else None
        front = Front(core, https=https)
        host, port = await front.listen("127.0.0.1", 0)
        try:
            pac_url = f"http://{host}:{port}/proxy.pac"
            async with launched(proxy="", pac=pac_url) as browser, browser.tab() as tab:
                await tab.go("http://page.test/")
                assert await tab.evaluate("document.title") == "through"
                await tab.go("http://sluice.local/setup")
                assert "proxy.pac" in await tab.evaluate("document.body.innerText")
        finally:
            await front.close()
        assert pac_url in core.asked
        assert "http://page.test/" in core.asked

    asyncio.run(go())
