"""Tests of HTTP that begins at an emulated host, whichever sockets that host has."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import aiohttp
from aiohttp import web

from emulation.worlds.hosts import HERE, EmulatedHost
from emulation.worlds.inside import connector
from tests.watched import run


class Counting:
    """A host whose sockets are this machine's, and are counted."""

    address = "127.0.0.1"
    addresses: Sequence[str] = ("127.0.0.1",)

    def __init__(self) -> None:
        self.made = 0

    def command(self, *words: str) -> tuple[str, ...]:
        return words

    def new_socket(self, kind: int = socket.SOCK_STREAM) -> socket.socket:
        self.made += 1
        return socket.socket(socket.AF_INET, kind)


async def fetched(host: EmulatedHost, *, limit: int, count: int) -> tuple[list[str], int]:
    """Bodies, and how many requests were under way at once."""
    under_way = most = 0

    async def answer(_: web.Request) -> web.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return web.Response(text="from there")

    application = web.Application()
    application.router.add_get("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host_name, port = runner.addresses[0][:2]
    try:
        async with aiohttp.ClientSession(connector=connector(host, limit=limit)) as session:

            async def one() -> str:
                async with session.get(f"http://{host_name}:{port}/") as response:
                    return await response.text()

            return list(await asyncio.gather(*(one() for _ in range(count)))), most
    finally:
        await runner.cleanup()


def test_connections_have_the_sockets_of_their_host_and_no_more_than_the_limit() -> None:
    host = Counting()
    bodies, most = run(fetched(host, limit=2, count=5))
    assert bodies == ["from there"] * 5
    assert host.made == most == 2


def test_on_this_machine_they_are_ordinary_ones() -> None:
    bodies, most = run(fetched(HERE, limit=3, count=6))
    assert bodies == ["from there"] * 6
    assert most == 3
