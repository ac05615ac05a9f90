"""The HTTP/2 front over real sockets: streams beside each other, limits, hostile clients."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

import pytest
from h2.errors import ErrorCodes
from h2.events import PingAckReceived
from h2.settings import SettingCodes
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from local_proxy.front import Front
from local_proxy.http import Handler, Request, Response
from local_proxy.http1 import FrontStatistics
from local_proxy.http1_connection import Limits
from local_proxy.http2_flood import PREFACE
from tests.local_proxy.http2_client import Client, Fields
from tests.local_proxy.small_core import Echo, SmallCore, hello

BASE: Fields = [(":method", "GET"), (":scheme", "http"), (":authority", "host.test")]


def raw_frame(kind: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind]) + bytes(5) + payload


def priority_update(number: int, field: bytes) -> bytes:
    return raw_frame(0x10, struct.pack("!L", number) + field)


Dial = Callable[..., Awaitable[Client]]


def served(
    core: SmallCore,
    talk: Callable[[Dial], Coroutine[None, None, None]],
    *,
    limits: Limits | None = None,
) -> FrontStatistics:
    """Run `talk` against a front; it must leave nothing behind."""

    async def main() -> FrontStatistics:
        front = Front(core, limits=limits)
        host, port = await front.listen("127.0.0.1", 0)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(front.close)

            async def dial(
                *, begin: bool = True, window: int = 65535, buffer: int | None = None
            ) -> Client:
                raw = socket.create_connection((host, port))
                if buffer is not None:
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
                client = Client(*await asyncio.open_connection(sock=raw), window=window)
                stack.callback(client.close)
                if begin:
                    await client.begin()
                return client

            async with asyncio.timeout(20):
                await talk(dial)
        assert front.statistics().connections == 0
        assert len(asyncio.all_tasks()) == 1
        return front.statistics()

    return asyncio.run(main())


# -- requests and responses ------------------------------------------------------------------


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
        assert client.settings.get(SettingCodes.ENABLE_CONNECT_PROTOCOL, 0) == 0

    statistics = served(SmallCore(handler), talk)
    assert statistics.requests == 1
    (request,) = seen
    assert (request.method, request.url) == ("GET", "http://host.test/p?q")
    assert request.headers == [("host", "host.test"), ("accept", "*/*"), ("cookie", "a=1; b=2")]
    assert (request.multiplexed, request.urgency, request.incremental) == (True, 1, True)
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


# -- request bodies --------------------------------------------------------------------------


async def upload(client: Client, number: int, data: bytes) -> None:
    """All of it, as fast as the windows allow."""
    while data:
        room = client.http.local_flow_control_window(number)
        piece = data[: min(room, client.http.max_outbound_frame_size)]
        if not piece:
            await client.hear()
            continue
        client.http.send_data(number, piece)
        data = data[len(piece) :]
        await client.flush()
    client.http.end_stream(number)


POST: Fields = [(":method", "POST"), *BASE[1:], (":path", "/")]


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

    served(SmallCore(handler), talk, limits=Limits(body=1000))


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


# -- many streams ----------------------------------------------------------------------------


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

        request.on_urgency.append(note)
        asked.set()
        await changed.wait()
        return Response(200, [], str(request.urgency).encode())

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


# -- tunnels ---------------------------------------------------------------------------------

CONNECT: Fields = [(":method", "CONNECT"), (":authority", "far.test:22")]


def test_a_tunnel_on_a_stream() -> None:
    far = Echo()
    core = SmallCore(far=far)

    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask_with(CONNECT, end=False)
        client.http.send_data(number, b"SSH-2.0")
        await client.flush()
        answer = client.answers[number]
        while answer.body != b"SSH-2.0":
            await client.hear()
        assert answer.status == 200
        assert (await client.get()).status == 200  # beside it
        client.http.end_stream(number)
        assert (await client.answer(number)).ended
        await far.closed.wait()

    statistics = served(core, talk)
    assert core.asked == [("far.test", 22)]
    assert (statistics.requests, statistics.tunnels) == (1, 1)


def test_a_reset_tunnel_is_closed() -> None:
    far = Echo()

    async def talk(dial: Dial) -> None:
        client = await dial()
        number = client.ask_with(CONNECT, end=False)
        await client.flush()
        while not client.answers[number].status:
            await client.hear()
        client.http.reset_stream(number, ErrorCodes.CANCEL)
        await client.flush()
        await far.closed.wait()
        assert (await client.get()).status == 200

    served(SmallCore(far=far), talk)


def test_a_tunnel_that_cannot_be_is_said() -> None:
    async def talk(dial: Dial) -> None:
        client = await dial()
        answer = await client.answer(client.ask_with(CONNECT, end=False))
        assert (answer.status, answer.body) == (504, b"no link")

    served(SmallCore(far=Response(504, [], b"no link")), talk)


# -- what is malformed or too much -----------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        [*BASE],
        [*BASE, (":path", "")],
        [*BASE, (":path", "/a b")],
        [*BASE, (":path", "/"), (":path", "/")],
        [*BASE, (":path", "/"), (":status", "200")],
        [*BASE, ("accept", "*/*"), (":path", "/")],
        [*BASE[1:], (":path", "/")],
        [*BASE, (":path", "/"), (":protocol", "websocket")],
        [*BASE, (":path", "/"), ("Accept", "*/*")],
        [*BASE, (":path", "/"), ("x y", "1")],
        [*BASE, (":path", "/"), ("", "1")],
        [*BASE, (":path", "/"), ("x", "a\r\nb: c")],
        [*BASE, (":path", "/"), ("x", "a\0b")],
        [*BASE, (":path", "/"), ("x", " a")],
        [*BASE, (":path", "/"), ("connection", "close")],
        [*BASE, (":path", "/"), ("transfer-encoding", "chunked")],
        [*BASE, (":path", "/"), ("te", "gzip")],
        [*BASE, (":path", "/"), ("host", "other.test")],
        [*BASE[:2], (":authority", "user@host.test"), (":path", "/")],
        [*BASE[:2], (":path", "/")],
        [(":method", "G T"), *BASE[1:], (":path", "/")],
        [*CONNECT, (":path", "/")],
        [(":method", "CONNECT")],
    ],
)
def test_a_malformed_request_resets_its_stream_alone(fields: Fields) -> None:
    async def talk(dial: Dial) -> None:
        client = await dial()
        bad = await client.answer(client.ask_with(fields, end=False))
        assert bad.reset == ErrorCodes.PROTOCOL_ERROR
        assert (await client.get()).status == 200

    assert served(SmallCore(), talk).refused == 1


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ([*BASE, (":path", "/" + "a" * 9000)], 414),
        ([*BASE, (":path", "/"), *[(f"x-{n}", "v" * 1000) for n in range(80)]], 431),
        ([*BASE, (":path", "*")], 400),
        ([*BASE[:1], (":scheme", "ftp"), *BASE[2:], (":path", "/")], 400),
        ([*BASE[:2], (":authority", "a b"), (":path", "/")], 400),
        ([*BASE[:2], (":authority", "host.test:99999"), (":path", "/")], 400),
        ([(":method", "CONNECT"), (":authority", "host.test")], 400),
    ],
)
def test_a_request_that_is_refused_is_told_why(fields: Fields, status: int) -> None:
    async def talk(dial: Dial) -> None:
        client = await dial()
        answer = await client.answer(client.ask_with(fields))
        assert answer.status == status
        assert answer.fields["content-type"].startswith("text/html")
        assert (await client.get()).status == 200

    served(SmallCore(), talk)


def get(number: int) -> bytes:
    """HEADERS of a GET / by HPACK's static table."""
    head = HeadersFrame(number, b"\x82\x86\x84\x41\x01a", flags=["END_HEADERS", "END_STREAM"])
    return head.serialize()


