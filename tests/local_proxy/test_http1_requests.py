"""Tests of one HTTP/1.1 connection without a socket: its bodies, its answers, its WebSockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import h11
import pytest

from emulation.memory.virtual_time import run
from local_proxy.front.http1.body import RequestBody, chunked, refusal, too_large
from local_proxy.front.http1.chunks import ChunkCheck
from local_proxy.front.http1.connection import Http1Connection
from local_proxy.front.http1.front import Http1Front
from local_proxy.front.http1.upgrade import Switched, asks, open_websocket, switch
from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Duplex, Request, Response
from local_proxy.http.request_rules import RefusedRequest
from tests.local_proxy.ends import text_of
from tests.local_proxy.memory_client import MemoryClient
from tests.local_proxy.small_core import SmallCore, hello
from wire.fields import Headers

POST = b"POST / HTTP/1.1\r\nHost: a.test\r\n"


# -- bodies ----------------------------------------------------------------------------------------


def begun(head: bytes, client: MemoryClient, *, limit: int = 100) -> RequestBody:
    http = h11.Connection(h11.SERVER)
    http.receive_data(head + b"\r\n")
    event = http.next_event()
    assert isinstance(event, h11.Request)
    check = ChunkCheck(limit=limit) if chunked(event) else None
    return RequestBody(http, client, check, limit=limit)


async def whole(body: RequestBody) -> bytes:
    return b"".join([chunk async for chunk in body])


@pytest.mark.parametrize(
    ("field", "pieces"),
    [
        (b"Content-Length: 6\r\n", [b"abc", b"def"]),
        (b"Transfer-Encoding: chunked\r\n", [b"3\r\nabc\r\n3\r", b"\ndef\r\n0\r\n\r\n"]),
    ],
)
def test_a_body_comes_as_the_client_sends_it(field: bytes, pieces: list[bytes]) -> None:
    async def main() -> None:
        client = MemoryClient(*pieces)
        body = begun(POST + field, client)
        assert await whole(body) == b"abcdef"
        assert body.refusal is None
        assert not client.written

    run(main())


def test_a_client_that_waits_is_told_to_go_on_once_the_body_is_wanted() -> None:
    async def main() -> None:
        client = MemoryClient(b"abc")
        body = begun(POST + b"Content-Length: 3\r\nExpect: 100-continue\r\n", client)
        assert not client.written
        assert await whole(body) == b"abc"
        assert bytes(client.written).startswith(b"HTTP/1.1 100 ")
        assert client.written.count(b"HTTP/1.1 100 ") == 1

    run(main())


@pytest.mark.parametrize(
    ("field", "piece", "status"),
    [
        (b"Content-Length: 5\r\n", b"abcde", 413),
        (b"Transfer-Encoding: chunked\r\n", b"5\r\nabcde\r\n", 413),
        (b"Transfer-Encoding: chunked\r\n", b"x\r\n", 400),
        (b"Transfer-Encoding: chunked\r\n", b"3\r\nabcd\r\n", 400),
    ],
)
def test_what_is_wrong_with_a_body_is_refused_and_stays_so(
    field: bytes, piece: bytes, status: int
) -> None:
    async def main() -> None:
        body = begun(POST + field, MemoryClient(piece, ended=True), limit=4)
        for _ in range(2):
            with pytest.raises(RefusedRequest) as caught:
                await whole(body)
            assert caught.value.status == status
        assert body.refusal is not None

    run(main())


def test_a_body_cut_short_is_refused_and_one_that_is_over_is_not_read() -> None:
    async def main() -> None:
        field = POST + b"Content-Length: 9\r\n"
        with pytest.raises(RefusedRequest) as caught:
            await whole(begun(field, MemoryClient(b"abc", ended=True)))
        assert caught.value.status == 400
        body = begun(field, MemoryClient(b"abc"))
        body.over = True
        assert await whole(body) == b""

    run(main())


def test_refusals_have_the_status_that_belongs_to_them() -> None:
    assert too_large().status == 413
    assert refusal(h11.RemoteProtocolError("odd", error_status_hint=501)).status == 501


# -- connections -----------------------------------------------------------------------------------

GET = b"GET http://a.test/%b HTTP/1.1\r\nHost: a.test\r\n\r\n"


async def served(
    core: SmallCore, client: MemoryClient, *, limits: FrontLimits | None = None
) -> Http1Front:
    front = Http1Front(core, limits=limits)
    await Http1Connection(front, client).run()
    return front


def test_requests_are_answered_in_their_order_until_the_client_leaves() -> None:
    async def main() -> None:
        client = MemoryClient(GET % b"1" + (GET % b"2")[:9], (GET % b"2")[9:])
        asyncio.get_running_loop().call_later(0.1, client.leave)
        front = await served(SmallCore(), client)
        first, second = bytes(client.written).split(b"HTTP/1.1 200 ")[1:]
        assert first.endswith(b"\r\n\r\nhttp://a.test/1")
        assert second.endswith(b"\r\n\r\nhttp://a.test/2")
        assert (front.requests, front.refused, client.closed) == (2, 0, True)

    run(main())


def test_a_malformed_request_is_told_so_and_the_connection_ends() -> None:
    async def main() -> None:
        client = MemoryClient(b"GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n" + GET % b"2")
        asyncio.get_running_loop().call_later(0.1, client.leave)
        front = await served(SmallCore(), client)
        assert client.written.startswith(b"HTTP/1.1 400 ")
        assert b"connection: close" in client.written.lower()
        assert (front.requests, front.refused) == (0, 1)
        assert client.half_closed

    run(main())


@pytest.mark.parametrize(("sent", "said"), [(b"", b""), (b"GET / HT", b"HTTP/1.1 408 ")])
def test_who_says_nothing_is_left_and_who_stops_in_a_head_is_told_so(
    sent: bytes, said: bytes
) -> None:
    async def main() -> None:
        client = MemoryClient(*([sent] if sent else []))
        await served(SmallCore(), client, limits=FrontLimits(idle_time=5.0, head_time=2.0))
        assert client.written.startswith(said)
        assert bool(client.written) == bool(said)
        assert client.closed

    run(main())


def test_a_core_that_raises_is_a_page_and_the_next_request_is_served() -> None:
    async def faulty(request: Request) -> Response:
        if request.url.endswith("1"):
            raise RuntimeError("out of ideas")
        return await hello(request)

    async def main() -> None:
        client = MemoryClient(GET % b"1" + GET % b"2")
        asyncio.get_running_loop().call_later(0.1, client.leave)
        await served(SmallCore(handler=faulty), client)
        assert client.written.startswith(b"HTTP/1.1 502 ")
        assert b"RuntimeError" in client.written
        assert client.written.endswith(b"http://a.test/2")

    run(main())


def test_a_body_that_is_not_as_long_as_it_says_is_not_taken_for_whole() -> None:
    done: list[bool] = []

    async def short(request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            yield b"abc"

        return Response(200, [], body(), 9, on_done=[done.append])

    async def main() -> None:
        client = MemoryClient(GET % b"1" + GET % b"2")
        await served(SmallCore(handler=short), client)
        assert client.written.endswith(b"\r\n\r\nabc")
        assert client.closed
        assert done == [False]

    run(main())


@pytest.mark.parametrize(("version", "reset"), [(b"1.0", True), (b"1.1", False)])
def test_a_client_that_knows_the_end_by_the_close_alone_is_reset(
    version: bytes, reset: bool
) -> None:
    async def breaks(request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            yield b"abc"
            raise RuntimeError("the origin is gone")

        return Response(200, [], body())

    async def main() -> None:
        client = MemoryClient(b"GET http://a.test/ HTTP/%b\r\nHost: a.test\r\n\r\n" % version)
        await served(SmallCore(handler=breaks), client)
        assert client.aborted is reset
        assert not client.written.endswith(b"0\r\n\r\n")

    run(main())


def test_trailers_stand_behind_the_body_where_there_are_chunks() -> None:
    async def trailed(request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            yield b"abc"

        length = None if request.url.endswith("1") else 3
        return Response(200, [], body(), length, trailers=lambda: [("x-sum", "7"), ("te", "no")])

    async def main() -> None:
        client = MemoryClient(GET % b"1" + GET % b"2")
        asyncio.get_running_loop().call_later(0.1, client.leave)
        await served(SmallCore(handler=trailed), client)
        first, second = bytes(client.written).split(b"HTTP/1.1 200 ")[1:]
        assert first.endswith(b"3\r\nabc\r\n0\r\nx-sum: 7\r\n\r\n")
        assert second.endswith(b"\r\n\r\nabc")

    run(main())


def test_one_too_many_is_turned_away_in_words() -> None:
    async def main() -> None:
        client = MemoryClient(ended=True)
        front = Http1Front(SmallCore(), limits=FrontLimits(connections=3))
        await Http1Connection(front, client).turn_away()
        assert client.written.startswith(b"HTTP/1.1 503 ")
        assert b"More than 3 connections" in client.written
        assert (front.refused, client.closed) == (1, True)

    run(main())


# -- WebSockets ------------------------------------------------------------------------------------

ASKED: Headers = [("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket")]
OPENING = Request(
    "GET",
    "https://a.test:444/chat?x",
    [("host", "a.test:444"), ("sluice-within", "5"), ("cookie", "a=1")],
)
AGREED = b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-A: b\r\n\r\n"


def head(method: str, fields: Headers) -> h11.Request:
    return h11.Request(method=method, target="/", headers=[("host", "a.test"), *fields])


class Server:
    """The far end of a tunnel, which says these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)
        self.written = b""
        self.closed = 0
        self.ended = False

    async def read(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""

    async def write(self, data: bytes) -> None:
        self.written += data

    async def end(self) -> None:
        self.ended = True

    async def close(self) -> None:
        self.closed += 1


class Far(SmallCore):
    """A core with one server."""

    def __init__(self, server: Server | Response) -> None:
        super().__init__()
        self.server = server
        self.connected: list[tuple[str, int, bool]] = []

    async def connect(
        self, host: str, port: int, *, tls: bool = False, early: bytes = b""
    ) -> Duplex | Response:
        self.connected.append((host, port, tls))
        if early and not isinstance(self.server, Response):
            await self.server.write(early)
        return self.server


def test_only_a_get_without_a_body_asks_for_a_websocket() -> None:
    assert asks(head("GET", ASKED))
    assert asks(head("GET", [*ASKED, ("content-length", "0")]))
    assert not asks(head("POST", ASKED))
    assert not asks(head("GET", [*ASKED, ("content-length", "3")]))
    assert not asks(head("GET", ASKED[:1]))
    assert not asks(head("GET", ASKED[1:]))
    assert not asks(head("GET", [ASKED[0], ("upgrade", "h2c")]))


def test_a_server_that_agrees_is_spoken_with_from_the_first_byte() -> None:
    async def main() -> None:
        server = Server(AGREED[:30], AGREED[30:] + b"\x81\x02hi", b"more")
        core = Far(server)
        answer = await open_websocket(core, OPENING)
        assert isinstance(answer, Switched)
        assert core.connected == [("a.test", 444, True)]
        asked = server.written.decode().lower()
        assert asked.startswith("get /chat?x http/1.1\r\n")
        assert "upgrade: websocket\r\n" in asked
        assert "cookie: a=1\r\n" in asked
        assert "sluice" not in asked, "that is for this proxy alone"
        assert answer.headers == [("x-a", "b")]
        assert await answer.far.read() == b"\x81\x02hi"
        assert await answer.far.read() == b"more"
        await answer.far.write(b"!")
        await answer.far.end()
        await answer.far.close()
        assert (server.written[-1:], server.ended, server.closed) == (b"!", True, 1)
        said = switch(answer)
        assert said.status_code == 101
        assert (b"upgrade", b"websocket") in list(said.headers)

    run(main())


def test_a_websocket_is_a_tunnel_once_the_server_has_agreed() -> None:
    async def main() -> None:
        server = Server(AGREED + b"\x81\x02hi")
        fields = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
        opening = b"GET http://a.test/chat HTTP/1.1\r\nHost: a.test\r\n" + fields + b"\r\nearly"
        client = MemoryClient(opening)
        asyncio.get_running_loop().call_later(0.1, client.leave)
        front = await served(Far(server), client)
        head, _, said = bytes(client.written).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        assert said == b"\x81\x02hi"
        assert server.written.endswith(b"\r\n\r\nearly")
        assert (server.closed, front.tunnels) == (1, 1)

    run(main())


def test_a_server_that_does_not_agree_is_heard_and_let_go() -> None:
    async def main() -> None:
        server = Server(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\nAlt-Svc: h3\r\nX-A: b\r\n\r\nno")
        answer = await open_websocket(Far(server), OPENING)
        assert isinstance(answer, Response)
        assert (answer.status, answer.length, answer.headers) == (403, 2, [("x-a", "b")])
        assert server.closed == 0
        assert await text_of(answer) == b"no"
        assert server.closed == 1

    run(main())


@pytest.mark.parametrize("said", [b"nonsense\r\n\r\n", b"", AGREED.replace(b"websocket", b"other")])
def test_a_server_that_speaks_no_http_is_a_bad_gateway(said: bytes) -> None:
    async def main() -> None:
        server = Server(said)
        answer = await open_websocket(Far(server), OPENING)
        assert isinstance(answer, Response)
        assert (answer.status, server.closed) == (502, 1)

    run(main())


def test_a_question_that_is_no_http_goes_to_no_server() -> None:
    async def main() -> None:
        core = Far(Server(AGREED))
        asked = Request("GET", "http://a.test/chat", [*OPENING.headers, ("x-a", "b\r\nc: d")])
        answer = await open_websocket(core, asked)
        assert isinstance(answer, Response)
        assert answer.status == 400
        assert not core.connected

    run(main())


def test_a_server_that_can_not_be_reached_is_what_the_core_says() -> None:
    async def main() -> None:
        refused = Response(504, [], b"no link")
        request = Request("GET", "http://[::1]/", [("host", "[::1]")])
        core = Far(refused)
        assert await open_websocket(core, request) is refused
        assert core.connected == [("[::1]", 80, False)]

    run(main())
