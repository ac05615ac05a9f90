"""A proxy core whose every answer is the test's, for fronts of any HTTP version."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from local_proxy.http.model import Duplex, Handler, Request, Response


async def hello(request: Request) -> Response:
    return Response(200, [("content-type", "text/plain")], request.url.encode())


@dataclass
class Echo:
    """The far end of a tunnel that sends back what it gets, and its own end after the client's."""

    goodbye: bytes = b""
    """What it says before its end."""
    queue: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> bytes:
        return await self.queue.get()

    async def write(self, data: bytes) -> None:
        await self.queue.put(data)

    async def end(self) -> None:
        if self.goodbye:
            await self.queue.put(self.goodbye)
        await self.queue.put(b"")

    async def close(self) -> None:
        self.closed.set()


@dataclass
class SmallCore:
    """A core that answers everything as the test says."""

    handler: Handler = hello
    far: Echo | Response = field(default_factory=Echo)
    asked: list[tuple[str, int]] = field(default_factory=list)

    async def handle(self, request: Request) -> Response:
        return await self.handler(request)

    async def connect(
        self, host: str, port: int, *, tls: bool = False, early: bytes = b""
    ) -> Duplex | Response:
        self.asked.append((host, port))
        if early and not isinstance(self.far, Response):
            await self.far.write(early)
        return self.far