def reset_at_once(number: int) -> bytes:
    """CVE-2023-44487."""
    return get(number) + RstStreamFrame(number, error_code=8).serialize()


def block(number: int) -> bytes:
    """A field block that never ends (CVE-2024-27316)."""
    if number == 1:
        return HeadersFrame(1, b"\x00" * 16384).serialize()
    return ContinuationFrame(1, b"\x00" * 16384).serialize()


def padding(number: int) -> bytes:
    """DATA that says nothing (CVE-2019-9518)."""
    if number == 1:
        head = HeadersFrame(1, b"\x83\x86\x84\x41\x01a", flags=["END_HEADERS"])
        return head.serialize()
    return DataFrame(1, b"").serialize()


@pytest.mark.parametrize(
    "frame",
    [
        reset_at_once,
        block,
        padding,
        lambda n: PingFrame(0, opaque_data=b"12345678").serialize(),
        lambda n: SettingsFrame(0).serialize(),
        lambda n: WindowUpdateFrame(0, window_increment=1).serialize(),
        lambda n: PriorityFrame(n, stream_weight=5).serialize(),
        lambda n: raw_frame(0xEE, b""),
    ],
    ids=["reset", "block", "padding", "ping", "settings", "window", "priority", "unknown"],
)
def test_floods_end_the_connection(frame: Callable[[int], bytes]) -> None:
    """And nobody else's."""

    async def talk(dial: Dial) -> None:
        client, other = await dial(), await dial()
        raw = b"".join(frame(number) for number in range(1, 9001, 2))
        with contextlib.suppress(ConnectionError):
            await client.send_raw(raw)
        with contextlib.suppress(ConnectionError):
            await client.until_closed()
        if client.goodbye is not None:  # else it was reset, with bytes of ours unread
            assert client.goodbye.error_code == ErrorCodes.ENHANCE_YOUR_CALM
        assert client.closed
        assert (await other.get()).status == 200

    assert served(SmallCore(), talk).refused == 1


