"""Documents for programs on this device: POST /documents opens one and streams what comes of it.

The document is open for as long as its stream is read. A file's path is told, so only loopback may
ask, and only who could read our token (status/control.py): no web page can.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import structs

from local_proxy.documents.incoming_document import IncomingDocument
from local_proxy.documents.packages import Packages
from local_proxy.documents.report import (
    Begun,
    DocumentRefused,
    Ended,
    FocusRequest,
    MediaLine,
    News,
    OpenRequest,
    ReportLine,
    WholeBegun,
    encoder,
)
from local_proxy.documents.whole import Whole
from local_proxy.http.model import Request, Response
from local_proxy.link.components import ComponentFailed
from malformed import MALFORMED
from office.text_view.records import TextView

PATH: Final = "/documents"
MAX_BODY: Final = 65_536
INTERVAL: Final = 0.1
"""Seconds between two lines of news at least."""
HEARTBEAT: Final = 5.0
"""Seconds after which an empty line finds out whether anybody reads."""
_TYPE: Final = [("content-type", "application/x-ndjson"), ("cache-control", "no-store")]


class DocumentsPage:
    """Answers for PATH and what is below it."""

    def __init__(self, packages: Packages, *, ours: Callable[[Request], bool]) -> None:
        """`ours`: whether a request comes from who may change things."""
        self._packages = packages
        self._ours = ours

    async def handle(self, request: Request) -> Response:
        """Answers the request. Never raises."""
        if not self._ours(request) or not _from_here(request):
            return _said(403, "Only programs on this device may open documents here.")
        path = urlsplit(request.url).path
        try:
            body = await _body(request)
            if path == PATH:
                return await self._open(msgspec.json.decode(body, type=OpenRequest).url)
            return self._focus(path, msgspec.json.decode(body, type=FocusRequest))
        except (*MALFORMED, ValueError) as error:
            return _said(400, str(error))

    async def _open(self, url: str) -> Response:
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise ValueError(f"{url[:200]!r} is no address of the web")
        return Response(200, list(_TYPE), self._lines(url))

    def _focus(self, path: str, focus: FocusRequest) -> Response:
        number, _, what = path.removeprefix(f"{PATH}/").partition("/")
        opened = self._packages.get(int(number)) if number.isdecimal() else None
        if what != "focus" or not isinstance(opened, IncomingDocument):
            return _said(404, "There is no such document.")
        opened.focus(focus.page, focus.visible)
        return Response(200, list(_TYPE), b"{}")

    async def _lines(self, url: str) -> AsyncIterator[bytes]:
        try:
            number, opened = await self._packages.open(url)
        except ComponentFailed as failure:
            yield _line(DocumentRefused(failure.status, failure.reason))
            return
        try:
            yield _line(_begun(number, opened))
            async for line in _news(opened):
                yield _line(line) if line is not None else b"\n"
        finally:
            self._packages.close(number)


def _begun(number: int, opened: IncomingDocument | Whole) -> ReportLine:
    path = str(opened.file.path)
    if isinstance(opened, Whole):
        return WholeBegun(number, opened.url, opened.name, path, opened.length)
    outline = opened.outline
    return Begun(
        number,
        opened.url,
        opened.name,
        path,
        opened.length,
        opened.directory.start,
        outline.kind,
        [list(page.entries) for page in outline.pages],
        [MediaLine(one.entry, list(one.pages), one.width, one.height) for one in outline.media],
        list(outline.texts),
        list(outline.others),
    )


async def _news(opened: IncomingDocument | Whole) -> AsyncIterator[ReportLine | None]:
    """What comes, as it comes; None: nothing for a while. Ends with nothing but cancellation."""
    changed = asyncio.Event()
    unwatch = opened.watch(changed.set)
    told: set[str] = set()
    coarse: set[str] = set()
    text = _Text()
    ended = False
    try:
        while True:
            changed.clear()
            if not ended:
                yield structs.replace(_since(opened, told, coarse), **text.since(opened))
                ended = opened.complete or bool(opened.failure)
                if ended:
                    yield Ended(opened.sha256.hex(), opened.failure)
            try:
                async with asyncio.timeout(HEARTBEAT):
                    await changed.wait()
            except TimeoutError:
                yield None
            await asyncio.sleep(INTERVAL)
    finally:
        unwatch()


@dataclass(slots=True)
class _Text:
    """What has been told of the view of a document's texts."""

    view: TextView | None = None
    size: int = 0
    ended: bool = False

    def since(self, opened: IncomingDocument | Whole) -> dict[str, bytes | int | bool]:
        """What is new of it, as News has it."""
        view = opened.text if isinstance(opened, IncomingDocument) else None
        if view is not self.view:
            self.view, self.size, self.ended = view, 0, False
        if view is None or self.ended or (view.size == self.size and not view.whole):
            return {}
        more, at = bytes(view.data[self.size :]), self.size
        self.size, self.ended = view.size, view.whole
        return {"text": more, "text_at": at, "text_ends": view.whole}


def _since(opened: IncomingDocument | Whole, told: set[str], coarse: set[str]) -> News:
    """The news; `told` and `coarse` grow."""
    if isinstance(opened, Whole):
        return News(opened.received)
    here = [
        entry.name
        for entry in opened.directory.entries
        if entry.name not in told and opened.present(entry.name)
    ]
    low = {
        one.entry: data
        for one in opened.outline.media
        if one.entry not in coarse and (data := opened.low(one.entry)) is not None
    }
    told.update(here)
    coarse.update(low)
    return News(opened.received, here, low, opened.reach)


def _from_here(request: Request) -> bool:
    """Whether it came in at a loopback address."""
    return request.reached is not None and ipaddress.ip_address(request.reached[0]).is_loopback


async def _body(request: Request) -> bytes:
    body = bytearray()
    if request.body is not None:
        async for chunk in request.body:
            body += chunk
            if len(body) > MAX_BODY:
                raise ValueError(f"more than {MAX_BODY} bytes")
    return bytes(body)


def _line(line: ReportLine) -> bytes:
    return encoder.encode(line) + b"\n"


def _said(status: int, problem: str) -> Response:
    return Response(status, list(_TYPE), msgspec.json.encode({"problem": problem}))
