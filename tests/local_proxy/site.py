"""A tiny core for tests: one site whose pictures arrive level by level when the test says so."""

from __future__ import annotations

import asyncio
import io
import random
import time
from dataclasses import dataclass, field

from PIL import Image

from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.http.model import Duplex, Request, Response
from local_proxy.link.components import Component, OriginHead
from transcoders.make.low import in_front
from transcoders.make.sketch import draw
from transcoders.picture import Picture
from transcoders.undo.sketch import enlarged, stretched
from wire.fields import Headers, header
from wire.skeleton import Kind, Level, Use


def progressive(
    seed: int, *, size: tuple[int, int] = (320, 240), grain: tuple[int, int] = (16, 12)
) -> tuple[bytes, list[int]]:
    """A progressive JPEG and where its scans end. `grain`: blots across and down."""
    noise = random.Random(seed)
    small = Image.frombytes("RGB", grain, noise.randbytes(grain[0] * grain[1] * 3))
    out = io.BytesIO()
    small.resize(size, Image.Resampling.BICUBIC).save(out, "JPEG", progressive=True, quality=90)
    data = out.getvalue()
    return data, scan_ends(data)


def scan_ends(data: bytes) -> list[int]:
    """Offsets behind each scan's entropy-coded data (ITU T.81, B.1.1)."""
    ends, at = [], 2
    while data[at + 1] != 0xD9:
        marker = data[at + 1]
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
        if marker == 0xDA:
            while data[at] != 0xFF or data[at + 1] == 0:
                at += 1
            ends.append(at)
    return ends


def levels(data: bytes, ends: list[int]) -> tuple[Level, ...]:
    """Low, medium and high as prefixes, then all."""
    cuts = {"low": ends[0], "medium": ends[2], "high": ends[4]}
    kind, mark = "image/jpeg", b"\xff\xd9"
    coarse = [Level(name, 0, end, kind, mark) for name, end in cuts.items()]
    return (*coarse, Level("original", 0, len(data), kind))


async def _enlarge(sketch: bytes, width: int, height: int, *, small: bool) -> bytes:
    make = stretched if small else enlarged
    return await asyncio.to_thread(make, sketch, width, height)


@dataclass
class Quiet:
    """A tracker that writes down what it hears."""

    heard: list[tuple[object, ...]] = field(default_factory=list)

    def visible(self, document: int, on: bool) -> None:
        self.heard.append(("visible", document, on))

    def focus(self, document: int, on: bool) -> None:
        self.heard.append(("focus", document, on))

    def pointer(self, document: int, url: str | None) -> None:
        self.heard.append(("pointer", document, url))

    def original(self, document: int, url: str) -> bool:
        self.heard.append(("original", document, url))
        return True

    def in_view(self, document: int, urls: list[str]) -> None:
        self.heard.append(("in_view", document, tuple(urls)))

    def layout(self, document: int, sizes: dict[str, tuple[int, int]]) -> None:
        self.heard.append(("layout", document, dict(sizes)))

    def titled(self, document: int, title: str) -> None:
        self.heard.append(("titled", document, title))

    def plays(self, document: int, on: bool) -> None:
        self.heard.append(("plays", document, on))

    def closed(self, document: int) -> None:
        self.heard.append(("closed", document))


class Site:
    """Pages and pictures by URL; hosts that begin with "plain" get no driver."""

    def __init__(self) -> None:
        self.tracker = Quiet()
        self.export = BrowserExport(
            now=time.monotonic, tracker=self.tracker, fetch=self.handle, enlarge=_enlarge
        )
        self.pages: dict[str, tuple[bytes, Headers]] = {}
        self.files: dict[str, bytes] = {}
        self.sent: dict[str, bytes] = {}
        """Pictures as they cross the link."""
        self.components: dict[str, Component] = {}
        self.log: list[str] = []
        self.held: dict[str, asyncio.Event] = {}
        """By how an address ends: it is answered once the event is set."""
        self.opened = 0
        self.documents: dict[str, int] = {}
        """The newest document of each address."""

    def page(self, path: str, html: str, *headers: tuple[str, str]) -> None:
        self.pages[path] = html.encode(), [("content-type", "text/html; charset=utf-8"), *headers]

    def picture(
        self,
        path: str,
        seed: int,
        *,
        use: Use = Use.ELEMENT,
        size: tuple[int, int] = (320, 240),
        grain: tuple[int, int] = (16, 12),
        origin: str = "http://site.test",
        sketch: bool = False,
    ) -> None:
        """A picture of which nothing has come yet. `sketch`: it has one in front."""
        self.files[path], ends = progressive(seed, size=size, grain=grain)
        data = self.files[path]
        made = Picture(data, levels(data, ends), *size, lossless=True, identical=True)
        if sketch:
            made = in_front(draw(data), made)
            assert made.levels[0].sketch
        self.sent[path] = made.data
        one = Component(1000 + len(self.files), 0, f"{origin}{path}", Kind.IMAGE, use)
        one.levels, one.identical = made.levels, made.identical
        fields = [("content-type", "image/jpeg"), ("cache-control", "max-age=600"), ("etag", '"x"')]
        one.head = OriginHead(200, fields, len(made.data))
        self.components[path] = one

    def advance(self, path: str, level: str) -> None:
        """The picture's bytes come up to this level."""
        one = self.components[path]
        found = one.level(level)
        assert found is not None
        one.data += self.sent[path][one.received : found.end]
        one.complete = level == "original"
        one.notify()

    async def handle(self, request: Request) -> Response:
        self.log.append(request.url)
        for end, released in self.held.items():
            if request.url.endswith(end):
                await released.wait()
        plain = "://plain." in request.url
        own = None if plain else await self.export.own(request)
        if own is not None:
            return own
        path = "/" + request.url.split("/", 3)[3]
        if path in self.pages:
            body, headers = self.pages[path]
            return self._document(request, Response(200, list(headers), body), plain=plain)
        if path not in self.files:
            return Response(404, [("content-type", "text/plain")], b"")
        if plain or header(request.headers, "sec-fetch-dest") == "empty":
            return Response(200, [("content-type", "image/jpeg")], self.files[path])
        component = self.components[path]
        component.document = self.documents.get(header(request.headers, "referer"), 0)
        return await self.export.picture(component, request)

    def _document(self, request: Request, response: Response, *, plain: bool) -> Response:
        if plain:
            return response
        self.opened += 1
        self.documents[request.url] = self.opened
        self.export.open_document(self.opened, request.url)
        return self.export.document_response(self.opened, response)

    async def connect(self, host: str, port: int, **how: object) -> Duplex | Response:
        return Response(403, [], b"no tunnels here")