def test_a_hundred_pictures_may_be_cancelled_again_and_again() -> None:
    """What a browser does whose user leaves page after page is no flood."""

    async def handler(request: Request) -> Response:
        if request.url.endswith("/last"):
            return Response(200, [], b"")
        await asyncio.Event().wait()
        raise AssertionError

    async def talk(dial: Dial) -> None:
        client = await dial()
        for _ in range(8):
            numbers = [client.ask() for _ in range(100)]
            await client.flush()
            for number in numbers:
                client.http.reset_stream(number, ErrorCodes.CANCEL)
        assert (await client.get("/last")).status == 200

    served(SmallCore(handler), talk)


def test_a_header_bomb_is_not_unpacked() -> None:
    """A field of 4 KB in the dynamic table, named 300 times in 300 bytes: 1.2 MB."""

    async def talk(dial: Dial) -> None:
        client = await dial()
        bomb = b"\x82\x86\x84\x41\x01a" + b"\x40\x01x" + b"\x7f\xa1\x1e" + b"v" * 4000
        frame = HeadersFrame(1, bomb + b"\xbe" * 300, flags=["END_HEADERS", "END_STREAM"])
        await client.send_raw(frame.serialize())
        await client.until_closed()
        assert client.goodbye is not None
        assert client.goodbye.error_code == ErrorCodes.ENHANCE_YOUR_CALM

    served(SmallCore(), talk)


def test_who_does_not_read_is_not_read() -> None:
    """Answers to a client that takes none of them do not pile up here."""
    asked = 0

    async def handler(request: Request) -> Response:
        nonlocal asked
        asked += request.url == "http://a/"
        return Response(200, [(f"x-{n}", "v" * 1000) for n in range(30)], b"")

    async def talk(dial: Dial) -> None:
        client, other = await dial(buffer=4096), await dial()
        for batch in range(20):
            numbers = range(batch * 20 + 1, batch * 20 + 21, 2)
            await client.send_raw(b"".join(map(get, numbers)))
            assert (await other.get()).status == 200
        assert asked <= 100  # of 200: the kernel has taken 1 MB, the front holds a batch

    served(SmallCore(handler), talk)


# -- patience --------------------------------------------------------------------------------

QUICK = dataclasses.replace(Limits(), head_time=0.1, idle_time=0.2)


@pytest.mark.parametrize("said", [b"", PREFACE[:10], PREFACE, PREFACE + b"\0\0\0\4\0\0"])
def test_a_connection_that_does_not_begin_ends(said: bytes) -> None:
    async def talk(dial: Dial) -> None:
        client = await dial(begin=False)
        await client.send_raw(said)
        await client.until_closed()
        assert client.closed

    served(SmallCore(), talk, limits=QUICK)


def test_a_field_block_that_does_not_end_ends_the_connection() -> None:
    async def talk(dial: Dial) -> None:
        client = await dial()
        await client.send_raw(HeadersFrame(1, b"\x82").serialize())
        await client.until_closed()
        assert client.goodbye is not None
        assert client.goodbye.error_code == ErrorCodes.ENHANCE_YOUR_CALM

    served(SmallCore(), talk, limits=QUICK)


def test_an_idle_connection_is_closed_and_a_waiting_one_is_not() -> None:
    async def handler(request: Request) -> Response:
        await asyncio.sleep(0.5)  # longer than the connection may be idle
        return Response(200, [], b"late")

    async def talk(dial: Dial) -> None:
        client = await dial()
        assert (await client.get()).body == b"late"
        await client.until_closed()
        assert client.goodbye is not None
        assert client.goodbye.error_code == ErrorCodes.NO_ERROR

    served(SmallCore(handler), talk, limits=QUICK)


def test_http1_is_spoken_at_the_same_port() -> None:
    async def main() -> None:
        front = Front(SmallCore())
        host, port = await front.listen("127.0.0.1", 0)
        try:
            for method in ("GET", "POST", "PUT", "PROPFIND"):
                reader, writer = await asyncio.open_connection(host, port)
                head = f"{method} http://a.test/ HTTP/1.1\r\nhost: a.test\r\n"
                writer.write(head.encode() + b"connection: close\r\n\r\n")
                assert (await reader.read()).startswith(b"HTTP/1.1 200")
                writer.close()
        finally:
            await front.close()

    asyncio.run(main())
