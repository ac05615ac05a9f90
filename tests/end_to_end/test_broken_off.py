"""An origin breaks off in mid-body: all that came reaches the client, and never as the whole."""

from __future__ import annotations

import asyncio
import fcntl
import io
import random
import socket
import struct
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from PIL import Image

from emulation.relay.relay import Relay
from tests.end_to_end.pair import (
    PLAIN,
    Asked,
    Broken,
    FakeOrigin,
    Handler,
    Pair,
    Remote,
    all_three,
    pair,
    run,
    until,
)
from tests.end_to_end.test_http2 import ask, client_of
from wire.fields import Headers

RATE = 400_000
"""Bytes/second of the link: slow enough that the remote holds most when the origin breaks off."""
SIZE = 250_000
"""Bytes that come of twice as many; the remote takes that much without waiting for the link."""
NOISE = random.Random(3).randbytes(SIZE)
WORDS = b" ".join(b"%x" % n for n in random.Random(4).sample(range(1 << 32), SIZE // 9 + 1))


@asynccontextmanager
async def slow() -> AsyncIterator[tuple[FakeOrigin, Pair]]:
    remote = Remote()
    await remote.start()
    try:
        async with (
            FakeOrigin().running() as origin,
            Relay(
                target=("127.0.0.1", remote.port), rate_up=RATE, rate_down=RATE, delay=0.005
            ) as link,
            pair(start_remote=False, remote_port=link.address[1]) as both,
        ):
            await both.connected()
            yield origin, both
    finally:
        await remote.stop()


def breaks_off(body: bytes, kind: str, *, chunked: bool = False, reset: bool = False) -> Handler:
    """Says twice as much as it sends."""

    async def handler(asked: Asked) -> None:
        framing = "transfer-encoding: chunked" if chunked else f"content-length: {2 * len(body)}"
        await asked.send(f"HTTP/1.1 200 X\r\ncontent-type: {kind}\r\n{framing}\r\n\r\n".encode())
        await asked.send(b"%x\r\n%s\r\n" % (len(body), body) if chunked else body)
        await until(lambda: not unsent(asked))  # the origin's end of a connection is abrupt
        if reset:
            raw = asked.writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await asked.reset()
        else:
            asked.writer.close()

    return handler


def unsent(asked: Asked) -> int:
    """Bytes that the other end's kernel has not taken: a reset would discard them."""
    held = asked.writer.transport.get_write_buffer_size()
    number = asked.writer.get_extra_info("socket").fileno()
    return held + struct.unpack("i", fcntl.ioctl(number, termios.TIOCOUTQ, bytes(4)))[0]


async def what_came(both: Pair, url: str, headers: Headers | None = None) -> bytes:
    """The part that came of an answer that breaks off; fails if it passes for whole."""
    got = bytearray()
    with pytest.raises(Broken):
        async with both.client.open(url, headers or PLAIN) as answer:
            assert answer.status == 200
            async for chunk in answer.stream:
                got += chunk
    return bytes(got)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("body", "kind"), [(NOISE, "application/zip"), (WORDS, "text/plain"), (WORDS, "text/html")]
)
def test_all_that_came_reaches_an_http1_client(
    body: bytes, kind: str, chunked: bool, reset: bool
) -> None:
    async def go() -> None:
        async with slow() as (origin, both):
            origin.paths["/"] = breaks_off(body, kind, chunked=chunked, reset=reset)
            assert await what_came(both, origin.base + "/") == body

    run(go())


@pytest.mark.parametrize("chunked", [False, True])
def test_all_that_came_reaches_an_http2_client(chunked: bool) -> None:
    async def go() -> None:
        async with slow() as (origin, both):
            origin.paths["/"] = breaks_off(NOISE, "application/zip", chunked=chunked)
            client = await client_of(both)
            answer = await client.answer(ask(client, origin, "/"))
            assert (answer.status, answer.body == NOISE) == (200, True)
            assert answer.reset is not None
            assert not answer.ended
            client.close()

    run(go())


def test_all_that_came_of_a_picture_is_shown() -> None:
    async def go() -> None:
        out = io.BytesIO()
        image = Image.frombytes("RGB", (300, 300), random.Random(5).randbytes(270_000))
        image.save(out, "PNG")
        begun = out.getvalue()[: SIZE // 2]
        async with slow() as (origin, both):
            origin.paths["/a.png"] = breaks_off(begun, "image/png")
            fields = both.browser.picture(origin.base + "/elsewhere")
            assert await what_came(both, origin.base + "/a.png", fields) == begun

    run(go())


def test_a_reader_that_is_far_behind_gets_all_of_it_too() -> None:
    """The device holds more than it hands on, and must not forget that when the end is told."""

    async def go() -> None:
        async with all_three() as (origin, both):
            body = NOISE * 16
            origin.paths["/"] = breaks_off(body, "application/zip")
            got = bytearray()
            with pytest.raises(Broken):
                async with both.client.open(origin.base + "/") as answer:
                    await until(lambda: both.held >= 1 << 20)
                    async for chunk in answer.stream:
                        got += chunk
            assert (len(got), bytes(got) == body) == (len(body), True)

    run(go())


def test_all_that_came_through_a_tunnel_reaches_its_client() -> None:
    async def go() -> None:
        async with slow() as (origin, both):
            broken = breaks_off(NOISE, "application/zip", reset=True)
            origin.paths["/"] = broken
            authority = origin.base.removeprefix("http://")
            status, reader, writer = await both.client.connect(authority)
            assert status == 200
            writer.write(f"GET / HTTP/1.1\r\nhost: {authority}\r\n\r\n".encode())
            got = bytearray()
            try:
                while data := await reader.read(65536):
                    got += data
            except ConnectionError:
                pass
            assert got.partition(b"\r\n\r\n")[2] == NOISE
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)

    run(go())
