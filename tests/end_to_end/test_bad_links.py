"""The link between the proxies gone and back: not there yet, lost in mid-page, silent."""

from __future__ import annotations

import asyncio

import pytest

from tests.end_to_end.pair import (
    Asked,
    Broken,
    FakeOrigin,
    all_three,
    pair,
    run,
    until,
)


def test_the_local_proxy_may_start_first() -> None:
    async def go() -> None:
        async with FakeOrigin().running() as origin, pair(start_remote=True) as known:
            port = known.remote.port
            await known.remote.stop()
            async with pair(start_remote=False, remote_port=port, patience=5.0) as both:
                waiting = asyncio.ensure_future(both.serves(origin))
                await until(lambda: both.local.uplink.state().attempts >= 1)
                await both.remote.start()
                await waiting

    run(go())


def test_without_a_link_a_browser_gets_a_page_that_loads_itself_again() -> None:
    async def go() -> None:
        async with pair(patience=0.1) as both:
            await both.remote.stop()
            answer = await both.browser.navigate("http://site.test/")
            assert answer.status == 504
            assert b"refresh" in answer.body
            assert answer.header("retry-after")
            plain = await both.client.get("http://site.test/")
            assert (plain.status, plain.header("content-type")[:10]) == (504, "text/plain")
            status, _, writer = await both.client.connect("site.test:443")
            assert status == 504
            writer.close()
            await writer.wait_closed()

    run(go())


def test_a_remote_that_restarts_in_mid_page_costs_a_pause() -> None:
    """One response is half here, one has not begun: the browser gets both, whole."""

    async def go() -> None:
        async with all_three(patience=5.0) as (origin, both):
            asked = asyncio.Event()
            whole = bytes(range(250)) * 4

            async def half(request: Asked) -> None:
                await request.send(
                    b"HTTP/1.1 200 X\r\ncontent-type: image/x-raw\r\ncontent-length: 1000\r\n\r\n"
                )
                first = not asked.is_set()
                asked.set()
                await request.send(whole[:600] if first else whole)
                if first:
                    await request.reader.read()

            async def late(request: Asked) -> None:
                if origin.counts()["/late"] > 1:
                    await request.answer(b"here I am", "text/plain")
                else:
                    await request.reader.read()

            origin.paths["/half"], origin.paths["/late"] = half, late
            begun = asyncio.ensure_future(both.client.get(origin.base + "/half"))
            await asked.wait()
            unanswered = asyncio.ensure_future(both.browser.navigate(origin.base + "/late"))
            await until(lambda: origin.counts()["/late"] == 1)
            await asyncio.sleep(0.05)
            await both.remote.stop()
            assert not both.local.uplink.connected
            await both.remote.start()
            assert (await begun).body == whole
            assert (await unanswered).body.endswith(b"here I am")
            await both.serves(origin)
            assert origin.counts()["/half"] == origin.counts()["/late"] == 2

    run(go())


def test_what_changed_while_the_remote_restarted_is_not_mixed() -> None:
    async def go() -> None:
        async with all_three(patience=5.0) as (origin, both):

            async def other(request: Asked) -> None:
                await request.send(
                    b"HTTP/1.1 200 X\r\ncontent-type: image/x-raw\r\ncontent-length: 1000\r\n\r\n"
                )
                await request.send(bytes([origin.counts()["/other"]]) * 500)
                await request.reader.read()

            origin.paths["/other"] = other
            async with both.client.open(origin.base + "/other") as answer:
                assert (await anext(answer.stream))[:1] == b"\1"
                await both.remote.stop()
                await both.remote.start()
                with pytest.raises(Broken):
                    assert b"\2" not in [chunk async for chunk in answer.stream]

    run(go())


def test_what_may_have_been_done_is_not_done_again() -> None:
    async def go() -> None:
        async with all_three(patience=5.0) as (origin, both):

            async def never(request: Asked) -> None:
                await request.body()
                await request.reader.read()

            origin.paths["/order"] = never
            ordering = asyncio.ensure_future(
                both.client.get(origin.base + "/order", method="POST", body=b"one")
            )
            await until(lambda: origin.counts()["/order"] == 1)
            await both.remote.stop()
            answer = await ordering
            assert answer.status == 504
            assert b"not sent again" in answer.body
            await both.remote.start()
            await both.serves(origin)
            assert origin.counts()["/order"] == 1

    run(go())


def test_a_remote_that_never_says_hello_does_not_stop_the_local_proxy() -> None:
    async def go() -> None:
        async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(mute, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, pair(start_remote=False, remote_port=port, patience=0.1) as both:
            assert (await both.browser.navigate("http://site.test/")).status == 504
            page = await both.browser.navigate("http://sluice.local/")
            assert page.status == 200
        await asyncio.sleep(0)

    run(go())


def test_pages_of_two_sessions_are_not_taken_for_each_other() -> None:
    async def go() -> None:
        async with all_three(patience=5.0) as (origin, both):
            keys = []
            for path in ("/one", "/two"):
                origin.serve(path, b"<html><head></head><body>text</body></html>")
                page = origin.base + path
                html = (await both.browser.navigate(page)).body
                tag = html.split(b'<script src="')[1].split(b'"')[0].decode()
                driver = await both.browser.script(origin.base + tag, page)
                keys.append(driver.body.split(b'const KEY = "')[1].split(b'"')[0])
                await both.remote.stop()
                await both.remote.start()
                await both.connected()
            assert keys[0] != keys[1]
            documents = list(both.local.documents)
            assert len({document.id for document in documents}) == 2

    run(go())
