"""One document's parts into the tree: what a reader needs first goes first.

Parts are components under the document's node, so all schedulers order them as they order a page's:
texts as pages follow one another, every picture coarse before any is whole, the rest last. Together
they are the origin's file, byte for byte, and the SHA-256 behind them says so.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

import structlog
from msgspec import structs

from office.extents import Extents, Range
from office.parts import Part, PicturePart, Viewed, parts_of
from office.text_view.records import VIEWED
from remote_proxy.documents.document import PackageDocument
from remote_proxy.documents.exact_forms import ExactForms
from remote_proxy.documents.slices import batches, cut, kind_of, slice_of, without
from remote_proxy.documents.view import TextVersion, text_version
from remote_proxy.jobs.job import Job
from remote_proxy.origin.response_fields import no_transform
from remote_proxy.reach.failures import OriginError
from scheduling.commands import Obedience
from scheduling.tree import Tree
from transcoders.formats.sniff import Format
from transcoders.make.registry import Transcoders
from transcoders.text import TextEncoder
from transport.sending.outbox import TreeOutbox
from transport.sending.outgoing import Outgoing
from wire import abilities
from wire import messages as m
from wire.abilities import Takes
from wire.fields import Headers
from wire.package import ranges_of
from wire.session import Session
from wire.skeleton import Kind, Level, Use

SMALL: Final = 16_384
"""Bytes of a picture up to which it goes before any is refined, if it can't be had coarse."""
AT_A_TIME: Final = 4
"""Pictures of one document that are in memory for their coarse versions."""
QUALITY: Final = 9
"""Of brotli, for a directory of some KB."""
MAX_FIELD: Final = 4096
_FIELDS: Final = ("content-type", "content-disposition", "etag", "last-modified")
"""What the local side is told of the response's header."""
_log = structlog.get_logger("sluice.remote")


class PackageSender(Protocol):
    """What it needs of its session."""

    session: Session
    tree: Tree
    outbox: TreeOutbox
    obedience: Obedience

    @property
    def device(self) -> str: ...
    @property
    def rate(self) -> float | None: ...
    def accepts(self, coding: str) -> bool: ...

    def say(self, message: m.Message, headers: Headers | None = None) -> None: ...
    def count(self, amount: int) -> None: ...
    def adopt(self, document: int, component: int) -> None:
        """It leaves when the document does."""


@dataclass(slots=True)
class _Sending:
    """A part on its way out."""

    part: Part
    ranges: tuple[Range, ...]
    outgoing: Outgoing
    low: int = 0
    """Bytes of the coarse version in front."""
    unsettled: bool = False
    """What follows that is not said yet: there may be an exact form of it."""

    @property
    def size(self) -> int:
        return sum(end - start for start, end in self.ranges)


