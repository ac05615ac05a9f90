"""Answers that pass as they are: ranges, heads, redirects, event streams, coded bodies."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from tests.end_to_end.pair import PLAIN, Asked, all_three, run


def test_a_range_of_a_file_is_that_range() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):

            async def part(asked: Asked) -> None:
                assert asked.header("range") == "bytes=2-4"
                await asked.answer(
                    b"cde", "text/plain", status=206, headers=[("content-range", "bytes 2-4/9")]
                )

            origin.paths["/"] = part
            answer = await both.client.get(origin.base + "/", [*PLAIN, ("range", "bytes=2-4")])
            assert (answer.status, answer.body) == (206, b"cde")
            assert answer.header("content-range") == "bytes 2-4/9"
            assert answer.header("content-length") == "3"

    run(go())


def test_head_not_modified_redirects_and_errors_pass_as_they_are() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/head", b"12345", "text/plain", headers=[("etag", '"1"')])
            origin.serve("/moved", b"", "", status=302, headers=[("location", "/there?x=1#f")])
            origin.serve(
                "/cookies", b"x", headers=[("set-cookie", "a=1"), ("set-cookie", "b=2; Secure")]
            )

            async def unchanged(asked: Asked) -> None:
                assert asked.header("if-none-match") == '"1"'
                await asked.send(b'HTTP/1.1 304 Not Modified\r\netag: "1"\r\nvary: x-a\r\n\r\n')

            origin.paths["/unchanged"] = unchanged
            client, base = both.client, origin.base
            head = await client.get(base + "/head", method="HEAD")
            assert (head.status, head.body) == (200, b"")
            assert (head.header("content-length"), head.header("etag")) == ("5", '"1"')
            same = await client.get(base + "/unchanged", [*PLAIN, ("if-none-match", '"1"')])
            assert (same.status, same.header("vary"), same.body) == (304, "x-a", b"")
            moved = await client.get(base + "/moved")
            assert (moved.status, moved.header("location")) == (302, "/there?x=1#f")
            missing = await client.get(base + "/missing")
            assert (missing.status, missing.body) == (404, b"nothing here")
            cookies = await client.get(base + "/cookies")
            assert [v for n, v in cookies.headers if n == "set-cookie"] == ["a=1", "b=2; Secure"]

    run(go())


@pytest.mark.parametrize("packed", [False, True])
def test_events_arrive_as_they_are_sent(packed: bool) -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            heard = asyncio.Queue[None]()

            async def events(asked: Asked) -> None:
                coder = gzip_stream() if packed else None
                coding = b"content-encoding: gzip\r\n" if packed else b""
                await asked.send(
                    b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n" + coding + b"\r\n"
                )
                for number in range(3):
                    event = f"data: {number}\n\n".encode()
                    await asked.send(coder(event) if coder else event)
                    await heard.get()
                if coder:
                    await asked.send(coder(b""))
                asked.writer.close()

            origin.paths["/events"] = events
            async with both.client.open(
                origin.base + "/events", [("accept", "text/event-stream")]
            ) as answer:
                for number in range(3):
                    assert await anext(answer.stream) == f"data: {number}\n\n".encode()
                    heard.put_nowait(None)
                assert [chunk async for chunk in answer.stream] == []

    run(go())


def gzip_stream():  # type: ignore[no-untyped-def]
    import zlib

    coder = zlib.compressobj(wbits=31)

    def code(data: bytes) -> bytes:
        if not data:
            return coder.flush()
        return coder.compress(data) + coder.flush(zlib.Z_SYNC_FLUSH)

    return code


def test_gzip_of_the_origin_reaches_plain_clients_with_the_same_content() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            text = b"some text " * 10_000
            fields = [("content-encoding", "gzip"), ("vary", "accept-encoding")]
            origin.serve("/t", gzip.compress(text), "text/plain", headers=fields)
            origin.serve("/b", gzip.compress(text), "application/zip", headers=fields)
            for path in ("/t", "/b"):
                answer = await both.client.get(
                    origin.base + path, [*PLAIN, ("accept-encoding", "gzip")]
                )
                coded = answer.header("content-encoding") == "gzip"
                assert (gzip.decompress(answer.body) if coded else answer.body) == text

    run(go())


def test_a_head_of_the_wrong_size_does_not_end_the_link() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            big = [(f"x-{number}", "\x80" * 900) for number in range(100)]
            origin.serve("/big", b"x", headers=big)
            origin.serve("/small", b"x")
            session = both.session
            answer = await both.client.get(origin.base + "/big")
            assert answer.status in (200, 502)
            assert (await both.client.get(origin.base + "/small")).status == 200
            assert both.session is session

    run(go())
