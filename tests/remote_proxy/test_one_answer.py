"""How an answer's bytes reach the parser: as they came, but for the seam between head and body."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp.client_proto import ResponseHandler

from tests.remote_proxy.test_origin import outcome

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
