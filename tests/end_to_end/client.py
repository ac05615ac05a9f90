"""Clients of the local proxy in tests: a plain one, and one that asks as a browser does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import h11

from wire.fields import Headers

Address = tuple[str, int]

PLAIN: Headers = [("accept", "*/*")]
"""What a plain client sends."""


class Broken(Exception):
    """The connection ended before the response did."""


@dataclass
class Answer:
    """A response, its head read; `read` for the body as it comes."""

    status: int
    headers: Headers
    stream: AsyncIterator[bytes] = field(repr=False)
    body: bytes = b""

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key == name)


class Client:
    """Speaks HTTP/1.1 to the local proxy, one connection a request."""

    def __init__(self, proxy: Address) -> None:
        self._proxy = proxy

    async def get(self, url: str, headers: Headers | None = None, **more: Any) -> Answer:
        """The whole answer. Raises Broken."""
        async with self.open(url, headers, **more) as answer:
            answer.body = b"".join([chunk async for chunk in answer.stream])
            return answer

    @asynccontextmanager
    async def open(
        self, url: str, headers: Headers | None = None, *, method: str = "GET",
        body: bytes | AsyncIterator[bytes] | None = None,
    ) -> AsyncIterator[Answer]:  # fmt: skip
        """The answer as soon as its head is there; leaving closes the connection."""
        reader, writer = await asyncio.open_connection(*self._proxy)
        upload = None
        try:
            http = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
            host = url.split("/", 3)[2]
            fields = [("host", host), *(headers if headers is not None else PLAIN)]
            if isinstance(body, bytes):
                fields.append(("content-length", str(len(body))))
            elif body is not None:
                fields.append(("transfer-encoding", "chunked"))
            writer.write(http.send(h11.Request(method=method, target=url, headers=fields)) or b"")
            upload = asyncio.ensure_future(_send_body(http, writer, body))
            head = await _event(http, reader)
            while isinstance(head, h11.InformationalResponse):
                head = await _event(http, reader)
            assert isinstance(head, h11.Response)
            pairs = [(n.decode(), v.decode("latin-1")) for n, v in head.headers]
            yield Answer(head.status_code, pairs, _body(http, reader))
        finally:
            if upload is not None:
                upload.cancel()
                await asyncio.gather(upload, return_exceptions=True)
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)

    async def connect(
        self, authority: str
    ) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter]:
        """A tunnel: the status, and the streams."""
        reader, writer = await asyncio.open_connection(*self._proxy)
        writer.write(f"CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        return int(head.split(b" ")[1]), reader, writer


async def _send_body(
    http: h11.Connection, writer: asyncio.StreamWriter, body: bytes | AsyncIterator[bytes] | None
) -> None:
    if isinstance(body, bytes):
        for at in range(0, len(body), 65536):
            writer.write(http.send(h11.Data(data=body[at : at + 65536])) or b"")
            await writer.drain()
    elif body is not None:
        async for chunk in body:
            writer.write(http.send(h11.Data(data=chunk)) or b"")
            await writer.drain()
    writer.write(http.send(h11.EndOfMessage()) or b"")
    await writer.drain()


async def _event(http: h11.Connection, reader: asyncio.StreamReader) -> Any:
    try:
        while (event := http.next_event()) is h11.NEED_DATA:
            http.receive_data(await reader.read(65536))
    except (h11.RemoteProtocolError, ConnectionError) as error:
        raise Broken(str(error)) from error
    if isinstance(event, h11.ConnectionClosed):
        raise Broken("closed")
    return event


async def _body(http: h11.Connection, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while isinstance(event := await _event(http, reader), h11.Data):
        yield bytes(event.data)


_AGENT = ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0 Safari/537.36")
_LANGUAGE = ("accept-language", "en-US,en;q=0.9")
_CODINGS = ("accept-encoding", "gzip, deflate")
_PICTURES = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
PAGES = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,"
    "*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
)


class Browser(Client):
    """Sends what Chromium sends to http origins on another host than localhost."""

    async def navigate(self, url: str, **more: Any) -> Answer:
        return await self.get(url, self.navigation(), **more)

    @staticmethod
    def navigation() -> Headers:
        return [("upgrade-insecure-requests", "1"), _AGENT, ("accept", PAGES), _CODINGS, _LANGUAGE]

    @staticmethod
    def part(page: str, accept: str = "*/*") -> Headers:
        return [_AGENT, ("accept", accept), ("referer", page), _CODINGS, _LANGUAGE]

    def picture(self, page: str) -> Headers:
        return self.part(page, _PICTURES)

    async def style(self, url: str, page: str) -> Answer:
        return await self.get(url, self.part(page, "text/css,*/*;q=0.1"))

    async def script(self, url: str, page: str) -> Answer:
        return await self.get(url, self.part(page))

    async def image(self, url: str, page: str) -> Answer:
        return await self.get(url, self.picture(page))
