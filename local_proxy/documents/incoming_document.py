"""A document on its way in, part by part, into a sparse file (office.source.Source).

Bytes are put away as they come; nothing of a part is held in memory but the coarse versions of
pictures. Must not know sessions and links: who asks again when they break is packages.py.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import structlog

from local_proxy.documents.part import IncomingPart, PartBroken
from local_proxy.documents.part_outline import entries_in, in_place, outline_of
from local_proxy.documents.sparse_file import SparseFile
from local_proxy.kept.threads import DOCUMENTS
from local_proxy.link.components import Component
from local_proxy.link.resumption import LOST
from office.beginnings import main_text
from office.errors import NeedsMore, Unreadable
from office.extents import Range
from office.outline import DocumentKind, Outline
from office.text_view.records import BODIES, MAX_RECORDS, MAX_VIEW, TextView
from office.zip_directory import Directory, ZipEntry, parse
from transcoders.exact.coder import Undone
from wire.errors import PeerError
from wire.messages import Package
from wire.package import Held, Slice, flat, ranges_of

MAX_HELD: Final = 4000
"""Ranges that a request can say are here."""
BROKEN: Final = "the remote proxy sent what is no document"
CHANGED: Final = "the document has changed on its server; open it again"
_log = structlog.get_logger("sluice.local")
WRONG: Final = "the document is not what the server has; open it again"


class Undo(Protocol):
    """Makes the bytes of an exact form."""

    def __call__(self, data: bytes, *, size: int) -> Coroutine[Any, Any, bytes]:
        """The `size` bytes. Raises Undone."""


class IncomingDocument:
    """One document in parts."""

    def __init__(
        self,
        url: str,
        name: str,
        file: SparseFile,
        *,
        look: Callable[[int, Sequence[Component]], None],
        lost: Callable[[], None],
        undo: Undo,
    ) -> None:
        """`look`: a person looks at these components of the document of that id; `lost`: the rest
        of it has to be asked for again; `undo` makes bytes of their exact form."""
        self.url = url
        self.name = name
        self.file = file
        self.document = 0
        """The id of the document in the session that brings it."""
        self.kind: DocumentKind
        self.length = 0
        self.pages = 0
        self.complete = False
        self.failure = ""
        self.sha256 = b""
        """Of the file, once it is complete."""
        self._look = look
        self._lost = lost
        self._undo = undo
        self._undoing: set[asyncio.Future[bytes]] = set()
        self.exact = True
        """Exact forms could be undone so far."""
        self._directory: Directory | None = None
        self._outline: Outline | None = None
        self._slices: list[Slice] = []
        self._coarse: dict[str, bytes] = {}
        self.text: TextView | None = None
        """The view of its texts, as far as it has come."""
        self._parts: list[IncomingPart] = []
        self._own: Component | None = None
        self._digest: Component | None = None
        self._watchers: list[Callable[[], None]] = []
        self._watched: list[Callable[[], None]] = []
        self._checking: asyncio.Task[None] | None = None
        self._entries: list[ZipEntry] = []
        """In the order of their places."""

    # -- office.source.Source ----------------------------------------------------------------------

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def directory(self) -> Directory:
        assert self._directory is not None
        return self._directory

    @property
    def outline(self) -> Outline:
        assert self._outline is not None
        return self._outline

    @property
    def received(self) -> int:
        """Bytes of the file that are here."""
        return self.file.there.size

    @property
    def known(self) -> bool:
        """Directory and outline are here."""
        return self._outline is not None

    def present(self, entry: str) -> bool:
        found = self.directory.find(entry)
        return found is not None and self.file.there.covers(found.start, found.end)

    @property
    def reach(self) -> int:
        main = self.directory.find(main_text(self.outline))
        return min(main.end, self.file.there.reaches(main.start)) if main is not None else 0

    def low(self, entry: str) -> bytes | None:
        return self._coarse.get(entry)

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        self._watchers.append(changed)

        def unwatch() -> None:
            if changed in self._watchers:
                self._watchers.remove(changed)

        return unwatch

    def focus(self, page: int, visible: Sequence[str] = ()) -> None:
        shown = list(visible)
        if not shown:
            shown = [one.entry for one in self.outline.media if page in one.pages]
        if 0 < page <= len(self.outline.pages):
            shown += self.outline.pages[page - 1].entries
        entries = (self.directory.find(name) for name in shown)
        looked_at = [(entry.start, entry.end) for entry in entries if entry is not None]
        parts = (part for part in self._parts if not part.component.complete)
        self._look(self.document, [part.component for part in parts if part.brings(looked_at)])

    # -- as the remote announces it ----------------------------------------------------------------

    def held(self) -> Held | None:
        """What to say is here already, when the rest is asked for; None: nothing of use."""
        if self._directory is None:
            return None
        there = [one for one in self.file.there if one[0] < self.directory.start]
        coarse = [
            entry.start
            for name in self._coarse
            if (entry := self.directory.find(name)) is not None and not self.present(name)
        ]
        digest = hashlib.sha256(self.directory.raw).digest()
        view = self.text is not None and self.text.whole
        return Held(digest, flat(there[:MAX_HELD]), coarse, view)

    def begin(self, component: Component) -> None:
        """The component that carries the directory; its Package has come or is about to."""
        self._own = component
        self.document = component.id
        self._watched.append(component.watch(self._directory_came))

    def announced(self, package: Package, components: Sequence[Component]) -> None:
        """The parts: a component for each slice, and behind the last that of the SHA-256.

        Raises PeerError for what can't be.
        """
        if not 0 <= package.directory < package.length or not 0 < package.pages <= MAX_HELD * 4:
            raise PeerError("a document in parts that can't be")
        if self.known and not package.goes_on:
            self._fail(CHANGED)
            return
        if not self.known and package.goes_on:
            raise PeerError("a document goes on that has not begun")
        try:
            self.kind = DocumentKind(package.kind)
        except ValueError:
            raise PeerError(f"a document of kind {package.kind!r}") from None
        self.length, self.pages = package.length, package.pages
        for component in components:
            component.brings = 0
        for slice_, component in zip(package.slices, components, strict=False):
            ranges = ranges_of(slice_.ranges, length=package.directory)
            component.brings = sum(end - start for start, end in ranges)
            if slice_.view:
                self._expect_view(slice_, ranges, component)
                continue
            part = IncomingPart(component, ranges)
            self._parts.append(part)
            if not package.goes_on:
                self._slices.append(slice_)
            self._watched.append(component.watch(partial(self._came, part)))
        if not package.more:
            self._digest = components[-1]
            self._watched.append(components[-1].watch(self._check))

    def _expect_view(self, slice_: Slice, ranges: list[Range], component: Component) -> None:
        """A component brings a view of the texts. Raises PeerError where it can't."""
        may = self.kind in BODIES and slice_.view <= MAX_VIEW and not ranges
        if not may or self.pages > MAX_RECORDS:
            raise PeerError("a view of texts that can't be")
        came = partial(self._view_came, component, TextView(self.kind, self.pages), slice_.view)
        self._watched.append(component.watch(came))
        came()  # some of it may be here: who asked may not have known what to do with it

    # -- as it comes ---------------------------------------------------------------------------

    def _view_came(self, component: Component, view: TextView, size: int) -> None:
        """`size`: bytes that it is to have."""
        if component.failure is not None:
            self._failed(component)
            return
        if self.failure or view.whole:
            return
        more = bytes(component.data[view.size - component.trimmed :])
        try:
            news = view.add(more)
            component.release(component.received)
            if component.complete:
                view.end()
        except Unreadable:
            self._fail(BROKEN)
            return
        if view.size > size or (view.whole and view.size != size):
            self._fail(BROKEN)
            return
        if self.text is None or view.whole or view.pages > self.text.pages:
            self.text = view  # after a break another comes, from its beginning
        if self.known and (news or view.whole):
            self._tell()

    def _directory_came(self) -> None:
        own = self._own
        assert own is not None
        if own.failure is not None:
            self._failed(own)
        elif own.complete and self._digest is not None and not self.known:
            try:
                directory = parse(bytes(own.data), length=self.length)
                outline = outline_of(self.kind, directory, self.pages, self._slices)
            except (Unreadable, NeedsMore, PeerError):
                self._fail(BROKEN)
                return
            self._write(directory.start, directory.raw)
            own.release(own.received)
            self._directory, self._outline = directory, outline
            self._entries = in_place(directory)
            for part in self._parts:
                self._came(part)
            self._tell()

    def _came(self, part: IncomingPart) -> None:
        component = part.component
        if component.failure is not None:
            self._failed(component)
            return
        if not self.known or self.failure:
            return
        try:
            coarse = part.take_coarse()
            news = part.take(self._write)
        except PartBroken:
            self._fail(BROKEN)
            return
        if coarse is not None:
            for entry in entries_in(self._entries, part.ranges)[:1]:
                self._coarse[entry.name] = coarse
        if news or component.complete or coarse is not None:
            self._tell()
        if component.complete:
            form = part.form()
            if form is not None:
                task = asyncio.ensure_future(self._undo(form, size=part.size))
                self._undoing.add(task)
                task.add_done_callback(partial(self._undone, part))
            self._check()

    def _undone(self, part: IncomingPart, task: asyncio.Future[bytes]) -> None:
        self._undoing.discard(task)
        if task.cancelled():
            return
        try:
            data = task.result()
        except Undone as error:
            _log.info("pictures come as they are from now on", reason=str(error))
            self.exact = False
            self._forget()
            self._lost()
            return
        part.put(data, self._write)
        self._tell()
        self._check()

    def _write(self, at: int, data: bytes) -> None:
        try:
            self.file.write(at, data)
        except OSError as error:
            self._fail(f"the document could not be kept: {error.strerror or error}")

    # -- the end -------------------------------------------------------------------------------

    def _check(self) -> None:
        digest = self._digest
        if digest is not None and digest.failure is not None:
            self._failed(digest)
            return
        whole = self.known and self.file.there.covers(0, self.length)
        if digest is not None and digest.complete and whole and self._checking is None:
            self._checking = asyncio.ensure_future(self._compare(bytes(digest.data)))

    async def _compare(self, digest: bytes) -> None:
        found = await DOCUMENTS.run(self.file.sha256)
        if found != digest:
            self._fail(WRONG)
            return
        self.sha256, self.complete = found, True
        self._forget()
        self.file.close()
        self._tell()

    def _failed(self, component: Component) -> None:
        failure = component.failure
        assert failure is not None
        if self.complete or self.failure or self._checking is not None:
            return
        if failure.reason == LOST:
            self._forget()
            self._lost()
        else:
            self._fail(failure.reason)

    def give_up(self, reason: str) -> None:
        """The rest will not come."""
        if not self.complete:
            self._fail(reason)

    def close(self) -> None:
        """Nobody wants it any more."""
        self._forget()
        self._watchers.clear()
        if self._checking is not None:
            self._checking.cancel()

    def _fail(self, reason: str) -> None:
        if not self.failure:
            self.failure = reason
            self._forget()
            self._tell()

    def _forget(self) -> None:
        """The components that were bringing it say nothing any more."""
        for unwatch in self._watched:
            unwatch()
        self._watched.clear()
        for part in self._parts:
            part.close()
        self._parts.clear()
        for task in self._undoing:
            task.cancel()
        self._own = self._digest = None

    def _tell(self) -> None:
        for changed in tuple(self._watchers):
            changed()
