"""Request and response bodies through both proxies: up, down, cut short, and never held."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator

import pytest

from tests.end_to_end.pair import PLAIN, Asked, all_three, run, until
from transport.sending.outgoing import HIGH_WATER
from wire.credit import INITIAL

MIB = 1 << 20


async def in_chunks(data: bytes, size: int = 50_000) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]
        await asyncio.sleep(0)


async def echo(asked: Asked) -> None:
    await asked.answer(await asked.body(), "application/octet-stream")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_goes_up_and_comes_down_again(chunked: bool) -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.paths["/echo"] = echo
            data = os.urandom(MIB)
            body = in_chunks(data) if chunked else data
            answer = await both.client.get(origin.base + "/echo", method="POST", body=body)
            assert answer.body == data
            (asked,) = origin.asked
            assert bool(asked.header("transfer-encoding")) == chunked

    run(go())


def test_a_chunked_answer_stays_of_unknown_length() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):

            async def chunked(asked: Asked) -> None:
                await asked.send(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n")
                for _ in range(100):
                    await asked.send(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
                await asked.send(b"0\r\n\r\n")

            origin.paths["/"] = chunked
            answer = await both.client.get(origin.base + "/")
            assert answer.body == b"x" * 1_000_000
            assert answer.header("content-length") == ""

    run(go())


def test_expect_100_continue_is_answered_when_the_body_is_wanted() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.paths["/echo"] = echo
            reader, writer = await asyncio.open_connection(*both.address)
            writer.write(
                f"POST {origin.base}/echo HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n"
                "content-length: 5\r\n\r\n".encode()
            )
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 \r\n\r\n"
            writer.write(b"hello")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert await reader.readexactly(5) == b"hello"
            assert origin.asked[0].header("expect") == ""
            writer.close()
            await writer.wait_closed()

    run(go())


def test_an_answer_before_the_end_of_the_upload_ends_the_upload() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):

            async def refuse(asked: Asked) -> None:
                await asked.answer(b"too much", "text/plain", status=413)
                await asked.reader.read(1)

            origin.paths["/"] = refuse
            sent = 0

            async def endless() -> AsyncIterator[bytes]:
                nonlocal sent
                while True:
                    yield b"x" * 10_000
                    sent += 10_000

            async with both.client.open(
                origin.base + "/", PLAIN, method="POST", body=endless()
            ) as answer:
                assert answer.status == 413
                assert await anext(answer.stream) == b"too much"
            session = both.local.uplink.session
            assert session is not None
            await until(lambda: not session.uploads.outbox.components())
            await until(lambda: not both.local.asking.uploading)

    run(go())


def test_a_client_that_leaves_in_mid_upload_cuts_it_at_the_origin() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            cut = asyncio.Event()

            async def wait_for_all(asked: Asked) -> None:
                try:
                    await asked.body()
                except asyncio.IncompleteReadError:
                    cut.set()
                    raise

            origin.paths["/"] = wait_for_all

            async def some() -> AsyncIterator[bytes]:
                yield b"x" * 100_000
                await asyncio.Event().wait()

            leaving = asyncio.ensure_future(
                both.client.get(origin.base + "/", method="POST", body=some())
            )
            await until(lambda: origin.asked)
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
            async with asyncio.timeout(60):
                await cut.wait()
            await until(lambda: both.session.statistics().deliveries == 0)
            await until(lambda: not both.local.asking.uploading)

    run(go())


def test_a_malformed_upload_is_refused_and_cut_at_the_origin() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.paths["/echo"] = echo
            reader, writer = await asyncio.open_connection(*both.address)
            writer.write(
                f"POST {origin.base}/echo HTTP/1.1\r\nhost: x\r\n"
                "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n".encode()
            )
            await until(lambda: origin.asked)
            writer.write(b"not a length\r\n")
            async with asyncio.timeout(60):
                assert b"HTTP/1.1 " in await reader.read()
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)
            await until(lambda: both.session.statistics().deliveries == 0)
            await until(lambda: not both.local.asking.uploading)

    run(go())


def test_a_slow_origin_slows_the_upload_down_and_nobody_else() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            go_on = asyncio.Event()

            async def slow(asked: Asked) -> None:
                await go_on.wait()
                await asked.answer(hashlib.sha256(await asked.body()).digest(), "x/y")

            origin.paths["/slow"] = slow
            origin.serve("/fast", b"fast")
            data = os.urandom(12 * MIB)
            upload = asyncio.ensure_future(
                both.client.get(origin.base + "/slow", method="POST", body=in_chunks(data))
            )
            await until(lambda: origin.counts()["/slow"])
            await asyncio.sleep(0.3)
            session = both.local.uplink.session
            assert session is not None
            (outgoing,) = session.uploads.outbox.components()
            assert outgoing.held <= HIGH_WATER + 65536
            assert outgoing.taken < 6 * MIB
            assert (await both.client.get(origin.base + "/fast")).body == b"fast"
            go_on.set()
            assert (await upload).body == hashlib.sha256(data).digest()

    run(go())


def test_a_reader_that_pauses_bounds_memory_on_both_sides_and_hinders_nobody() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            data = os.urandom(MIB) * 20
            origin.serve("/big", data, "application/zip")
            origin.serve("/small", b"small")
            digest = hashlib.sha256()
            async with both.client.open(origin.base + "/big", PLAIN) as answer:
                digest.update(await anext(answer.stream))
                await asyncio.sleep(0.5)
                assert both.held <= 3 * INITIAL
                assert both.session.budget.used <= HIGH_WATER + 2 * 65536
                assert (await both.client.get(origin.base + "/small")).body == b"small"
                most = 0
                async for chunk in answer.stream:
                    digest.update(chunk)
                    most = max(most, both.held)
                assert most <= 3 * INITIAL
            assert digest.digest() == hashlib.sha256(data).digest()
            assert both.session.budget.used == 0

    run(go())


def test_text_that_shrinks_a_thousandfold_is_not_unpacked_ahead_of_its_reader() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            size = 40 * MIB
            origin.serve("/zeros", bytes(size), "text/plain")
            async with both.client.open(origin.base + "/zeros", PLAIN) as answer:
                got = len(await anext(answer.stream))
                await until(lambda: both.session.statistics().deliveries == 0)
                assert both.held < 8 * MIB
                async for chunk in answer.stream:
                    assert not chunk.strip(b"\0")
                    got += len(chunk)
            assert got == size

    run(go())


def test_what_plain_clients_had_is_not_kept() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/", b"x" * 10_000, "text/plain")
            for _ in range(40):
                await both.client.get(origin.base + "/")
            assert len(both.local.components) <= 1  # what the bridge remembers
            assert len(both.session.tree.known) <= 33
            assert sum(both.session.deliveries.documents.values()) <= 33

    run(go())
