"""Tests of HTTP/2 streams and of the exchanges on them, without a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from h2.errors import ErrorCodes

from emulation.memory.virtual_time import run
from local_proxy.front.http2.connection import Counts
from local_proxy.front.http2.exchange import Http2Exchange
from local_proxy.front.http2.head import EncodedFields
from local_proxy.front.http2.priority import DEFAULT
from local_proxy.front.http2.streams import Http2Stream
from local_proxy.http.model import Handler, Request, Response
from tests.local_proxy.http2_carrier import GET, Carrier
from tests.local_proxy.small_core import SmallCore, hello

FIELDS: EncodedFields = [(name.encode(), value.encode()) for name, value in GET]


# -- streams ---------------------------------------------------------------------------------------


def test_what_is_read_gives_its_client_credit_and_nothing_before() -> None:
    async def main() -> None:
        carrier = Carrier()
        stream = Http2Stream(carrier, 1, DEFAULT)
        stream.received(b"abc", 10)
        stream.received(b"de", 2)
        assert (stream.unread, carrier.credited) == (5, [])
        assert await stream.read() == b"abcde"
        assert carrier.credited == [12]
        stream.received(b"", 7)  # padding alone
        assert carrier.credited == [12, 7]
        stream.end_received()
        assert await stream.read() == b""

    run(main())


def test_a_write_waits_until_all_of_it_has_gone_out() -> None:
    async def main() -> None:
        carrier = Carrier()
        carrier.flows = False
        stream = Http2Stream(carrier, 1, DEFAULT)
        stream.send_head([(b":status", b"200")])
        writing = asyncio.ensure_future(stream.write_last(b"abcdef"))
        await asyncio.sleep(0.1)
        assert not carrier.flush(stream, 4)
        await asyncio.sleep(0.1)
        assert not writing.done()
        assert carrier.flush(stream, 4)
        await writing
        assert (bytes(carrier.sent), stream.finished) == (b"abcdef", True)
        with pytest.raises(ConnectionResetError):
            await stream.write(b"more")

    run(main())


def test_who_waits_for_a_stream_that_is_reset_hears_of_it() -> None:
    async def main() -> None:
        carrier, left = Carrier(), list[str]()
        carrier.flows = False
        stream = Http2Stream(carrier, 1, DEFAULT)
        stream.on_leave = lambda: left.append("left")
        stream.received(b"unread", 6)
        writing = asyncio.ensure_future(stream.write(b"abc"))
        await asyncio.sleep(0.1)
        stream.lose()
        stream.lose()
        with pytest.raises(ConnectionResetError):
            await writing
        assert await stream.read() == b""
        assert left == ["left"]
        assert carrier.credited == [6]

    run(main())


def test_closing_ends_what_was_begun_and_resets_what_was_not() -> None:
    begun, fresh = Carrier(), Carrier()
    stream = Http2Stream(begun, 1, DEFAULT)
    stream.send_head([(b":status", b"200")])
    stream.close(b"bye")
    assert (bytes(begun.sent), stream.finished) == (b"bye", True)
    assert begun.resets == [ErrorCodes.NO_ERROR]  # the rest of the request is not wanted
    Http2Stream(fresh, 3, DEFAULT).close()
    assert fresh.resets == [ErrorCodes.INTERNAL_ERROR]
    ended = Carrier()
    stream = Http2Stream(ended, 5, DEFAULT)
    stream.end_received()
    stream.send_head([(b":status", b"204")], end=True)
    stream.close()
    stream.abort()
    assert ended.resets == []


def test_interim_responses_come_before_the_final_one_alone() -> None:
    carrier = Carrier()
    stream = Http2Stream(carrier, 1, DEFAULT)
    stream.go_on()
    stream.inform([(b":status", b"103")])
    stream.send_head([(b":status", b"200")])
    stream.inform([(b":status", b"103")])
    assert [fields[0][1] for fields, _ in carrier.heads] == [b"100", b"103", b"200"]


def test_trailers_follow_all_bytes_and_end_the_stream() -> None:
    async def main() -> None:
        carrier = Carrier()
        stream = Http2Stream(carrier, 1, DEFAULT)
        stream.send_head([(b":status", b"200")])
        await stream.write(b"abc")
        await stream.write_trailers([(b"a", b"b")])
        assert carrier.heads[-1] == ([(b"a", b"b")], True)
        assert stream.finished
        with pytest.raises(ConnectionResetError):
            stream.go_on()

    run(main())


# -- exchanges -------------------------------------------------------------------------------------


async def exchanged(
    handler: Handler, *pieces: bytes, fields: EncodedFields = FIELDS, limit: int = 100
) -> tuple[Carrier, Counts]:
    carrier, tally = Carrier(), Counts()
    exchange = Http2Exchange(
        SmallCore(handler=handler), tally, body=limit, connects=None, idle_time=5.0, origin=None
    )
    stream = Http2Stream(carrier, 1, DEFAULT)
    for piece in pieces:
        stream.received(piece, len(piece))
    stream.end_received()
    await exchange.run(stream, fields)
    return carrier, tally


def status(carrier: Carrier) -> bytes:
    return carrier.heads[-1][0][0][1]


def test_a_request_is_answered_and_counted() -> None:
    async def main() -> None:
        carrier, tally = await exchanged(hello)
        assert (status(carrier), bytes(carrier.sent)) == (b"200", b"http://a.test/")
        assert (tally.requests, tally.refused, carrier.resets) == (1, 0, [])

    run(main())


def test_a_request_knows_its_body_and_its_client() -> None:
    async def echo(request: Request) -> Response:
        assert request.body is not None
        assert (request.reached, request.peer) == (Carrier.local_address, Carrier.peer_address)
        return Response(200, [], b"".join([chunk async for chunk in request.body]))

    async def main() -> None:
        carrier, _ = await exchanged(echo, b"abc", b"def")
        assert bytes(carrier.sent) == b"abcdef"

    run(main())


async def reads(request: Request) -> Response:
    assert request.body is not None
    return Response(200, [], b"".join([chunk async for chunk in request.body]))


@pytest.mark.parametrize("said", [[], [(b"content-length", b"5")]])
def test_a_body_above_the_limit_is_refused(said: EncodedFields) -> None:
    async def main() -> None:
        carrier, tally = await exchanged(reads, b"abcde", fields=[*FIELDS, *said], limit=4)
        assert status(carrier) == b"413"
        assert tally.refused == 1

    run(main())


def test_what_is_malformed_resets_its_stream_and_asks_nobody() -> None:
    async def main() -> None:
        carrier, tally = await exchanged(reads, fields=FIELDS[1:])
        assert carrier.resets == [ErrorCodes.PROTOCOL_ERROR]
        assert (carrier.heads, tally.requests, tally.refused) == ([], 0, 1)

    run(main())


def test_a_core_that_raises_is_a_page() -> None:
    async def faulty(request: Request) -> Response:
        raise RuntimeError("out of ideas")

    async def main() -> None:
        carrier, _ = await exchanged(faulty)
        assert status(carrier) == b"502"
        assert b"RuntimeError" in carrier.sent

    run(main())


@pytest.mark.parametrize("length", [2, 4])
def test_a_body_of_another_length_than_it_says_breaks_off(length: int) -> None:
    done: list[bool] = []

    async def wrong(request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            yield b"abc"

        return Response(200, [], body(), length, on_done=[done.append])

    async def main() -> None:
        carrier, _ = await exchanged(wrong)
        assert carrier.resets == [ErrorCodes.INTERNAL_ERROR]
        assert done == [False]

    run(main())


@pytest.mark.parametrize(
    ("trailers", "behind"),
    [([("X-Sum", "7"), ("te", "no")], [(b"x-sum", b"7")]), ([("a b", "c")], []), ([], [])],
)
def test_trailers_end_the_stream_if_they_can_be_written(
    trailers: list[tuple[str, str]], behind: EncodedFields
) -> None:
    async def trailed(request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            yield b"abc"

        return Response(200, [], body(), trailers=lambda: trailers)

    async def main() -> None:
        carrier, _ = await exchanged(trailed)
        assert bytes(carrier.sent) == b"abc"
        assert [fields for fields, _ in carrier.heads[1:]] == ([behind] if behind else [])
        assert carrier.resets == []

    run(main())


def test_a_tunnel_inside_a_connection_for_one_host_is_misdirected() -> None:
    async def main() -> None:
        fields = [(b":method", b"CONNECT"), (b":authority", b"b.test:22")]
        carrier, _ = await exchanged(hello, fields=fields)
        assert status(carrier) == b"421"

    run(main())
