"""Strangers on the link, at either end: garbled, absurd, random. Nobody else is hurt."""

from __future__ import annotations

import asyncio
import random
import resource
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from tests.end_to_end.pair import (
    Address,
    all_three,
    pair,
    run,
    until,
)
from transport.stream.preamble import SIZE, Preamble, What
from wire import messages as m
from wire.frames import Control, Data, FrameWriter
from wire.skeleton import Kind, Level, Part, Use

# -- strangers at the remote's port ----------------------------------------------------------------


async def say(address: Address, data: bytes) -> None:
    """Connect, say it, read until the other side closes or nothing more comes."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(data)
        await writer.drain()
        async with asyncio.timeout(0.1):
            while await reader.read(65536):
                pass
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


OPEN = Preamble(What.OPEN).encode()
OPENED = Preamble(What.OPEN, bytes(16)).encode()


def frames(*said: m.Message | Data) -> bytes:
    writer = FrameWriter()
    return b"".join(
        writer.encode(one if isinstance(one, Data) else Control(m.encode(one))) for one in said
    )


HELLO = m.Hello([1], "stranger", "strange")
GET = m.Request(1, 1, "GET", "http://127.0.0.1:1/", b"")
STRANGERS = {
    "http": b"GET / HTTP/1.1\r\n\r\n",
    "zeros": b"\0" * 1000,
    "cut": frames(HELLO, GET)[:-3],
    "two hellos": frames(HELLO, HELLO),
    "no version": frames(m.Hello([99])),
    "no hello": frames(GET),
    "doubled": frames(HELLO, GET, GET),
    "even": frames(HELLO, m.Request(2, 2, "GET", "http://127.0.0.1:1/", b"")),
    "data for nobody": frames(HELLO, Data(77, b"x" * 100, True)),
    "data after the end": frames(
        HELLO, m.Request(1, 0, "POST", "http://127.0.0.1:1/", b"", True), Data(1, b"x", True),
        Data(1, b"x", True),
    ),
    "bad headers": frames(HELLO, m.Request(1, 1, "GET", "http://h/", b"\xff\xff\xff\xff")),
    "bad url": frames(HELLO, m.Request(1, 1, "GET", "\0\r\n\ud7ff", b"")),
    "bad method": frames(HELLO, m.Request(1, 1, "G T\r\n", "http://127.0.0.1:1/", b"")),
    "bad tunnel": frames(HELLO, m.Request(1, 0, "CONNECT", "::::", b"", True)),
    "absurd credit": frames(HELLO, m.Request(1, 1, "GET", "http://h/", b""), m.Credit(1, 1 << 60)),
    "bad scheduler": frames(HELLO, m.SetScheduler(["browser"], "nonsense", {"a": [1]})),
    "bad parameters": frames(HELLO, m.SetScheduler(["*"], "wf2q_plus", {"a": {"b": 1}})),
    "bad weight": frames(HELLO, m.SetWeight(["*"], float("nan"))),
    "bad quantum": frames(HELLO, m.SetQuantum([], -5), m.SetQuantum(["browser"], 1 << 40)),
    "bad plan": frames(HELLO, m.SetPlan([{"level": "nonsense"}, {"kind": 3}])),
    "unknown names": frames(
        HELLO, m.Cancel(9), m.CloseDocument(9), m.Raise(9, 9), m.Hold(9, True), m.Fetch(9, "x"),
        m.Reset(9), m.Credit(9, 1),
    ),
    "deep": frames(HELLO, m.SetWeight(["x"] * 1000, 1.0)),
    "goodbye first": frames(m.Goodbye("x"), GET),
    "the other side's words": frames(HELLO, m.Head(1, 200, b"")),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGERS)
def test_a_stranger_at_the_remote_s_port_hurts_nobody(name: str) -> None:
    async def go() -> None:
        async with all_three(remote_patience=0.05) as (origin, both):
            before = len(both.remote.sessions)
            await say(("127.0.0.1", both.remote.port), OPEN + STRANGERS[name])
            await until(lambda: len(both.remote.sessions) == before)
            await both.serves(origin)

    run(go())


def test_a_link_may_be_cut_at_any_byte() -> None:
    async def go() -> None:
        async with all_three(remote_patience=0.05) as (origin, both):
            data = OPEN + frames(HELLO, GET, Data(1, b"x" * 30), m.Cancel(1))
            await asyncio.gather(
                *(say(("127.0.0.1", both.remote.port), data[:at]) for at in range(len(data)))
            )
            await until(lambda: len(both.remote.sessions) == 1)
            await both.serves(origin)

    run(go())


# -- strangers at the local port -------------------------------------------------------------------


def test_nine_hundred_half_sent_heads_keep_nobody_out() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # both ends of each are ours

    async def go() -> None:
        async with all_three() as (origin, both), AsyncExitStack() as stack:
            for said in (b"GET http://a.test/ HTTP/1.1\r\nHo", b"PRI * HT", b"\x16\x03\x01") * 300:
                _, writer = await asyncio.open_connection(*both.address)
                stack.callback(writer.close)
                writer.write(said)
            await both.serves(origin)

    run(go())


# -- a stranger as the remote ----------------------------------------------------------------------


@asynccontextmanager
async def strange_remote(answer: bytes) -> AsyncIterator[Address]:
    """Says these bytes once something has come, and nothing more."""
    writers = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            await reader.readexactly(SIZE)
            writer.write(OPENED + answer)
            while await reader.read(65536):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):  # or it left without a word
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[:2]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()


def promise(component: int) -> m.Skeleton:
    return m.Skeleton(1, [Part(component, "http://h/x", Kind.IMAGE, Use.ELEMENT, 1)], True)


OK = m.Head(1, 200, b"")
REMOTES = {
    "nonsense": b"\x3f\x00\x01" * 100,
    "http": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "data first": frames(HELLO, Data(1, b"x", True)),
    "promised twice": frames(HELLO, promise(2), promise(2)),
    "data before its head": frames(HELLO, promise(2), Data(2, b"x", True)),
    "unknown coding": frames(HELLO, promise(2), m.Head(2, 200, b"", coding="lzma")),
    "not zstd": frames(HELLO, promise(2), m.Head(2, 200, b"", coding="zstd"), Data(2, b"xxxxxx")),
    "levels that do not fit": frames(
        HELLO, promise(2), m.Levels(2, [Level("low", 5, 900, "image/jpeg")], 10)
    ),
    "late levels": frames(
        HELLO, promise(2), m.Head(2, 200, b""), Data(2, b"abc"),
        m.Levels(2, [Level("low", 0, 3, "image/jpeg")], 10),
    ),
    "beyond its credit": frames(
        HELLO, promise(2), m.Head(2, 200, b""), *(Data(2, b"x" * 65535) for _ in range(40))
    ),
    "an odd status": frames(HELLO, promise(2), m.Head(2, 99999, b"")),
    "our own words": frames(HELLO, m.Cancel(1)),
}  # fmt: skip
HARMLESS = ("data first", "not zstd", "an odd status")
"""These hurt one component that nobody asked for; the link goes on."""


@pytest.mark.parametrize("name", REMOTES)
def test_a_strange_remote_is_left_and_said_to_be(name: str) -> None:
    async def go() -> None:
        async with (
            strange_remote(REMOTES[name]) as address,
            pair(start_remote=False, remote_port=address[1], patience=0.1) as both,
        ):
            if name not in HARMLESS:
                async with asyncio.timeout(60):
                    answer = await both.browser.navigate("http://site.test/")
                    assert answer.status in (502, 504)
            page = await both.browser.get("http://sluice.local/")
            assert page.status == 200

    run(go())


def test_a_remote_that_answers_absurdly_is_answered_for() -> None:
    """A status that is none, a header that can't be written."""
    head = m.Head(1, 99999, b"", length=3)

    async def go() -> None:
        said = OPENED + frames(HELLO)
        reply = frames(head, Data(1, b"abc", True))

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(said)
            data = b""
            try:
                while b"site.test" not in data:
                    more = await reader.read(65536)
                    if not more:
                        return
                    data += more
                writer.write(reply)
                while await reader.read(65536):
                    pass
            except ConnectionError:
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, pair(start_remote=False, remote_port=port) as both:
            answer = await both.client.get("http://site.test/")
            assert answer.status == 502

    run(go())


# -- noise -----------------------------------------------------------------------------------------


def test_random_frames_with_a_true_beginning_hurt_nobody() -> None:
    chance = random.Random(7)

    async def go() -> None:
        async with all_three() as (origin, both):
            start = frames(HELLO, GET)
            noise = [start + chance.randbytes(chance.randrange(1, 3000)) for _ in range(60)]
            for at in range(0, len(noise), 12):
                await asyncio.gather(
                    *(say(("127.0.0.1", both.remote.port), one) for one in noise[at : at + 12])
                )
            await until(lambda: len(both.remote.sessions) == 1)
            await both.serves(origin)

    run(go())
