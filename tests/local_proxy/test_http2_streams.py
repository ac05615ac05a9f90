"""Many HTTP/2 streams beside each other: windows, whose turn it is, who leaves."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator

from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hyperframe.frame import (
    PriorityFrame,
)

from local_proxy.http.model import Handler, Request, Response
from tests.local_proxy.http2_served import Dial, raw_frame, served
from tests.local_proxy.small_core import SmallCore


def priority_update(number: int, field: bytes) -> bytes:
    return raw_frame(0x10, struct.pack("!L", number) + field)


def test_256_at_once() -> None:
    waiting = asyncio.Semaphore(0)
    together = asyncio.Event()

    async def handler(request: Request) -> Response:
        waiting.release()
        await together.wait()
        return Response(200, [], request.url.encode() * 50)

    async def talk(dial: Dial) -> None:
        client = await dial()
        numbers = [client.ask(f"/{n}") for n in range(256)]
        await client.flush()
        for _ in numbers:
            await waiting.acquire()
        together.set()
        for n, number in enumerate(numbers):
            answer = await client.answer(number)
            assert answer.body == f"http://host.test/{n}".encode() * 50

    assert served(SmallCore(handler), talk).requests == 256


def big(size: int) -> Handler:
    async def handler(request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            for _ in range(size // 4096):
                yield b"z" * 4096

        return Response(200, [], body(), size)

    return handler


def test_a_stream_without_window_stops_no_other() -> None:
    ends: list[bool] = []

    async def handler(request: Request) -> Response:
        response = await big(200 * 4096)(request)
        response.on_done.append(ends.append)
        return response

    async def talk(dial: Dial) -> None:
        client = await dial(window=20_000)
        client.http.increment_flow_control_window(10_000_000)
        client.acknowledge = False
        stalled = client.ask()
        await client.flush()
        while len(client.answers[stalled].body) < 20_000:
            await client.hear()
        other = client.ask()
        client.http.increment_flow_control_window(1_000_000, other)
        answer = await client.answer(other)
        assert (len(answer.body), answer.ended) == (200 * 4096, True)
        assert len(client.answers[stalled].body) == 20_000
        client.http.increment_flow_control_window(1_000_000, stalled)
        assert len((await client.answer(stalled)).body) == 200 * 4096

    served(SmallCore(handler), talk)
    assert ends == [True, True]


def test_a_body_that_fits_the_window_exactly_ends() -> None:
    async def talk(dial: Dial) -> None:
        client = await dial(window=8192)
        client.acknowledge = False
        assert (await client.get()).ended

    served(SmallCore(big(8192)), talk)


def test_urgent_streams_go_first() -> None:
    """All are ready before the window opens; then the order is the priorities' alone."""
    ready = asyncio.Semaphore(0)

    async def handler(request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            ready.release()
            yield b"z" * 32768

        return Response(200, [], body(), 32768)

    async def talk(dial: Dial) -> None:
        client = await dial(window=0)
        client.http.increment_flow_control_window(10_000_000)
        said = ("u=5", "u=3, i", "u=3, i", "u=1", "u=3")
        numbers = [client.ask(extra=[("priority", one)]) for one in said]
        await client.flush()
        for _ in numbers:
            await ready.acquire()
        await client.send_raw(priority_update(numbers[4], b"u=0"))  # the last: first of all
        client.http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 65535})
        for number in numbers:
            await client.answer(number)
        names = {number: "ABCDE"[i] for i, number in enumerate(numbers)}
        frames = "".join(names[number] for number, size in client.order if size)
        assert frames == "EEDDBCBCAA"

    served(SmallCore(handler), talk)


def test_a_change_of_urgency_reaches_the_core() -> None:
    moved: list[int] = []
    asked, changed = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        def note(urgency: int) -> None:
            moved.append(urgency)
            if len(moved) == 2:
                changed.set()

        request.urgency.follow(note)
        asked.set()
        await changed.wait()
        return Response(200, [], str(request.urgency.now).encode())

    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask(extra=[("priority", "u=4")])
        await client.flush()
        await asked.wait()
        no_news, news = priority_update(number, b"u=4, i"), priority_update(number, b"u=1")
        as_chromium = PriorityFrame(number, stream_weight=146)  # 147, which says 3
        await client.send_raw(no_news + news + as_chromium.serialize())
        assert (await client.answer(number)).body == b"3"

    served(SmallCore(handler), talk)
    assert moved == [1, 3]


def test_a_reset_disposes_of_one_response_only() -> None:
    ends: dict[str, bool] = {}
    gone = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"z" * 4096
        finally:
            gone.set()

    async def handler(request: Request) -> Response:
        path = request.url[-1]
        body = endless() if path == "a" else b"b" * 100
        return Response(200, [], body, on_done=[lambda whole: ends.update({path: whole})])

    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask("/a")
        await client.flush()
        while not client.answers[number].body:
            await client.hear()
        client.http.reset_stream(number, ErrorCodes.CANCEL)
        await client.flush()
        await gone.wait()
        assert (await client.get("/b")).body == b"b" * 100

    served(SmallCore(handler), talk)
    assert ends == {"a": False, "b": True}


def test_a_reset_before_the_head_cancels_the_core() -> None:
    asked, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask()
        await client.flush()
        await asked.wait()
        client.http.reset_stream(number, ErrorCodes.CANCEL)
        await client.flush()
        await cancelled.wait()

    served(SmallCore(handler), talk)


def test_a_client_that_leaves_cancels_all() -> None:
    ends: list[bool] = []
    both = asyncio.Event()

    async def handler(request: Request) -> Response:
        def done(whole: bool) -> None:
            ends.append(whole)
            if len(ends) == 2:
                both.set()

        response = await big(1 << 24)(request)
        response.on_done.append(done)
        return response

    async def talk(dial: Dial) -> None:
        client = await dial()
        numbers = [client.ask(), client.ask()]
        await client.flush()
        while not all(client.answers[number].body for number in numbers):
            await client.hear()
        client.close()
        await both.wait()

    served(SmallCore(handler), talk)
    assert ends == [False, False]
