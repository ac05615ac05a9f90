"""Tests of how an answer's bytes reach the parser: one answer to one request, and its seams."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler

from remote_proxy.origin.one_answer import BESIDE, MAX_INTERIM, Beside, install
from remote_proxy.origin.trailers import TrailerReader
from tests.remote_proxy.raw_origin import server
from tests.remote_proxy.test_origin import outcome
from wire.fields import Headers

LONG = b"HTTP/1.1 200 X\r\n" + b"".join(b"x-%d: %s\r\n" % (i, b"y" * 500) for i in range(8))
REST = b"content-length: 4\r\n\r\n"


def test_a_head_that_has_not_ended_is_parsed_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """In small pieces, each would be searched for the end of the head: quadratic in its length."""
    pieces: list[int] = []
    parsed = asyncio.Event()
    parse = ResponseHandler.data_received

    def noted(self: ResponseHandler, data: bytes) -> None:
        if data:
            pieces.append(len(data))
        if sum(pieces) == len(LONG):
            parsed.set()
        parse(self, data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(LONG)
        await parsed.wait()  # so that the rest comes by itself
        writer.write(REST + b"body")
        await writer.drain()

    monkeypatch.setattr(ResponseHandler, "data_received", noted)
    _, body = outcome(serve)
    assert body == b"body"
    assert pieces[-2:] == [len(REST), len(b"body")]
    assert sum(pieces[:-2]) == len(LONG)
    assert min(pieces[:-2]) > 3, "each piece was cut"


class Asked:
    """Questions over connections that read one answer each."""

    def __init__(self) -> None:
        self.interim: list[tuple[int, Headers]] = []
        self.trailers = TrailerReader()
        self.connections = 0

    def ask(self, *answers: bytes) -> list[bytes]:
        """The bodies; an origin says the next answer whenever it is asked, and stays."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            while left:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(left.pop(0))
                await writer.drain()
            await reader.read()

        async def main() -> list[bytes]:
            BESIDE.set(Beside(lambda status, fields: self.interim.append((status, fields)),
                              self.trailers))  # fmt: skip
            connector = aiohttp.TCPConnector()
            install(connector)
            async with server(serve) as base, aiohttp.ClientSession(connector=connector) as session:
                bodies = []
                for _ in answers:
                    async with session.get(base) as response:
                        bodies.append(await response.read())
                    await asyncio.sleep(0.01)
                return bodies

        left = [*answers]
        return asyncio.run(main())


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


def test_a_connection_is_used_again_where_its_answer_was_all() -> None:
    asked = Asked()
    assert asked.ask(OK + b"aa", OK + b"bb") == [b"aa", b"bb"]
    assert asked.connections == 1


def test_an_answer_that_nobody_asked_for_is_given_to_nobody() -> None:
    asked = Asked()
    assert asked.ask(OK + b"aa" + OK + b"xx", OK + b"bb") == [b"aa", b"bb"]
    assert asked.connections == 2


def test_interim_answers_are_told_but_for_those_of_one_hop_and_only_so_many() -> None:
    asked = Asked()
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
    said = b"HTTP/1.1 100 Continue\r\n\r\n" + early * (MAX_INTERIM + 3)
    assert asked.ask(said + OK + b"aa") == [b"aa"]
    assert asked.interim == [(103, [("link", "</a.css>")])] * MAX_INTERIM


def test_trailers_are_read_behind_a_chunked_body() -> None:
    asked = Asked()
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n"
    assert asked.ask(head + b"2\r\naa\r\n0\r\nX-Sum: 7\r\n\r\n") == [b"aa"]
    assert asked.trailers.fields == [("x-sum", "7")]


def test_who_reads_a_body_is_told_that_its_framing_is_broken() -> None:
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    with pytest.raises(aiohttp.ClientPayloadError):
        Asked().ask(head + b"2\r\naa\r\nnonsense\r\n")
