"""The export driver: a document that is still on its way, in a window of LibreOffice.

It opens as soon as its first page can be read, once more when all text is here, and its pictures
are made better in the running program (HATS, section 2). Once all is here and something could not
be done so, the original takes the window's place, unless a person has edited: what he did is never
thrown away. Must not know: links, UNO.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from local_proxy.export_drivers.libreoffice import originals
from local_proxy.export_drivers.libreoffice.events import Event, EventKind
from local_proxy.export_drivers.libreoffice.files import Files
from local_proxy.export_drivers.libreoffice.find import Office, find
from local_proxy.export_drivers.libreoffice.pictures import Pictures
from local_proxy.export_drivers.libreoffice.session import (
    OfficeFailed,
    OfficeSession,
    Report,
    started,
)
from local_proxy.kept.threads import DOCUMENTS, PROGRAMS
from local_proxy.tracking_drivers.libreoffice import OfficeTracker
from office.beginnings import main_text
from office.errors import Unreadable
from office.partial_view import View, survey
from office.source import Source

__all__ = ["Event", "EventKind", "OfficeFailed", "show", "show_coming"]

_AGAIN: Final = 1.0
"""Seconds until a document is replaced that could not be, during a slide show."""
WAITED_FOR: Final = 8192
"""Bytes that are waited for rather than open a document twice: a second of a modem."""
_SOON: Final = 65_536
"""Bytes that are waited for, so that a person who reads a view of the text is interrupted once."""
_SAVED: Final = ("OnSaveDone", "OnSaveAsDone")
_COARSE_FILE: Final = "The document was saved before all of its pictures were here."
_SAVE_AGAIN: Final = "Save it once more when the title no longer says that it is loading."


async def show(
    source: Source,
    *,
    on_event: Callable[[Event], None],
    office: Office | None = None,
    keep: Path | None = None,
) -> None:
    """Show the document and return when its window is closed. Cancelled: close it, and where the
    person has edited, tell him that no more comes, and wait until he does (cancelled again: don't).

    `keep` is a folder for the original of a document that was edited before it was complete; the
    person's downloads by default. Raises NoOffice, OfficeFailed.
    """

    async def here() -> Source:
        return source

    await show_coming(here(), like=source.name, on_event=on_event, office=office, keep=keep)


async def show_coming(
    coming: Awaitable[Source | None],
    *,
    like: str,
    on_event: Callable[[Event], None],
    office: Office | None = None,
    keep: Path | None = None,
) -> None:
    """Show a document that is not known yet: LibreOffice starts meanwhile, and in it what shows a
    file of a name `like` this. `coming` gives None where there is nothing to show. Else as `show`.
    """
    began = asyncio.get_running_loop().time()
    if office is None:
        office = await PROGRAMS.run(find)
    async with started(office, like=like) as session:
        source = await coming
        if source is None:
            return
        driver = _Driver(source, on_event, keep or originals.folder(), began=began)
        session.tell(driver.heard)
        unwatch = source.watch(driver.changed.set)
        try:
            await driver.run(session)
        finally:
            unwatch()


class _Driver:
    """One document. It does one thing at a time, and looks anew for what is due after each."""

    def __init__(
        self, source: Source, on_event: Callable[[Event], None], keep: Path, *, began: float
    ) -> None:
        self._source = source
        self._on_event = on_event
        self._keep = keep
        self._loop = asyncio.get_running_loop()
        self._began = began
        self._tracker = OfficeTracker(source)
        self._view: View | None = None
        self._begins = True
        """The beginning of a text may be shown while the rest comes."""
        self._read = False
        """All pages can be."""
        self._editable = False
        self._pictures = Pictures(source)
        self._said = ""
        self._ready = False
        self._closed = False
        self._held = False
        self._busy = False
        self._undone = False
        self._saved_coarse = ""
        self._to_warn = False
        self._finished = False
        self._failure = ""
        self.changed = asyncio.Event()

    def heard(self, report: Report) -> None:
        """A report of the helper's, in between answers."""
        kind = report["event"]
        if kind == "ready":
            self._ready = True
            self._tell(EventKind.STARTED)
        elif kind == "failed":
            self._failure = report["text"]
        elif kind == "page":
            visible = map(self._pictures.entry, report.get("visible", ()))
            self._tracker.page(report["page"], tuple(visible))
            self._tell(EventKind.PAGE, page=report["page"])
        elif kind == "focus":
            self._tracker.front(report["on"])
            self._tell(EventKind.FOCUS, on=report["on"])
        elif kind == "held":
            self._held = True
            self._tracker.all_wanted()
            self._tell(EventKind.HELD, text=report["command"])
        elif kind == "stored":
            self._tell(EventKind.STORED, text=report["url"])
            if not self._finished and report["how"] in _SAVED:
                self._saved_coarse = report["url"]
                self._to_warn = True
        elif kind == "undone":
            self._undone = True
        elif kind == "edited":
            self._tell(EventKind.EDITED)
        elif kind == "closed":
            self._closed = True
        self.changed.set()

    async def run(self, session: OfficeSession) -> None:
        """Until the window is closed. Raises OfficeFailed where it went without that."""
        files = Files(self._source, session.folder)
        over = asyncio.create_task(session.over.wait())
        try:
            while not session.over.is_set():
                self.changed.clear()
                if await self._stepped(session, files):
                    continue
                waiting = asyncio.create_task(self.changed.wait())
                await asyncio.wait({over, waiting}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
        finally:
            over.cancel()
        if not self._closed:
            raise OfficeFailed(self._failure or "LibreOffice ended without being closed.")
        self._tell(EventKind.CLOSED, text=_COARSE_FILE if self._saved_coarse else "")

    async def _stepped(self, session: OfficeSession, files: Files) -> bool:
        """Whether there was anything to be done, and it was. Raises OfficeFailed."""
        if not self._ready or self._closed:
            return False
        try:
            return await self._step(session, files)
        except OfficeFailed:
            if self._closed:  # by its reader, while that was being done
                return False
            raise

    async def _step(self, session: OfficeSession, files: Files) -> bool:
        """Do what is due next; whether there was anything."""
        if self._finished:
            return await self._mend(session, files)
        source = self._source
        view = survey(
            source.directory, source.outline, source.present, source.text, reach=source.reach
        )
        if self._due(view, session):
            return await self._open(session, files, view)
        if self._view is None:
            return await self._give_up(session)
        await self._say(session)
        if self._to_warn:
            self._to_warn = False
            await session.ask("tell", title=_COARSE_FILE, text=_SAVE_AGAIN, warn=True)
        if picture := self._pictures.next(self._tracker.wanted()):
            await self._show(session, files, picture.number, final=picture.final)
            return True
        if self._source.complete:
            return not self._busy and await self._finish(session, files)
        return await self._give_up(session)

    def _due(self, view: View, session: OfficeSession) -> bool:
        """Whether this view is to be opened."""
        if self._view is None:
            return view.pages > 0 or (view.begun and self._begins and self._to_come() > WAITED_FOR)
        if self._editable or session.edited or self._busy:
            return False
        if view.whole_text and self._view.viewed and not self._source.failure:
            return self._source.complete or self._missing() > _SOON
        worth = view.viewed or self._lacking(view) > WAITED_FOR
        return view.whole_text or (self._more(view) and worth)

    def _more(self, view: View) -> bool:
        """Whether all pages could be read, and can't be yet."""
        assert self._view is not None
        return self._view.pages < view.pages == len(self._source.outline.pages)

    def _to_come(self) -> int:
        """Bytes of the main text."""
        main = self._source.directory.by_name[main_text(self._source.outline)]
        return main.end - self._source.reach

    def _missing(self) -> int:
        """Bytes of what is not here, whatever it is."""
        entries = self._source.directory.entries
        return sum(one.end - one.start for one in entries if not self._source.present(one.name))

    def _lacking(self, view: View) -> int:
        """Bytes of texts that no page needs, but whoever edits: notes, other layouts."""
        lacking = set(view.empty).intersection(self._source.outline.texts)
        entries = self._source.directory.entries
        return sum(entry.end - entry.start for entry in entries if entry.name in lacking)

    def _later(self) -> bool:
        """The document can't be replaced now; its pictures still can."""
        self._busy = True
        self._loop.call_later(_AGAIN, self._not_busy)
        return True

    def _not_busy(self) -> None:
        self._busy = False
        self.changed.set()

    async def _open(self, session: OfficeSession, files: Files, view: View) -> bool:
        first = self._view is None
        try:
            path = await files.view()
        except Unreadable:
            return self._not_begun()
        answer = await self._ask_to_open(session, path, editable=view.whole_text)
        if "error" in answer:
            if view.begun and answer["error"] != "busy":
                return self._not_begun()
            return await self._not_opened(answer["error"])
        self._view, self._editable = view, view.whole_text
        self._pictures.opened(view.marks, answer["places"])
        self._tracker.places(self._pictures.places)
        if first:
            self._tell(EventKind.OPENED)
        if view.pages == len(self._source.outline.pages) and not self._read:
            self._read = True
            self._tell(EventKind.TEXT)
        if view.whole_text:
            self._tell(EventKind.EDITABLE)
        return True

    async def _ask_to_open(self, session: OfficeSession, path: Path, *, editable: bool) -> Report:
        name = self._source.name
        return await session.ask("open", path=str(path), name=name, editable=editable)

    def _not_begun(self) -> bool:
        """The beginning can't be shown; its text can once it is whole."""
        self._begins = False
        return True

    async def _not_opened(self, error: str) -> bool:
        if error == "busy":
            return self._later()
        if self._view is None:
            self._failure = f"LibreOffice could not open the document: {error}"
            raise OfficeFailed(self._failure)
        self._editable = True  # it is shown as it was; the original may do at the end
        self._pictures.unsure = True
        return True

    async def _show(
        self, session: OfficeSession, files: Files, number: int, *, final: bool
    ) -> None:
        try:
            path = await files.picture(self._pictures.entry(number), final=final)
        except Unreadable:
            self._pictures.lost(number)
            return
        answer = await session.ask("show", number=number, path=str(path), final=final)
        path.unlink(missing_ok=True)
        if "error" in answer:
            self._pictures.lost(number, final=final)
            return
        self._pictures.shown(number, final=final)
        self._tell(EventKind.PICTURE if final else EventKind.COARSE)

    async def _finish(self, session: OfficeSession, files: Files) -> bool:
        """All is here."""
        if session.edited and await self._sweep(session):
            return True
        where = ""
        if self._lacks_something() and not session.edited:
            answer = await self._ask_to_open(session, await files.whole(), editable=True)
            if answer.get("error") == "busy":
                return self._later()
        if session.edited:
            kept = await DOCUMENTS.run(originals.keep, self._source, self._keep)
            where = str(kept)
            text = f"Your edits stay in it. The original as it was sent: {where}"
            if self._saved_coarse:
                text = f"Save it once more, now with all pictures. {text}"
            await session.ask("tell", title="All of the document is here.", text=text, warn=False)
        self._finished = True
        await self._say(session)
        await session.ask("through")
        self._tell(EventKind.COMPLETE, text=where)
        return True

    def _lacks_something(self) -> bool:
        """What is shown has stand-ins for parts that only the complete file brings."""
        empty = self._view.empty if self._view is not None else ()
        return self._pictures.unsure or bool(empty)

    async def _mend(self, session: OfficeSession, files: Files) -> bool:
        """What an undo brings back is coarse, if it was when it was deleted."""
        if self._undone and self._source.complete:
            self._undone = False
            answer = await session.ask("find")
            return self._pictures.sweep(answer.get("places", {}))
        if self._source.complete and (picture := self._pictures.next(())):
            await self._show(session, files, picture.number, final=True)
            return True
        return False

    async def _sweep(self, session: OfficeSession) -> bool:
        """Copies that the person has made of pictures while they were coarse; whether any."""
        if self._pictures.swept:
            return False
        answer = await session.ask("find")
        return self._pictures.sweep(answer.get("places", {}))

    async def _give_up(self, session: OfficeSession) -> bool:
        """Where no more will come, say so and hold nothing back."""
        if self._held and self._view is not None:
            await session.ask("waiting", done=self._pictures.done, of=self._pictures.of)
        if not self._source.failure or self._finished:
            return False
        self._finished = True
        self._tell(EventKind.FAILED, text=self._source.failure)
        if self._view is None:
            raise OfficeFailed(self._source.failure)
        await session.ask("tell", title="The rest of the document will not come.",
                          text=self._source.failure, warn=True)  # fmt: skip
        await session.ask("through")
        return True

    async def _say(self, session: OfficeSession) -> None:
        """In the title, when it has changed."""
        if self._finished:
            status = ""
        elif not self._editable:
            status = "loading: text"
        else:
            status = f"loading: pictures {self._pictures.done}/{self._pictures.of}"
        if status != self._said:
            self._said = status
            await session.ask("say", text=status)

    def _tell(self, kind: EventKind, *, page: int = 0, on: bool = False, text: str = "") -> None:
        at = self._loop.time() - self._began
        done, of = self._pictures.done, self._pictures.of
        self._on_event(Event(kind, at, done, of, page, on, text))
