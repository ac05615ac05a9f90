"""The HTTP/2 front over real sockets: requests, their bodies, and responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from h2.errors import ErrorCodes
from h2.events import PingAckReceived
from h2.settings import SettingCodes

from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Request, Response
from tests.local_proxy.http2_served import BASE, POST, Dial, served, upload
from tests.local_proxy.small_core import SmallCore, hello


def test_a_request_and_its_answer() -> None:
    seen: list[Request] = []

    async def handler(request: Request) -> Response:
        seen.append(request)
        return Response(200, [("x-a", "1"), ("connection", "x-b"), ("x-b", "2")], b"body")

    async def talk(dial: Dial) -> None:
        client = await dial()
        extra = [("cookie", "a=1"), ("accept", "*/*"), ("cookie", "b=2"), ("priority", "u=1, i")]
        answer = await client.get("/p?q#f", extra=extra)
        assert (answer.status, bytes(answer.body), answer.ended) == (200, b"body", True)
        assert answer.fields == {"x-a": "1", "content-length": "4"}
        assert client.settings[SettingCodes.MAX_CONCURRENT_STREAMS] == 256
        assert client.settings[SettingCodes.ENABLE_CONNECT_PROTOCOL] == 1

    statistics = served(SmallCore(handler), talk)
    assert statistics.requests == 1
    (request,) = seen
    assert (request.method, request.url) == ("GET", "http://host.test/p?q")
    assert request.headers == [("host", "host.test"), ("accept", "*/*"), ("cookie", "a=1; b=2")]
    assert (request.multiplexed, request.urgency.now) == (True, 1)
    assert request.body is None


@pytest.mark.parametrize(("status", "method"), [(204, "GET"), (304, "GET"), (200, "HEAD")])
def test_answers_without_a_body(status: int, method: str) -> None:
    async def handler(request: Request) -> Response:
        return Response(status, [("content-length", "7"), ("etag", '"x"')], b"")

    async def talk(dial: Dial) -> None:
        client = await dial()
        fields = [(":method", method), *BASE[1:], (":path", "/")]
        answer = await client.answer(client.ask_with(fields))
        assert (answer.status, bytes(answer.body), answer.ended) == (status, b"", True)
        assert answer.fields.get("content-length") == (None if status == 204 else "7")

    served(SmallCore(handler), talk)


def test_what_the_server_says_wrong_becomes_a_page() -> None:
    async def handler(request: Request) -> Response:
        return Response(200, [("x-bad", "a\r\nset-cookie: stolen")], b"")

    async def talk(dial: Dial) -> None:
        client = await dial()
        answer = await client.get()
        assert answer.status == 502
        assert "set-cookie" not in answer.fields

    served(SmallCore(handler), talk)


@pytest.mark.parametrize("said", [5, 30])
def test_a_body_of_the_wrong_length_resets_its_stream_alone(said: int) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"ten bytes."

    ends: list[bool] = []

    async def handler(request: Request) -> Response:
        if request.url.endswith("/good"):
            return Response(200, [], b"good")
        return Response(200, [], body(), said, [ends.append])

    async def talk(dial: Dial) -> None:
        client = await dial()
        bad, good = client.ask(), client.ask("/good")
        assert (await client.answer(bad)).reset == ErrorCodes.INTERNAL_ERROR
        assert (await client.answer(good)).body == b"good"

    served(SmallCore(handler), talk)
    assert ends == [False]


def test_a_core_that_fails_is_a_502() -> None:
    async def handler(request: Request) -> Response:
        raise RuntimeError("oops")

    async def talk(dial: Dial) -> None:
        assert (await (await dial()).get()).status == 502

    served(SmallCore(handler), talk)


def test_a_body_gets_credit_as_it_is_read() -> None:
    may_read = asyncio.Event()

    async def handler(request: Request) -> Response:
        assert request.body is not None
        await may_read.wait()
        size = 0
        async for chunk in request.body:
            size += len(chunk)
        return Response(200, [], str(size).encode())

    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask_with(POST, end=False)
        client.http.send_data(number, b"x" * 16384)
        for _ in range(2):
            client.http.send_data(number, b"x" * 16384)
        client.http.send_data(number, b"x" * 16383)
        client.http.ping(b"12345678")
        await client.flush()
        while not any(isinstance(one, PingAckReceived) for one in client.events):
            await client.hear()
        assert client.http.local_flow_control_window(number) == 0  # nobody has read yet
        may_read.set()
        await upload(client, number, b"y" * 300_000)
        assert (await client.answer(number)).body == b"365535"

    served(SmallCore(handler), talk)


def test_stalled_uploads_do_not_stop_another() -> None:
    async def handler(request: Request) -> Response:
        assert request.body is not None
        if request.url.endswith("/stall"):
            await asyncio.Event().wait()
        size = 0
        async for chunk in request.body:
            size += len(chunk)
        return Response(200, [], str(size).encode())

    async def talk(dial: Dial) -> None:
        client = await dial()
        while client.http.outbound_flow_control_window <= 65535:
            await client.hear()
        stall = [*POST[:-1], (":path", "/stall")]
        for _ in range(10):
            number = client.ask_with(stall, end=False)
            for _ in range(3):
                client.http.send_data(number, b"x" * 16384)
        number = client.ask_with(POST, end=False)
        await upload(client, number, b"y" * 500_000)
        assert (await client.answer(number)).body == b"500000"

    served(SmallCore(handler), talk)


def test_continue_is_said_when_the_body_is_wanted() -> None:
    async def handler(request: Request) -> Response:
        assert request.body is not None
        body = b"".join([chunk async for chunk in request.body])
        return Response(200, [], body)

    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask_with([*POST, ("expect", "100-continue")], end=False)
        await client.flush()
        while not client.answers[number].informed:
            await client.hear()
        client.http.send_data(number, b"wanted", end_stream=True)
        answer = await client.answer(number)
        assert (answer.informed, answer.body) == ([100], b"wanted")

    served(SmallCore(handler), talk)


def test_an_answer_before_the_body_ends_the_stream() -> None:
    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask_with(POST, end=False)
        answer = await client.answer(number)
        while answer.reset is None:
            await client.hear()
        assert (answer.status, answer.ended, answer.reset) == (200, True, ErrorCodes.NO_ERROR)

    served(SmallCore(), talk)


def test_a_body_that_is_too_large_is_refused() -> None:
    async def handler(request: Request) -> Response:
        assert request.body is not None
        async for _ in request.body:
            pass
        return Response(200, [], b"")

    async def talk(dial: Dial) -> None:
        client = await dial()
        said = client.ask_with([*POST, ("content-length", "1001")], end=False)
        assert (await client.answer(said)).status == 413
        unsaid = client.ask_with(POST, end=False)
        client.http.send_data(unsaid, b"x" * 1001)
        assert (await client.answer(unsaid)).status == 413

    served(SmallCore(handler), talk, limits=FrontLimits(body=1000))


def test_a_reset_while_the_body_comes_reaches_its_reader() -> None:
    heard: list[str] = []
    reading = asyncio.Event()

    async def handler(request: Request) -> Response:
        assert request.body is not None

        async def read(body: AsyncIterator[bytes]) -> None:
            try:
                async for _ in body:
                    reading.set()
                heard.append("end")
            except ConnectionResetError:
                heard.append("reset")

        task = asyncio.create_task(read(request.body))
        try:
            await asyncio.Event().wait()
        finally:
            await task
        raise AssertionError

    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask_with(POST, end=False)
        client.http.send_data(number, b"begun")
        await client.flush()
        await reading.wait()
        client.http.reset_stream(number, ErrorCodes.CANCEL)
        assert (await client.get()).status == 200

    async def both(request: Request) -> Response:
        return await (handler(request) if request.method == "POST" else hello(request))

    served(SmallCore(both), talk)
    assert heard == ["reset"]


def test_a_connection_that_asks_for_nothing_gives_way_and_one_with_a_stream_does_not() -> None:
    asked, free = asyncio.Event(), asyncio.Event()

    async def handler(_: Request) -> Response:
        asked.set()
        await free.wait()
        return Response(200, [], b"late")

    async def talk(dial: Dial) -> None:
        busy, silent = await dial(), await dial()
        number = busy.ask()
        await busy.flush()
        await asked.wait()
        third = await dial()
        while not silent.closed:
            await silent.hear()
        free.set()
        assert (await busy.answer(number)).status == 200
        assert (await third.get()).status == 200

    served(SmallCore(handler), talk, limits=FrontLimits(connections=2))
