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

from policies.plan import Decision
from remote_proxy.importing import Importer
from remote_proxy.origin import FetchRequest, Origin, OriginError, OriginResponse, decode
from remote_proxy.plan import Plan, picture_options
from remote_proxy.tree import Tree
from transcoders.registry import Transcoders
from transcoders.text import TextEncoder, compressible
from transport.incoming import Incoming
from transport.outbox import TreeOutbox
from transport.outgoing import Outgoing
from wire import messages as m
from wire.session import Headers, header
from wire.skeleton import Kind, Use

SMALL: Final = 4096
"""Bytes below which a picture is left alone (HATS, section 4.1.1); also what is gathered before
its length counts."""
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
    width: int = 0
    """CSS pixels in the layout, 0: unknown."""
    height: int = 0
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
        content_type = header(response.headers, "content-type").partition(";")[0].strip().lower()
        if self.job.method == "HEAD" or response.status in (204, 304):
            self._head(response, response.headers, length=response.length)
            self._open(self.job.kind or Kind.OTHER).finish()
        elif compressible(content_type):
            await self._text(response, content_type)
        elif self._may_have_levels(content_type, response):
            await self._picture(response, content_type)
        else:
            await self._as_it_is(response, content_type, b"")

    def _may_have_levels(self, content_type: str, response: OriginResponse) -> bool:
        return (
            self.job.levels
            and response.status == 200
            and content_type.startswith("image/")
            and not self._decision(Kind.IMAGE, response.length).untouched
            and "no-transform" not in header(response.headers, "cache-control").lower()
            and not header(response.headers, "content-encoding")
        )

    def _decision(self, kind: Kind, length: int | None) -> Decision:
        job = self.job
        return self._sender.plan.decide(job.component, job.document, kind, job.use, length)

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
        transcoders = self._services.transcoders
        data = bytearray()
        async for chunk in response.body:
            data += chunk
            if not transcoders.wants(content_type, bytes(data[:PIECE]), max(len(data), SMALL)):
                await self._as_it_is(response, content_type, bytes(data))
                return
        options = picture_options(
            self._decision(Kind.IMAGE, len(data)), width=self.job.width, height=self.job.height
        )
        picture = await transcoders.picture(bytes(data), content_type, options)
        if picture is None:
            self._head(response, response.headers, length=len(data))
            outgoing = self._open(Kind.IMAGE)
            outgoing.write(bytes(data))
        else:
            levels, size = list(picture.levels), len(picture.data)
            self._sender.say(m.Levels(self.job.component, levels, size))
            self._head(response, response.headers, length=size)
            outgoing = self._open(Kind.IMAGE)
            marks = tuple(level.end for level in levels)
            self._sender.tree.hierarchy.set_marks(outgoing.leaf, marks)
            outgoing.write(picture.data)
        outgoing.finish()

    async def _as_it_is(self, response: OriginResponse, content_type: str, begun: bytes) -> None:
        """The origin's bytes, untouched; `begun` were read already."""
        self._head(response, response.headers, length=response.length)
        outgoing = self._open(self.job.kind or kind_of(content_type))
        outgoing.write(begun)
        await self._stream(outgoing, response.body)

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
