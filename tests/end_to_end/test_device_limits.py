"""A device at its limits is told so; another does not notice. Through both proxies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from configuration import LocalSettings
from local_proxy.main import LocalProxy
from policies.host.loader import load
from remote_proxy.origin.client import OriginConfig
from remote_proxy.reach.limits import Limits
from tests.end_to_end.pair import Asked, Broken, Browser, Handler, Pair, all_three, run, until


def device(both: Pair, name: str) -> AbstractAsyncContextManager[Browser]:
    """One more local proxy at the same remote, under a name."""
    return local_proxy(both.remote.port, name)


@asynccontextmanager
async def local_proxy(port: int, name: str) -> AsyncIterator[Browser]:
    """A local proxy of a remote that is at this port of loopback."""
    settings = LocalSettings(
        listen="127.0.0.1:0", remote=f"127.0.0.1:{port}", device=name, security="none"
    )
    local = LocalProxy(settings, [load("default")])
    address = await local.listen()
    running = asyncio.ensure_future(local.run())
    try:
        assert await local.uplink.wait_session(10) is not None
        yield Browser(address)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def hanging(gate: asyncio.Event) -> Handler:
    """An origin that answers when the gate opens."""

    async def handler(asked: Asked) -> None:
        await gate.wait()
        await asked.answer(b"at last", "text/plain")

    return handler


def test_requests_under_way() -> None:
    async def go() -> None:
        async with all_three(limits=Limits(requests=3)) as (origin, both):
            gate = asyncio.Event()
            origin.paths["/slow"] = hanging(gate)
            origin.serve("/", b"fine", "text/plain")
            url = origin.base + "/slow"
            slow = [asyncio.ensure_future(both.client.get(f"{url}?{at}")) for at in range(3)]
            await until(lambda: len(origin.asked) == 3)
            refused = await both.client.get(origin.base + "/")
            assert refused.status == 503
            assert b"3 requests under way" in refused.body
            assert refused.header("retry-after") == ""  # nobody knows when one of them ends
            assert b"remote.max_requests)" in refused.body
            async with device(both, "other") as other:
                assert (await other.get(origin.base + "/")).body == b"fine"
            gate.set()
            assert {one.body for one in await asyncio.gather(*slow)} == {b"at last"}
            await until(lambda: len(both.remote.sessions) == 1)  # the other's has ended, too
            await until(lambda: both.session.statistics().usage.requests == 0)
            assert (await both.client.get(origin.base + "/")).body == b"fine"

    run(go())


def test_requests_within_a_minute() -> None:
    async def go() -> None:
        async with all_three(limits=Limits(requests_per_minute=5)) as (origin, both):
            origin.serve("/", b"fine", "text/plain")
            for _ in range(5):
                assert (await both.client.get(origin.base + "/")).status == 200
            refused = await both.client.get(origin.base + "/")
            assert refused.status == 429
            assert b"remote.max_requests_per_minute" in refused.body
            assert b"It may ask again in 1" in refused.body
            assert 10 <= int(refused.header("retry-after")) <= 12
            status, _, writer = await both.client.connect(f"127.0.0.1:{origin.address[1]}")
            assert status == 429
            writer.close()
            async with device(both, "other") as other, device(both, "test") as same:
                assert (await other.get(origin.base + "/")).body == b"fine"
                assert (await same.get(origin.base + "/")).status == 429

    run(go())


def test_bytes_of_a_day_down() -> None:
    async def go() -> None:
        async with all_three(limits=Limits(bytes_per_day=100_000)) as (origin, both):
            origin.serve("/half", b"x" * 50_000, "application/x")
            origin.serve("/large", b"x" * 400_000, "application/x")
            assert (await both.client.get(origin.base + "/half")).body == b"x" * 50_000
            with pytest.raises(Broken):  # what was under way is cut, and never taken for whole
                await both.client.get(origin.base + "/large")
            refused = await both.client.get(origin.base + "/half")
            assert refused.status == 429
            assert b"remote.max_bytes_per_day" in refused.body
            assert b"It may go on in 24 h" in refused.body
            assert 86_300 < int(refused.header("retry-after")) <= 86_400
            assert both.session.statistics().usage.bytes_today < 100_000 + 3 * 65536
            async with device(both, "other") as other:
                assert (await other.get(origin.base + "/half")).status == 200

    run(go())


def test_bytes_of_a_day_up_and_in_tunnels() -> None:
    async def go() -> None:
        async with all_three(limits=Limits(bytes_per_day=100_000)) as (origin, both):

            async def takes(asked: Asked) -> None:
                await asked.body()
                await asked.answer(b"", "text/plain")

            origin.paths["/up"] = takes
            first = await both.client.get(origin.base + "/up", method="POST", body=b"x" * 60_000)
            assert first.status == 200
            second = await both.client.get(origin.base + "/up", method="POST", body=b"x" * 90_000)
            assert second.status == 429
            assert b"remote.max_bytes_per_day" in second.body

            async with device(both, "other") as other:
                origin.serve("/large", b"x" * 400_000, "application/x")
                status, reader, writer = await other.connect(f"127.0.0.1:{origin.address[1]}")
                assert status == 200
                writer.write(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
                got = await reader.read()  # it ends: the tunnel is closed
                assert len(got) <= 100_000 + 65536
                writer.close()

    run(go())


def test_tunnels() -> None:
    async def go() -> None:
        async with all_three(limits=Limits(connections=2)) as (origin, both):
            authority = f"127.0.0.1:{origin.address[1]}"
            tunnels = [await both.client.connect(authority) for _ in range(2)]
            assert [status for status, _, _ in tunnels] == [200, 200]
            status, _, refused = await both.client.connect(authority)
            assert status == 503
            refused.close()
            for _, _, writer in tunnels:
                writer.close()
            await until(lambda: both.session.statistics().usage.tunnels == 0)
            status, _, writer = await both.client.connect(authority)
            assert status == 200
            writer.close()

    run(go())


def test_a_device_with_all_its_connections_busy_takes_none_of_anothers() -> None:
    async def go() -> None:
        config = OriginConfig(total=2)
        async with all_three(config=config) as (origin, both):
            gate = asyncio.Event()
            origin.paths["/slow"] = hanging(gate)
            origin.serve("/", b"fine", "text/plain")
            url = origin.base + "/slow"
            slow = [asyncio.ensure_future(both.client.get(f"{url}?{at}")) for at in range(4)]
            await until(lambda: len(origin.asked) == 2)
            async with device(both, "other") as other:
                assert (await other.get(origin.base + "/")).body == b"fine"
            assert origin.counts()["/"] == 1 and len(origin.asked) == 3
            gate.set()
            assert {one.status for one in await asyncio.gather(*slow)} == {200}

    run(go())


def test_prefetching_stops_near_a_limit_and_the_page_is_whole() -> None:
    async def go() -> None:
        async with all_three(limits=Limits(requests=8)) as (origin, both):
            gate = asyncio.Event()
            names = [f"/{number}.css" for number in range(20)]
            for name in names:
                origin.paths[name] = hanging(gate)
            links = "".join(f"<link rel=stylesheet href={name}>" for name in names)
            origin.serve("/", f"<!doctype html>{links}<p>text".encode())
            url = origin.base + "/"
            assert b"text" in (await both.browser.navigate(url)).body
            await until(lambda: len(origin.asked) > 1)
            assert (await both.client.get(origin.base + "/none")).status == 404  # there is room
            assert 1 <= sum(origin.counts()[name] for name in names) <= 6
            gate.set()
            for name in names:
                answer = await both.browser.style(origin.base + name, url)
                assert (answer.status, answer.body) == (200, b"at last"), name

    run(go())
