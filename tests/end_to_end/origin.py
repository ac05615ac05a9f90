"""An origin made of handlers by path, over real loopback sockets."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.end_to_end.listening import Address, listening
from wire.fields import Headers


@dataclass
class Asked:
    """A request as the origin got it; `reader` stands at its body."""

    method: str
    target: str
    headers: Headers
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key == name)

    async def body(self) -> bytes:
        """All of the body, by its length or its chunks."""
        if self.header("transfer-encoding") == "chunked":
            data = bytearray()
            while size := int(await self.reader.readuntil(b"\r\n"), 16):
                data += await self.reader.readexactly(size)
                await self.reader.readuntil(b"\r\n")
            await self.reader.readuntil(b"\r\n")
            return bytes(data)
        return await self.reader.readexactly(int(self.header("content-length") or 0))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(
        self, body: bytes = b"", content_type: str = "text/html", *, status: int = 200,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        """A whole response with its length."""
        fields = [("content-length", str(len(body))), *headers]
        if content_type:
            fields.append(("content-type", content_type))
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{n}: {v}\r\n" for n, v in fields) + "\r\n"
        await self.send(head.encode("latin-1") + (b"" if self.method == "HEAD" else body))

    async def reset(self) -> None:
        """Break the connection off."""
        self.writer.transport.abort()


Handler = Callable[[Asked], Awaitable[None]]


class FakeOrigin:
    """A server made of handlers by path; counts what it is asked."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        """`tls`: it speaks https."""
        self.paths: dict[str, Handler] = {}
        self.asked: list[Asked] = []
        self.connections = 0
        self.address: Address = ("", 0)
        self.name = ""
        """By which its certificate knows it; empty: its address."""
        self._tls = tls

    @property
    def base(self) -> str:
        scheme = "https" if self._tls is not None else "http"
        return f"{scheme}://{self.name or self.address[0]}:{self.address[1]}"

    def counts(self) -> Counter[str]:
        return Counter(asked.target for asked in self.asked)

    def serve(
        self, path: str, body: bytes, content_type: str = "text/html", *, status: int = 200,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        """Always answer the same."""
        fixed = list(headers)

        async def handler(asked: Asked) -> None:
            await asked.answer(body, content_type, status=status, headers=fixed)

        self.paths[path] = handler

    @asynccontextmanager
    async def running(self, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[FakeOrigin]:
        async with listening(self._connected, host, port, tls=self._tls) as self.address:
            yield self

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (asked := await _asked(reader, writer)) is not None:
                self.asked.append(asked)
                handler = self.paths.get(asked.target.partition("?")[0])
                if handler is None:
                    await asked.answer(b"nothing here", "text/plain", status=404)
                else:
                    await handler(asked)
                if writer.transport.is_closing():
                    break
        finally:
            writer.transport.abort()


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    line, *fields = head[:-4].split("\r\n")
    method, target, _ = line.split(" ")
    pairs = [field.split(":", 1) for field in fields]
    headers = [(name.lower(), value.strip()) for name, value in pairs]
    return Asked(method, target, headers, reader, writer)
