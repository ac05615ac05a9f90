"""A local proxy as programs see it that open documents: it says the lines that the test says."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from local_proxy.documents.page import PATH
from local_proxy.documents.report import AnyLine, Begun, MediaLine, encoder
from local_proxy.front.http1.front import Http1Front
from local_proxy.http.model import Duplex, Request, Response
from local_proxy.status.control import TOKEN
from tests.office.fake_source import FakeSource
from wire.fields import header

DATA = Path(__file__).parents[1] / "data" / "office"
NUMBER = 3


def begun(source: FakeSource, *, directory: int | None = None) -> Begun:
    """The first line of a document in parts."""
    outline = source.outline
    return Begun(
        *(NUMBER, source.url, source.name, str(source.path), source.length),
        source.directory.start if directory is None else directory,
        outline.kind,
        [list(page.entries) for page in outline.pages],
        [MediaLine(one.entry, list(one.pages), one.width, one.height) for one in outline.media],
        list(outline.texts),
        list(outline.others),
    )


@dataclass
class ServedDocument:
    """One answer to POST /documents."""

    status: int = 200
    lines: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    said: list[tuple[str, str, bytes]] = field(default_factory=list)
    """Path, token and body of what was posted."""
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """The reader of the lines has gone."""
    sites: bytes = b'{"token":"secret"}'

    def tell(self, *lines: AnyLine | bytes) -> None:
        for line in lines:
            data = line if isinstance(line, bytes) else encoder.encode(line)
            self.lines.put_nowait(data + b"\n")

    def end(self) -> None:
        self.lines.put_nowait(None)

    async def handle(self, request: Request) -> Response:
        path = urlsplit(request.url).path
        if path == "/sites.json":
            return Response(200, [], self.sites)
        body = b"".join([chunk async for chunk in request.body]) if request.body else b""
        self.said.append((path, header(request.headers, TOKEN), body))
        self.heard.set()
        if path != PATH:
            return Response(200, [], b"{}")
        return Response(self.status, [], self._stream(), on_done=[lambda _: self.left.set()])

    async def connect(self, host: str, port: int, **how: object) -> Duplex | Response:
        return Response(403, [])

    async def _stream(self) -> AsyncIterator[bytes]:
        while (line := await self.lines.get()) is not None:
            yield line


@contextlib.asynccontextmanager
async def served() -> AsyncIterator[tuple[ServedDocument, str, int]]:
    """The document, and where its proxy listens."""
    document = ServedDocument()
    front = Http1Front(document)
    host, port = await front.listen("127.0.0.1", 0)
    try:
        yield document, host, port
    finally:
        await front.close()
