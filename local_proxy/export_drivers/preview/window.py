"""One document in one window: its pages as far as they are here, and what is told of them.

Must not know: how the window asks, HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from local_proxy.documents.incoming_document import IncomingDocument
from local_proxy.kept.threads import DOCUMENTS
from office.contents import unpacked
from office.entry_lists import RASTERS
from office.errors import Unreadable
from office.extents import Extents
from office.outline import DocumentKind
from office.preview.pages import Preview, PreviewPage
from office.text_view.records import VIEWED

AT_ONCE: Final = 16
"""Pages made in one go, between which others have their turn."""
GROWTH: Final = 1_024
"""Bytes more of a text that is still coming for which its page is made again."""
SOON: Final = 0.25
"""Seconds between two looks at a text that is still coming."""
TICK: Final = 1.0
"""Seconds between two lines of progress."""
PIECE: Final = 65_536
SHOWABLE: Final = (*RASTERS, ".bmp", ".svg")
"""Pictures that browsers can show as they are."""

Told = dict[str, object]
"""An event for the window."""


class Showing:
    """Not more than one of it for a document."""

    def __init__(self, incoming: IncomingDocument, *, now: Callable[[], float]) -> None:
        """`now`: seconds, monotonic. Made once the document's outline is here."""
        self.incoming = incoming
        self._now = now
        self._began = now()
        self._first = incoming.received
        self._instead: dict[str, bytes] = {}
        """What stands for texts that are not here,"""
        self._viewed = 0
        """... made of so many bytes."""
        self._preview = Preview(incoming.directory, incoming.outline, self._read, self._stands_for)
        self._pages: dict[int, PreviewPage] = {}
        self._made_with: dict[int, int] = {}
        """Bytes of a view of the texts that were there when a page was made."""
        self._reached: dict[str, int] = {}
        """How far a text was that was shown while it came, offsets in the file."""
        self._paged = incoming.outline.kind is DocumentKind.ODP
        """A view of its text is of whole pages."""
        self._making = asyncio.Lock()
        self._size: tuple[float, float] | None = None
        self._missing = True
        """Pages would look otherwise with what is to come."""

    # -- pages -------------------------------------------------------------------------------------

    async def news(self) -> AsyncIterator[list[Told]]:
        """All that a window should know, then what is new, until nothing more will come."""
        told: dict[int, tuple[str, ...]] = {}
        pictures: dict[int, str] = {}
        size: tuple[float, float] | None = None
        changed = asyncio.Event()
        unwatch = self.incoming.watch(changed.set)
        try:
            while True:
                changed.clear()
                over = self.incoming.complete or bool(self.incoming.failure)
                found = await self._make()
                events: list[Told] = []
                if found != size:
                    size = found
                    events.append({"w": size[0], "h": size[1]})
                for number, shown in sorted(self._pages.items()):
                    if shown.blocks != told.get(number, ()):
                        events.append(_difference(number, told.get(number, ()), shown.blocks))
                        told[number] = shown.blocks
                events += self._pictures(pictures)
                yield [*events, self._progress(told, pictures)]
                if over:
                    return
                try:
                    async with asyncio.timeout(SOON if self._reached else TICK):
                        await changed.wait()
                except TimeoutError:
                    pass
        finally:
            unwatch()

    async def _make(self) -> tuple[float, float]:
        """Make the pages that would look otherwise than they were made; the size of all."""
        async with self._making:
            there = Extents(self.incoming.file.there)
            self._note_view()
            stale = [number for number in self._numbers() if self._stale(number, there)]
            for at in range(0, len(stale), AT_ONCE):
                numbers = stale[at : at + AT_ONCE]
                made = await DOCUMENTS.run(self._made, numbers, there)
                self._pages.update(zip(numbers, made, strict=True))
                self._made_with.update(dict.fromkeys(numbers, self._viewed))
            if stale:
                self._note_growing(there)
            if not stale and self._size is not None and not self._missing:
                return self._size
            self._size = await DOCUMENTS.run(self._preview.size, there)
            self._missing = any(shown.missing for shown in self._pages.values())
            if not self._missing:
                self._preview.forget()
            return self._size

    def _made(self, numbers: list[int], there: Extents) -> list[PreviewPage]:
        return [self._preview.page(one, there) for one in numbers]

    def _numbers(self) -> range:
        return range(1, len(self.incoming.outline.pages) + 1)

    def _stale(self, number: int, there: Extents) -> bool:
        shown = self._pages.get(number)
        if shown is None:
            return True
        for name in shown.missing:
            if name in self._instead:
                grown = self._viewed > self._made_with[number]
                if grown and (not shown.blocks or not self._paged):
                    return True
                continue
            entry = self.incoming.directory.find(name)
            if entry is None:
                continue
            if there.covers(entry.start, entry.end):
                return True
            before = self._reached.get(name)
            more = there.reaches(entry.start) - (before or 0)
            if before is not None and more >= max(GROWTH, (before - entry.start) // 8):
                return True
        return False

    def _stands_for(self, name: str) -> bytes | None:
        return self._instead.get(name)

    def _note_view(self) -> None:
        text = self.incoming.text
        if text is None or all(map(self.incoming.present, VIEWED)):
            self._instead = {}
        elif text.size != self._viewed:
            self._instead, self._viewed = text.parts(), text.size

    def _note_growing(self, there: Extents) -> None:
        self._reached.clear()
        for name in {name for shown in self._pages.values() for name in shown.growing}:
            entry = self.incoming.directory.find(name)
            if entry is not None:
                self._reached[name] = there.reaches(entry.start)

    def _read(self, start: int, end: int) -> bytes:
        """Bytes of the file; none once it is gone. In any thread."""
        try:
            with self.incoming.path.open("rb") as file:
                file.seek(start)
                return file.read(end - start)
        except OSError:
            return b""

    # -- pictures ----------------------------------------------------------------------------------

    def _pictures(self, told: dict[int, str]) -> list[Told]:
        """The pictures that can be shown better than was told; notes them."""
        found: dict[str, list[int]] = {"low": [], "full": []}
        for number, media in enumerate(self.incoming.outline.media):
            if told.get(number) == "full":
                continue
            level = ""
            if self.incoming.present(media.entry):
                level = "full"
            elif self.incoming.low(media.entry) is not None:
                level = "low"
            if level and level != told.get(number):
                told[number] = level
                if level == "low" or media.entry.lower().endswith(SHOWABLE):
                    found[level].append(number)
        return [{"m": numbers, "l": level} for level, numbers in found.items() if numbers]

    async def picture(self, number: int, level: str) -> bytes | None:
        """A picture's file, coarse ("low") or whole ("full"); None: it is not here, or damaged, or
        there is no such level."""
        media = self.incoming.outline.media
        if not 0 <= number < len(media) or level not in ("low", "full"):
            return None
        name = media[number].entry
        if level == "low":
            return self.incoming.low(name)
        entry = self.incoming.directory.find(name)
        if entry is None or not self.incoming.present(name):
            return None
        raw = await DOCUMENTS.run(self._read, entry.start, entry.end)
        try:
            return await DOCUMENTS.run(unpacked, entry, raw)
        except Unreadable:
            return None

    def focus(self, page: int, pictures: list[int]) -> None:
        """A person is at this page, from 1, and sees these pictures."""
        media = self.incoming.outline.media
        names = [media[one].entry for one in pictures if 0 <= one < len(media)]
        if 0 < page <= len(self.incoming.outline.pages) and not self.incoming.complete:
            self.incoming.focus(page, names)

    # -- how far it is -----------------------------------------------------------------------------

    def _progress(self, told: dict[int, tuple[str, ...]], pictures: dict[int, str]) -> Told:
        incoming = self.incoming
        if incoming.failure:
            return {"s": f"It stopped: {incoming.failure}. What is above stays.", "end": "failed"}
        pages, media = len(incoming.outline.pages), len(incoming.outline.media)
        if incoming.complete:
            return {"s": f"complete, {_amount(incoming.length)}", "end": "complete", "done": 1}
        words = []
        if pages > 1:
            words.append(f"text {sum(map(bool, told.values()))} of {pages} {self._unit()}")
        elif self._reached or not any(told.values()) or not self._text_is_here:
            words.append("text still coming")
        if media:
            fine = sum(level == "full" for level in pictures.values())
            coarse = f" ({len(pictures)} coarse)" if fine < len(pictures) else ""
            words.append(f"pictures {fine} of {media}{coarse}")
        elapsed = self._now() - self._began
        got = incoming.received - self._first
        if elapsed > 1 and got > 0:
            left = (incoming.length - incoming.received) * elapsed / got
            words.append(f"{elapsed:.0f} of {elapsed + left:.0f} s")
        return {"s": ", ".join(words), "done": incoming.received / max(incoming.length, 1)}

    @property
    def _text_is_here(self) -> bool:
        """All of it, or all of a view of it."""
        return not self._instead or (self.incoming.text is not None and self.incoming.text.whole)

    def _unit(self) -> str:
        kind = self.incoming.outline.kind.value
        return "sheets" if kind in ("xlsx", "ods") else "slides"

    # -- the file ----------------------------------------------------------------------------------

    async def file(self) -> AsyncIterator[bytes]:
        """The origin's file from its first byte to its last, as it comes.

        The last byte goes out when the whole is known to be the origin's. Raises ConnectionError
        where it will never be.
        """
        incoming, at = self.incoming, 0
        changed = asyncio.Event()
        unwatch = incoming.watch(changed.set)
        try:
            while at < incoming.length:
                changed.clear()
                end = incoming.length
                if not incoming.complete:
                    end = min(incoming.file.there.reaches(at), incoming.length - 1)
                if end > at:
                    piece = await DOCUMENTS.run(self._read, at, min(end, at + PIECE))
                    if not piece:
                        raise ConnectionError("the document is gone")
                    at += len(piece)
                    yield piece
                    continue
                if incoming.failure:
                    raise ConnectionError(incoming.failure)
                try:
                    async with asyncio.timeout(SOON):
                        await changed.wait()
                except TimeoutError:
                    pass
        finally:
            unwatch()


def _difference(number: int, before: tuple[str, ...], now: tuple[str, ...]) -> Told:
    """From which block on the page is another, and these blocks."""
    same = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        same += 1
    return {"p": number, "k": same, "h": "".join(now[same:])}


def _amount(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
