"""One component from the origin into the tree: fetch, adapt, hand over.

Whatever is not understood passes through untouched; an adaptation that fails yields the origin's
bytes. Prefetched and requested components go the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from remote_proxy.importing import Importer
from remote_proxy.origin import FetchRequest, Origin, OriginError, OriginResponse, decode
from remote_proxy.plan import Plan
from remote_proxy.tree import Tree
from transcoders.registry import Transcoders
from transcoders.text import TextEncoder
from transport.incoming import Incoming
from transport.outbox import TreeOutbox
from transport.outgoing import Outgoing
from wire import messages as m
from wire.session import Headers
from wire.skeleton import Kind, Use

TEXT_TYPES: Final = (
    "text/",
    "application/javascript",
    "application/json",
    "application/manifest+json",
    "application/xml",
    "application/xhtml+xml",
    "application/rss+xml",
    "application/atom+xml",
    "application/x-javascript",
    "image/svg+xml",
)
"""Types (or their beginnings) that zstd shrinks. text/event-stream is among them: every chunk is
flushed, so nothing waits in the coder."""
PIECE: Final = 65536
"""Bytes handed to a parser or coder at a time, so that the event loop is never held for long."""
_log = structlog.get_logger("sluice.remote")


@dataclass(frozen=True, slots=True)
class Job:
    """What to deliver."""

    component: int
    document: int
    method: str
    url: str
    headers: Headers
    levels: bool
    """The local proxy can show a picture coarse first."""
    kind: Kind | None = None
    """From the skeleton; None: the response will tell."""
    use: Use = Use.OTHER
    order: int = 0
    upload: Incoming | None = None
    promised: bool = False

    @classmethod
    def requested(cls, request: m.Request, headers: Headers, upload: Incoming | None) -> Job:
        """The job that a Request asks for."""
        is_document = request.component == request.document
        return cls(
            component=request.component,
            document=request.document,
            method=request.method,
            url=request.url,
            headers=headers,
            levels=request.levels,
            use=Use.DOCUMENT if is_document else Use.OTHER,
            upload=upload,
        )


@dataclass(frozen=True, slots=True)
class Services:
    """What deliveries share, across devices."""

    origin: Origin
    transcoders: Transcoders


class Sender(Protocol):
    """What a delivery needs of its session."""

    tree: Tree
    plan: Plan
    outbox: TreeOutbox

    def say(self, message: m.Message, headers: Headers | None = None) -> None: ...

    def importer(self, job: Job, response: OriginResponse) -> Importer | None: ...


class Delivery:
    """One job, from the request to the origin to the last byte in the tree."""

    def __init__(self, job: Job, sender: Sender, services: Services) -> None:
        self.job = job
        self._sender = sender
        self._services = services
        self._outgoing: Outgoing | None = None

    async def run(self) -> None:
        """Deliver. Failures of the origin are told to the local proxy, never raised."""
        job = self.job
        body = job.upload.read() if job.upload is not None else None
        request = FetchRequest(job.method, job.url, job.headers, body)
        try:
            async with self._services.origin.fetch(request) as response:
                await self._respond(response)
        except OriginError as error:
            self._fail(error)
        except BaseException:
            self._sender.outbox.drop(job.component)
            raise

    async def _respond(self, response: OriginResponse) -> None:
        content_type = _field(response.headers, "content-type").partition(";")[0].strip().lower()
        if self.job.method == "HEAD" or response.status in (204, 304):
            self._head(response, response.headers, length=response.length)
            self._open(self.job.kind or Kind.OTHER).finish()
        elif content_type.startswith(TEXT_TYPES):
            await self._text(response, content_type)
        elif response.status == 200 and self._adaptable(content_type, response):
            await self._picture(response, content_type)
        else:
            kind = self.job.kind or kind_of(content_type)
            self._head(response, response.headers, length=response.length)
            await self._stream(self._open(kind), response.body)

    def _adaptable(self, content_type: str, response: OriginResponse) -> bool:
        if not self.job.levels or not self._sender.plan.adapts(Kind.IMAGE):
            return False
        if "no-transform" in _field(response.headers, "cache-control").lower():
            return False
        if _field(response.headers, "content-encoding"):
            return False
        return self._services.transcoders.wants(content_type, b"", response.length)

    # -- three ways --------------------------------------------------------------------------------

    async def _text(self, response: OriginResponse, content_type: str) -> None:
        """Decode what the origin coded, read it for sub-resources, code it for the link."""
        importer = self._sender.importer(self.job, response)
        headers, body = decode(response.headers, response.body)
        length = response.length if headers == response.headers else None
        self._head(response, headers, length=length, coding="zstd")
        outgoing = self._open(self.job.kind or kind_of(content_type))
        encoder = TextEncoder()
        async for chunk in body:
            for at in range(0, len(chunk), PIECE):
                piece = chunk[at : at + PIECE]
                outgoing.write(encoder.encode(piece))
                if importer is not None:
                    importer.feed(piece)
                    await asyncio.sleep(0)
            await outgoing.room()
        if importer is not None:
            importer.close()
        outgoing.write(encoder.finish())
        outgoing.finish()

    async def _picture(self, response: OriginResponse, content_type: str) -> None:
        """Collect the picture, make its levels; too large or not improved: as it is."""
        leaf_kind = Kind.IMAGE
        limit = self._services.transcoders.max_bytes
        data = bytearray()
        body = response.body
        async for chunk in body:
            data += chunk
            if len(data) > limit:
                self._head(response, response.headers, length=response.length)
                outgoing = self._open(leaf_kind)
                outgoing.write(bytes(data))
                await self._stream(outgoing, body)
                return
        original = bytes(data)
        options = self._sender.plan.picture_options(self.job)
        picture = await self._services.transcoders.picture(original, content_type, options)
        if picture is None:
            self._head(response, response.headers, length=len(original))
            outgoing = self._open(leaf_kind)
            outgoing.write(original)
        else:
            self._sender.say(m.Levels(self.job.component, list(picture.levels), len(picture.data)))
            self._head(response, response.headers, length=len(picture.data))
            outgoing = self._open(leaf_kind)
            self._sender.tree.hierarchy.set_marks(
                outgoing.leaf, tuple(level.end for level in picture.levels)
            )
            outgoing.write(picture.data)
        outgoing.finish()

    async def _stream(self, outgoing: Outgoing, body: AsyncIterator[bytes]) -> None:
        async for chunk in body:
            outgoing.write(chunk)
            await outgoing.room()
        outgoing.finish()

    # -- the link's side -----------------------------------------------------------------------------

    def _head(
        self,
        response: OriginResponse,
        headers: Headers,
        *,
        length: int | None,
        coding: str = "",
    ) -> None:
        self._sender.say(
            m.Head(
                self.job.component,
                response.status,
                b"",
                length=-1 if length is None else length,
                coding=coding,
            ),
            headers,
        )

    def _open(self, kind: Kind) -> Outgoing:
        """Enter the tree (a promised component has been there since its promise)."""
        job = self.job
        leaf = self._sender.tree.leaf(job.document, job.component, kind=kind.value, order=job.order)
        self._outgoing = self._sender.outbox.open(job.component, leaf)
        return self._outgoing

    def _fail(self, error: OriginError) -> None:
        """Tell the local proxy; what has begun is cut short, so that nobody takes it for whole."""
        job = self.job
        _log.info("the origin failed", url=job.url, error=str(error))
        if self._outgoing is None:
            self._sender.tree.forget(job.component)
            self._sender.say(m.Failed(job.component, error.status, str(error)))
        else:
            self._sender.outbox.drop(job.component)
            self._sender.say(m.Reset(job.component, str(error)))


def kind_of(content_type: str) -> Kind:
    """The kind of a component from its media type."""
    if content_type in ("text/css",):
        return Kind.STYLE
    if "javascript" in content_type:
        return Kind.SCRIPT
    if content_type == "image/svg+xml" or content_type.startswith("image/"):
        return Kind.IMAGE
    if content_type.startswith(("video/", "audio/")):
        return Kind.MEDIA
    if content_type.startswith("font/") or "font" in content_type:
        return Kind.FONT
    if content_type.startswith("text/") or content_type.endswith(("+xml", "/xml", "/json")):
        return Kind.TEXT
    return Kind.OTHER


def _field(headers: Headers, name: str) -> str:
    return ", ".join(value for key, value in headers if key == name)
