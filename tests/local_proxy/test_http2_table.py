"""Tests of the streams of one HTTP/2 connection, and of the order in which they are written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from h2 import events as e
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes

from emulation.memory.virtual_time import run
from local_proxy.front.http2.connection import Counts
from local_proxy.front.http2.exchange import Http2Exchange
from local_proxy.front.http2.flood import FrameMeter
from local_proxy.front.http2.priority import ResponsePriority
from local_proxy.front.http2.settings import server_side
from local_proxy.front.http2.streams import Http2Stream
from local_proxy.front.http2.table import Over, StreamTable
from local_proxy.front.http2.writer import Http2Writer
from local_proxy.http.model import Handler, Request, Response
from tests.local_proxy.http2_carrier import GET, Carrier
from tests.local_proxy.memory_client import MemoryClient
from tests.local_proxy.small_core import SmallCore, hello

POST = [(":method", "POST"), *GET[1:]]


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


def test_trailers_that_can_be_read_in_two_ways_reset_their_stream_alone() -> None:
    async def reads(request: Request) -> Response:
        assert request.body is not None
        return Response(200, [], b"".join([chunk async for chunk in request.body]))

    async def main() -> None:
        talk = Talk(reads)
        talk.client.config.validate_outbound_headers = False
        for number, name in ((1, "x-sum"), (3, ":path")):
            talk.client.send_headers(number, POST)
            talk.client.send_data(number, b"abc")
            talk.client.send_headers(number, [(name, "/")], end_stream=True)
        talk.hear()
        heard = await talk.events()
        assert list(bodies(heard)) == [(1, b"abc")]
        resets = [one.stream_id for one in heard if isinstance(one, e.StreamReset)]
        assert resets == [3]
        assert len(talk.table) == 0

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