class PackageDelivery:
    """One document, from what is known of it to its last byte in the tree."""

    def __init__(
        self,
        job: Job,
        document: PackageDocument,
        sender: PackageSender,
        transcoders: Transcoders,
    ) -> None:
        self._job = job
        self._document = document
        self._directory = document.directory
        self._gathering = document.gathering
        self._sender = sender
        self._transcoders = transcoders
        self._entered: list[int] = []
        self._view: TextVersion | None = None
        self._there_coarse: frozenset[int] = frozenset()
        """Where pictures begin whose coarse versions are there."""
        treatment = job.request.treatment
        self._adapted = treatment is m.Treatment.ADAPTED and not no_transform(document.headers)
        self._exact = self._forms() if job.request.takes & Takes.EXACT else None

    async def run(self) -> None:
        """Deliver. Failures are told to the local proxy once the parts have been announced."""
        there = self._there()
        outline = await self._document.measured()
        self._view = await self._text_version()
        parts = [
            (part, ranges)
            for part in parts_of(
                self._directory, outline, view=self._view.size if self._view else 0
            )
            if (ranges := without(part, there or Extents())) or self._lacks_view(part, there)
        ]
        ids = [self._sender.session.new_component() for _ in parts]
        digest = self._sender.session.new_component()
        self._announce([*parts], first=ids[0] if ids else digest, goes_on=there is not None)
        try:
            directory = self._enter(self._job.component, Kind.TEXT, 0)
            sending = [
                _Sending(part, ranges, self._enter(id_, kind_of(part), order))
                for order, (id_, (part, ranges)) in enumerate(zip(ids, parts, strict=True), 1)
            ]
            end = self._enter(digest, Kind.OTHER, len(parts) + 1)
            await self._send(directory, sending, end, whole=there is None)
        except ExceptionGroup as errors:
            self._drop()
            failures, others = errors.split(OriginError)
            if failures is None or others is not None:
                raise
            error = _first(failures)
            _log.info("a document's parts stop", url=self._job.request.url, reason=str(error))
            self._sender.say(m.Failed(digest, error.status, str(error), error.retry))
        except BaseException:
            self._drop()
            raise

    def _there(self) -> Extents | None:
        """What the local side has of this very file; None: it asks for all."""
        held = self._job.resume.held if self._job.resume is not None else None
        if held is None or held.directory != hashlib.sha256(self._directory.raw).digest():
            return None
        self._there_coarse = frozenset(held.coarse)
        return Extents(ranges_of(held.ranges, length=self._directory.length))

    async def _text_version(self) -> TextVersion | None:
        if not self._adapted or not self._job.request.takes & Takes.VIEWS:
            return None
        return await self._document.run(partial(text_version, self._document))

    def _lacks_view(self, part: Part, there: Extents | None) -> bool:
        """It is the view, and the local side has neither that nor what it is a view of."""
        if not isinstance(part, Viewed):
            return False
        held = self._job.resume.held if there is not None and self._job.resume else None
        entries = [self._directory.by_name[name] for name in VIEWED]
        return not (held and held.view) and not (
            there and all(there.covers(entry.start, entry.end) for entry in entries)
        )

    def _forms(self) -> ExactForms | None:
        """The forms of pictures: the origin's bytes to the last, whatever the site's switch
        says."""
        sender = self._sender
        if not sender.accepts(abilities.EXACT):
            return None
        return ExactForms(
            self._document,
            self._transcoders,
            whose=sender.device,
            scans=sender.accepts(abilities.ARITHMETIC),
            rate=lambda: sender.rate,
            waiting=lambda: any(
                one.held for id_ in self._entered if (one := sender.outbox.get(id_)) is not None
            ),
        )

    # -- what is to come -----------------------------------------------------------------------

    def _announce(
        self, parts: Sequence[tuple[Part, tuple[Range, ...]]], *, first: int, goes_on: bool
    ) -> None:
        directory, component = self._directory, self._job.component
        size = 0 if goes_on else len(directory.raw)
        fields = [
            (name, value)
            for name, value in self._document.headers
            if name in _FIELDS and len(value) <= MAX_FIELD
        ]
        package = m.Package(
            component,
            directory.length,
            directory.start,
            self._document.outline.kind.value,
            len(self._document.outline.pages),
            first,
            [],
            goes_on=goes_on,
        )
        for batch, more in batches([slice_of(part, ranges) for part, ranges in parts]):
            self._sender.say(structs.replace(package, first=first, slices=batch, more=more))
            first += 2 * len(batch)
        self._sender.say(m.Head(component, 200, b"", length=size, coding="br"), fields)

    def _enter(self, component: int, kind: Kind, order: int) -> Outgoing:
        """Enter the tree: schedulers know of it before its bytes."""
        document = self._job.component
        job = replace(self._job, component=component, kind=kind, use=Use.ELEMENT, order=order)
        self._entered.append(component)
        self._sender.adopt(document, component)
        self._sender.obedience.entered(job, kind)
        place = self._sender.obedience.place(job, kind)
        leaf = self._sender.tree.leaf(
            *(document, component),
            kind=kind.value,
            order=place,
            application=self._job.request.application,
        )
        return self._sender.outbox.open(component, leaf)

    def _drop(self) -> None:
        for component in self._entered:
            self._sender.outbox.drop(component)
            self._sender.tree.forget(component)
            self._sender.obedience.forget(component)

    # -- as it comes -----------------------------------------------------------------------------

    async def _send(
        self, directory: Outgoing, sending: Sequence[_Sending], end: Outgoing, *, whole: bool
    ) -> None:
        encoder = TextEncoder(quality=QUALITY)
        raw = self._directory.raw if whole else b""
        coded = await self._document.run(partial(encoder.encode, raw))
        directory.write(coded + encoder.finish())
        directory.finish()
        by_kind: dict[Kind, list[_Sending]] = {}
        for one in sending:
            if one.size:
                self._size(one, one.size)
            by_kind.setdefault(kind_of(one.part), []).append(one)
        texts, pictures = by_kind.pop(Kind.TEXT, []), by_kind.pop(Kind.IMAGE, [])
        rest = [one for those in by_kind.values() for one in those]
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._in_order(texts))
            tasks.create_task(self._pictures(pictures))
            tasks.create_task(self._in_order(rest))
            tasks.create_task(self._digest(end))

    async def _in_order(self, sending: Sequence[_Sending]) -> None:
        for one in sending:
            await (self._viewed(one) if isinstance(one.part, Viewed) else self._raw(one))

    async def _viewed(self, one: _Sending) -> None:
        """The view of the texts: its first page while the others are being coded."""
        view = self._view
        assert view is not None
        self._sender.say(
            m.Head(one.outgoing.component, 200, b"", length=view.size, coding="br"), []
        )
        one.outgoing.write(view.first)
        rest = await self._document.run(view.rest)
        self._size(one, len(view.first) + len(rest))
        one.outgoing.write(rest)
        one.outgoing.finish()

    async def _pictures(self, sending: Sequence[_Sending]) -> None:
        """Coarse versions of all, before memory is used for the whole of any."""
        places = asyncio.Semaphore(AT_A_TIME)

        async def coarse(one: _Sending) -> None:
            async with places:
                await self._begin(one)

        async with asyncio.TaskGroup() as tasks:
            for one in sending:
                tasks.create_task(coarse(one))
        async with asyncio.TaskGroup() as tasks:
            for one in sending:
                tasks.create_task(self._raw(one))

    async def _begin(self, one: _Sending) -> None:
        """A coarse version in front of a picture. Without one, a small one is coarse as it is."""
        low = await self._coarse_version(one)
        one.low = len(low or b"")
        one.unsettled = self._exact is not None and self._exact.may_have(one.part, one.ranges)
        self._settle(one, one.size, "")
        one.outgoing.write(low or b"")

    def _settle(self, one: _Sending, size: int, coding: str) -> None:
        """Say of what it consists: `size` bytes behind the coarse version, so coded."""
        component, low, whole = one.outgoing.component, one.low, one.low + size
        levels = [
            *([Level("low", 0, low, Format.WEBP.value)] if low else ()),
            Level("original", low, whole, ""),
        ]
        if low and one.unsettled:
            one.outgoing.introduce(m.Levels(component, levels[:1], 0))
        elif low or coding:
            one.outgoing.introduce(m.Levels(component, levels, whole, coding))
        self._size(one, whole)
        marks = [low, whole] if low else [whole] if one.size <= SMALL else [1, whole]
        ends = {level.name: level.end for level in levels}
        self._sender.tree.set_marks(self._job.component, component, marks, marks, ends=ends)

    async def _coarse_version(self, one: _Sending) -> bytes | None:
        """None: there is none, or it is there already."""
        assert isinstance(one.part, PicturePart)
        if not self._adapted or one.part.ranges[0][0] in self._there_coarse:
            return None
        data = await self._document.picture(one.part)
        if data is None:
            return None
        return await self._transcoders.thumbnail(data, whose=self._sender.device)

    async def _raw(self, one: _Sending) -> None:
        """The bytes of the file, as the link takes them, or a form of them."""
        await self._gathering.need(one.ranges)
        if self._exact is None or not one.unsettled:
            await self._pieces(one, self._gathering.spool.pieces(one.ranges))
            return
        async with self._exact.form(one.part) as form:
            one.unsettled = False
            if form is None:
                self._settle(one, one.size, "")
                await self._pieces(one, self._gathering.spool.pieces(one.ranges))
            else:
                self._settle(one, len(form), abilities.EXACT)
                await self._pieces(one, cut(form))

    async def _pieces(self, one: _Sending, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            await one.outgoing.room()
            if one.outgoing.closed:
                return
            one.outgoing.write(piece)
        one.outgoing.finish()

    async def _digest(self, end: Outgoing) -> None:
        end.write(await self._document.sha256())
        end.finish()

    def _size(self, one: _Sending, size: int) -> None:
        if one.outgoing.leaf.attached:
            self._sender.tree.hierarchy.set_size(one.outgoing.leaf, size)


def _first(group: ExceptionGroup[OriginError]) -> OriginError:
    one = group.exceptions[0]
    return _first(one) if isinstance(one, ExceptionGroup) else one
