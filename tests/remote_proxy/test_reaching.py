"""The guard's last look: at the peer of a connection that was made somehow."""

from __future__ import annotations

import asyncio

import pytest

from remote_proxy.reach.connector import Reach
from remote_proxy.reach.failures import Failure, OriginError
from remote_proxy.reach.guard import Guard
from remote_proxy.reach.hosts import parse


@pytest.mark.parametrize("tunnel", [False, True])
def test_a_connection_with_the_wrong_peer_is_refused(tunnel: bool) -> None:
    async def run() -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                name = parse("public.example")
                Reach(Guard(["127.0.0.1"])).peer(name, writer.transport, tunnel=tunnel)
                Reach(Guard()).peer(name, writer.transport, tunnel=tunnel)
            finally:
                writer.close()
                await writer.wait_closed()

    with pytest.raises(OriginError, match=r"public\.example:\d+ is the remote") as raised:
        asyncio.run(run())
    assert raised.value.kind is Failure.FORBIDDEN


@pytest.mark.parametrize(
    ("url", "might"),
    [
        ("http://example.com/", True),
        ("https://example.com:8443/a?b", True),
        ("http://127.0.0.1/", False),
        ("http://2130706433:80/", False),
        ("https://[::1]/", False),
        ("http://[2606:4700::1111]/", True),
        ("http://printer.local/", False),
        ("http://a..b/", False),
        ("nonsense", False),
    ],
)
def test_what_is_not_worth_a_promise_is_known_at_once(url: str, might: bool) -> None:
    assert Reach(Guard()).might(url) is might
