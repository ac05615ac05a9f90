"""Office documents in parts: gathered and read here, sent by delivery.py.

What is no document, or can't be read, is passed through untouched, as soon as that is known. Knows
gathering and the session's bounds; what is in a document is for `office` to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit

import structlog

from office.contents import unpacked
from office.entries import read, wanted
from office.errors import NeedsMore, Unreadable
from office.outline import DocumentKind, Outline
from office.zip_directory import Directory, parse
from remote_proxy.documents.delivery import PackageDelivery, PackageSender
from remote_proxy.documents.document import PackageDocument, SlowRunner
from remote_proxy.documents.fetch import Ask, Gathering
from remote_proxy.documents.spool import Spool
from remote_proxy.jobs.job import Job
from remote_proxy.origin.client import ForwardedRequest, Origin, OriginResponse
from remote_proxy.origin.response_fields import no_transform
from transcoders.make.registry import Transcoders
from transcoders.work.workers import Workers
from wire.abilities import Takes
from wire.fields import Headers, header

MAX_FILE: Final = 128 << 20
"""Bytes of a document; a larger one passes through."""
MAX_SPOOLED: Final = 512 << 20
"""Bytes of disk that the documents of one device may take together."""
TAIL: Final = 16_384
"""Bytes from the end that are asked for first: the directories of most documents."""
SIGNATURE: Final = b"PK\x03\x04"
_GENERIC: Final = frozenset(
    (
        *("", "application/octet-stream", "binary/octet-stream", "application/zip"),
        *("application/x-zip-compressed", "application/force-download", "application/download"),
    )
)
_OFFICE: Final = (
    "application/vnd.openxmlformats-",
    "application/vnd.oasis.opendocument.",
    "application/vnd.ms-",
)
_SUFFIXES: Final = (
    *(f".{kind.value}" for kind in DocumentKind),
    *(".pptm", ".ppsx", ".potx", ".docm", ".dotx", ".xlsm", ".otp", ".ott"),
)
T = TypeVar("T")
_log = structlog.get_logger("sluice.remote")


class _Missing(Exception):
    """Bytes of an entry that are not here yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Packaging:
    """The documents in parts of one session."""

    def __init__(
        self, sender: PackageSender, origin: Origin, transcoders: Transcoders, reading: Workers
    ) -> None:
        """`reading`: runs what takes long over a document."""
        self._sender = sender
        self._origin = origin
        self._transcoders = transcoders
        self._reading = reading
        self._spooled = 0

    def takes(self, job: Job, response: OriginResponse) -> bool:
        """Whether a response is worth a look: it is wanted in parts, and may be a document."""
        length = response.length or MAX_FILE
        return (
            bool(job.request.takes & Takes.PACKAGE)
            and job.request.method == "GET"
            and response.status == 200
            and length <= MAX_FILE
            and self._spooled + length <= MAX_SPOOLED
            and not header(response.headers, "content-encoding")
            and _may_be_document(job.request.url, response.headers)
            and not (job.request.takes & Takes.INLINE and _is_to_be_left(response.headers))
        )

    async def deliver(
        self,
        job: Job,
        response: OriginResponse,
        *,
        otherwise: Callable[[OriginResponse], Awaitable[None]],
    ) -> None:
        """Send it in parts, or as it is by `otherwise`. Raises OriginError."""
        room = response.length or MAX_FILE
        self._spooled += room
        try:
            with Spool() as spool:
                gathering = Gathering(response, spool, limit=MAX_FILE, ask=self._asking(job))
                running = asyncio.ensure_future(gathering.run())
                try:
                    await self._deliver(job, response, gathering, otherwise)
                finally:
                    running.cancel()
                    await asyncio.gather(running, return_exceptions=True)
        finally:
            self._spooled -= room

    async def _deliver(
        self,
        job: Job,
        response: OriginResponse,
        gathering: Gathering,
        otherwise: Callable[[OriginResponse], Awaitable[None]],
    ) -> None:
        try:
            directory, outline = await _read(gathering, self._run)
        except Unreadable as error:
            _log.info("a document passes through whole", url=job.request.url, reason=error.reason)
            await otherwise(replace(response, body=gathering.stream()))
            return
        document = PackageDocument(response.headers, gathering, directory, outline, self._run)
        await PackageDelivery(job, document, self._sender, self._transcoders).run()

    async def _run(self, work: Callable[[], T]) -> T:
        return await self._reading.run(work, whose=self._sender.device)

    def _asking(self, job: Job) -> Ask:
        async def ask(fields: Headers) -> OriginResponse:
            sender = self._sender
            headers = [*job.request.headers, *fields]
            again = replace(job.request, headers=headers, takes=Takes.NOTHING)
            request = ForwardedRequest(again, device=sender.device, count=sender.count)
            return await self._origin.fetch(request)

        return ask


async def _read(gathering: Gathering, run: SlowRunner) -> tuple[Directory, Outline]:
    """Its directory and its outline, as soon as they can be had. Raises Unreadable, OriginError."""
    if await gathering.begin(len(SIGNATURE)) != SIGNATURE:
        raise Unreadable("it is no zip")
    directory = await _directory(gathering)
    entries, spool = directory.by_name, gathering.spool

    def content(name: str) -> bytes:
        entry = entries[name]
        if not spool.there.covers(entry.start, entry.end):
            raise _Missing(name)
        return unpacked(entry, spool.read(entry.start, entry.end))

    needed = [entries[name] for name in wanted(directory)]
    while True:
        await gathering.need([(entry.start, entry.end) for entry in needed])
        try:
            return directory, await run(partial(read, directory, content))
        except _Missing as missing:
            needed = [entries[missing.name]]


async def _directory(gathering: Gathering) -> Directory:
    tail = await gathering.tail(TAIL)
    while True:
        assert gathering.length is not None
        try:
            return parse(tail, length=gathering.length)
        except NeedsMore as more:
            tail = await gathering.tail(gathering.length - more.start)


def _is_to_be_left(headers: Headers) -> bool:
    """Whether it is to be put away (RFC 6266, 4.2), or not to be changed (RFC 9111, 5.2.2.6)."""
    disposition = header(headers, "content-disposition").partition(";")[0].strip().lower()
    return disposition not in ("", "inline") or no_transform(headers)


def _may_be_document(url: str, headers: Headers) -> bool:
    """By its type; where that says nothing, by its name."""
    essence = header(headers, "content-type").partition(";")[0].strip().lower()
    if essence.startswith(_OFFICE):
        return True
    names = (unquote(urlsplit(url).path), header(headers, "content-disposition").rstrip('" '))
    return essence in _GENERIC and any(name.lower().endswith(_SUFFIXES) for name in names)
