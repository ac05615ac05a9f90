"""Answers that stay open keep nobody from the site, through both proxies."""

from __future__ import annotations

import asyncio

import pytest

from remote_proxy.origin.client import OriginConfig
from tests.end_to_end.pair import Asked, Client, Handler, all_three, run, until
from tests.end_to_end.test_device_limits import device, hanging

STREAMS = 14
"""More than a server gets connections."""


def streaming(content_type: str) -> Handler:
    """Says one thing, and no more for as long as the client stays."""

    async def handler(asked: Asked) -> None:
        await asked.send(
            f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n\r\ndata: 1\n\n".encode()
        )
        await asked.reader.read()

    return handler


async def listen(client: Client, url: str, opened: list[str]) -> None:
    """Stay with a stream."""
    async with client.open(url) as answer:
        async for chunk in answer.stream:
            assert chunk == b"data: 1\n\n"
            opened.append(url)


async def leave(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/x-endless"])
def test_streams_that_stay_open_keep_nobody_from_their_site(
    content_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content_type != "text/event-stream":  # others count until they have gone on for long
        monkeypatch.setattr("remote_proxy.reach.connections.STAYS", 0.01)

    async def go() -> None:
        async with all_three() as (origin, both), device(both, "other") as other:
            origin.paths["/events"] = streaming(content_type)
            origin.serve("/", b"fine", "text/plain")
            url, opened = origin.base + "/events", list[str]()
            tasks = [
                asyncio.ensure_future(listen(both.client, f"{url}?{number}", opened))
                for number in range(STREAMS)
            ]
            await until(lambda: len(opened) == STREAMS)
            assert (await both.client.get(origin.base + "/")).body == b"fine"
            posted = await both.client.get(origin.base + "/", method="POST", body=b"x")
            assert posted.body == b"fine"
            assert (await other.get(origin.base + "/")).body == b"fine"
            await leave(tasks)

    run(go())


def test_who_waits_for_a_connection_in_vain_reads_which_limit_and_for_which_host() -> None:
    async def go() -> None:
        config = OriginConfig(total=3, turn_timeout=0.2)
        async with all_three(config=config) as (origin, both), device(both, "other") as other:
            gate = asyncio.Event()
            origin.paths["/slow"] = hanging(gate)
            origin.serve("/", b"fine", "text/plain")
            url = origin.base + "/slow"
            slow = [asyncio.ensure_future(both.client.get(f"{url}?{at}")) for at in range(3)]
            await until(lambda: len(origin.asked) == 3)
            refused = await both.browser.navigate(origin.base + "/")
            assert refused.status == 503
            assert b"3 connections open" in refused.body
            assert b"remote.max_connections)" in refused.body
            assert b"127.0.0.1 would need one more" in refused.body
            assert (await other.get(origin.base + "/")).body == b"fine"
            gate.set()
            assert {one.body for one in await asyncio.gather(*slow)} == {b"at last"}
            assert (await both.client.get(origin.base + "/")).body == b"fine"

    run(go())
