"""Tests of HTTP/2 streams, their table, their writer and their exchanges, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from h2 import events as e
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes

from emulation.memory.virtual_time import run
from local_proxy.front.http2.connection import Counts
from local_proxy.front.http2.exchange import Http2Exchange
from local_proxy.front.http2.flood import FrameMeter
from local_proxy.front.http2.head import EncodedFields
from local_proxy.front.http2.priority import DEFAULT, ResponsePriority
from local_proxy.front.http2.settings import server_side
from local_proxy.front.http2.streams import Http2Stream
from local_proxy.front.http2.table import Over, StreamTable
from local_proxy.front.http2.writer import Http2Writer
from local_proxy.http.model import Handler, Request, Response
from tests.local_proxy.memory_client import MemoryClient
from tests.local_proxy.small_core import SmallCore, hello

GET = [(":method", "GET"), (":scheme", "http"), (":authority", "a.test"), (":path", "/")]
FIELDS: EncodedFields = [(name.encode(), value.encode()) for name, value in GET]


class Carrier:
    """A connection, as a stream sees it: notes what the stream has it do."""

    local_address = ("127.0.0.1", 8118)
    peer_address = ("127.0.0.1", 50_000)

    def __init__(self) -> None:
        self.heads: list[tuple[EncodedFields, bool]] = []
        self.credited: list[int] = []
        self.resets: list[ErrorCodes] = []
        self.sent = bytearray()
        self.flows = True
        """What is written goes out at once."""

    def send_head(self, stream: Http2Stream, fields: EncodedFields, *, end: bool) -> None:
        self.heads.append((fields, end))

    def has_output(self, stream: Http2Stream) -> None:
        if self.flows:
            self.flush(stream)

    def flush(self, stream: Http2Stream, size: int = 1 << 20) -> bool:
        piece, end = stream.take(size)
        self.sent += piece
        stream.sent(end=end)
        return end

    def credit(self, stream: Http2Stream, amount: int) -> None:
        self.credited.append(amount)

    def reset(self, stream: Http2Stream, code: ErrorCodes) -> None:
        self.resets.append(code)
        stream.lose()


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


def test_a_tunnel_inside_a_connection_for_one_host_is_misdirected() -> None:
    async def main() -> None:
        fields = [(b":method", b"CONNECT"), (b":authority", b"b.test:22")]
        carrier, _ = await exchanged(hello, fields=fields)
        assert status(carrier) == b"421"

    run(main())


# -- the table and the writer ----------------------------------------------------------------------


class Talk:
    """A table on a connection whose client is h2's own."""

    def __init__(self, handler: Handler = hello) -> None:
        self.http = server_side()
        self.client = H2Connection(H2Configuration(header_encoding="latin-1"))
        self.stream = MemoryClient()
        self.idle = 0
        exchange = Http2Exchange(
            SmallCore(handler=handler), Counts(), body=100, connects=None, idle_time=5.0,
            origin=None,
        )  # fmt: skip
        self.table = StreamTable(self.http, self.stream, exchange, FrameMeter(), idle=self._idle)
        self.client.initiate_connection()
        self.http.initiate_connection()
        self.client.receive_data(self.http.data_to_send())
        self.hear()

    def _idle(self) -> None:
        self.idle += 1

    def hear(self) -> None:
        """The server takes in what the client has said."""
        for event in self.http.receive_data(self.client.data_to_send()):
            self.table.happened(event, 0.0)

    async def events(self) -> list[e.Event]:
        """What the client has heard after a while."""
        writing = asyncio.ensure_future(self.table.writer.run())
        await asyncio.sleep(0.1)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        heard = self.client.receive_data(bytes(self.stream.written))
        self.stream.written.clear()
        return list(heard)


def bodies(events: list[e.Event]) -> Iterator[tuple[int, bytes]]:
    return ((one.stream_id, one.data) for one in events if isinstance(one, e.DataReceived))


def test_each_request_is_a_stream_until_it_is_over_on_both_sides() -> None:
    async def main() -> None:
        talk = Talk()
        talk.client.send_headers(1, GET, end_stream=True)
        talk.client.send_headers(3, GET, end_stream=True)
        talk.hear()
        assert (len(talk.table), talk.idle) == (2, 0)
        heard = dict(bodies(await talk.events()))
        assert heard == {1: b"http://a.test/", 3: b"http://a.test/"}
        assert (len(talk.table), talk.idle, talk.table.pending) == (0, 1, 0)

    run(main())


def test_a_stream_that_the_client_resets_ends_its_exchange() -> None:
    ended: list[str] = []

    async def waits(request: Request) -> Response:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append(request.url)
        raise AssertionError("it was cancelled")

    async def main() -> None:
        talk = Talk(waits)
        talk.client.send_headers(1, GET, end_stream=True)
        talk.hear()
        await asyncio.sleep(0.1)
        talk.client.reset_stream(1)
        talk.hear()
        await asyncio.sleep(0.1)
        assert ended == ["http://a.test/"]
        assert (len(talk.table), talk.idle) == (0, 1)

    run(main())


def test_the_end_of_a_connection_ends_all_its_exchanges() -> None:
    async def waits(request: Request) -> Response:
        await asyncio.sleep(100)
        return Response(200, [])

    async def main() -> None:
        talk = Talk(waits)
        for number in (1, 3, 5):
            talk.client.send_headers(number, GET, end_stream=True)
        talk.hear()
        await asyncio.sleep(0.1)
        await talk.table.end()
        assert len(talk.table) == 0
        assert len(asyncio.all_tasks()) == 1

    run(main())


def test_a_client_that_says_goodbye_ends_the_connection() -> None:
    async def main() -> None:
        talk = Talk()
        talk.client.close_connection(ErrorCodes.PROTOCOL_ERROR)
        with pytest.raises(Over):
            talk.hear()

    run(main())


def test_the_most_urgent_stream_is_written_first() -> None:
    async def main() -> None:
        talk = Talk()
        order: list[int] = []
        writer = Http2Writer(
            talk.http, talk.stream, piece_sent=lambda stream: order.append(stream.number)
        )
        streams = []
        for number, urgency in ((1, 5), (3, 1), (5, 3)):
            talk.client.send_headers(number, GET, end_stream=True)
            stream = Http2Stream(Carrier(), number, ResponsePriority(urgency))
            streams.append(stream)
        for event in talk.http.receive_data(talk.client.data_to_send()):
            assert event is not None
        for stream in streams:
            talk.http.send_headers(stream.number, [(b":status", b"200")])
            stream.end(b"x" * 100)
            writer.add(stream)
        assert all(stream in writer for stream in streams)
        writing = asyncio.ensure_future(writer.run())
        await asyncio.sleep(0.1)
        assert order == [3, 5, 1]
        assert not any(stream in writer for stream in streams)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)

    run(main())


def test_a_reader_of_frames_waits_for_a_client_that_does_not_read() -> None:
    async def main() -> None:
        talk = Talk()
        writer = Http2Writer(talk.http, talk.stream, piece_sent=lambda stream: None)
        talk.stream.blocked.clear()
        writing = asyncio.ensure_future(writer.run())
        talk.http.ping(b"12345678")
        writer.wake()
        await asyncio.sleep(0.1)
        talk.http.ping(b"12345678")
        waiting = asyncio.ensure_future(writer.room(at_most=0))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        assert writer.unsent() > 0
        talk.stream.blocked.set()
        await waiting
        assert writer.unsent() == 0
        talk.stream.lost = True
        talk.http.ping(b"12345678")
        await writer.room(at_most=0)  # which will never be, and is not waited for
        await writing

    run(main())
