"""A document on its way in, at the pace and in the order that a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from office.beginnings import main_text
from office.contents import unpacked
from office.entries import read
from office.outline import Outline, OutlinePage
from office.text_view.records import VIEWED, TextView
from office.text_view.view_records import records_of
from office.zip_directory import Directory, parse


class FakeSource:
    """Feeds the file at `original` into a sparse one, as `office.source.Source` has it."""

    def __init__(self, original: Path, path: Path, outline: Outline | None = None) -> None:
        data = original.read_bytes()
        self._data = data
        self.url = f"http://fake.test/{original.name}"
        self.name = original.name
        self.length = len(data)
        self.path = path
        self.directory: Directory = parse(data, length=len(data))
        self.outline: Outline = outline or read(self.directory, self.content)
        self.failure = ""
        self.text: TextView | None = None
        self.focused: list[tuple[int, tuple[str, ...]]] = []
        self._here: set[str] = set()
        self._low: dict[str, bytes] = {}
        self._begun = 0
        self._watchers: list[Callable[[], None]] = []
        with path.open("wb") as file:
            file.truncate(self.length)
            file.seek(self.directory.start)
            file.write(self.directory.raw)

    @property
    def complete(self) -> bool:
        return len(self._here) == len(self.directory.entries)

    def present(self, entry: str) -> bool:
        return entry in self._here

    @property
    def reach(self) -> int:
        main = self.directory.find(main_text(self.outline))
        if main is None:
            return 0
        return main.end if main.name in self._here else main.start + self._begun

    def low(self, entry: str) -> bytes | None:
        return self._low.get(entry)

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)

    def focus(self, page: int, visible: Sequence[str] = ()) -> None:
        self.focused.append((page, tuple(visible)))

    def content(self, name: str) -> bytes:
        entry = self.directory.by_name[name]
        return unpacked(entry, self._data[entry.start : entry.end])

    def raw(self, start: int, end: int) -> bytes:
        return self._data[start:end]

    # What the test does.

    def hold_back_texts(self) -> None:
        """Have those that there is a view of come last, as the remote sends them."""
        first, *others = self.outline.pages
        names = tuple(name for name in first.entries if name not in VIEWED)
        self.outline = replace(
            self.outline, pages=(OutlinePage(names), *others), texts=(*self.outline.texts, *VIEWED)
        )

    def feed(self, entries: Iterable[str]) -> None:
        by_name = self.directory.by_name
        with self.path.open("r+b") as file:
            for name in entries:
                entry = by_name[name]
                file.seek(entry.start)
                file.write(self._data[entry.start : entry.end])
                self._here.add(name)
        self._changed()

    def feed_page(self, number: int) -> None:
        self.feed(self.outline.pages[number - 1].entries)

    def feed_beginning(self, size: int) -> None:
        """So many bytes of the main text, and all else that its page needs."""
        main = self.directory.by_name[main_text(self.outline)]
        with self.path.open("r+b") as file:
            file.seek(main.start)
            file.write(self._data[main.start : main.start + size])
        self._begun = size
        self.feed(name for name in self.outline.pages[0].entries if name != main.name)

    def feed_texts(self) -> None:
        self.feed([e for page in self.outline.pages for e in page.entries])
        self.feed(self.outline.texts)

    def feed_low(self, entry: str, picture: bytes) -> None:
        self._low[entry] = picture
        self._changed()

    def feed_pictures(self) -> None:
        self.feed(media.entry for media in self.outline.media)

    def feed_rest(self) -> None:
        self.feed([e.name for e in self.directory.entries if e.name not in self._here])

    def feed_view(self, pages: int | None = None) -> None:
        """So many records of a view of the texts; None: all of it."""
        text = TextView(self.outline.kind, len(self.outline.pages))
        content, styles = map(self.content, VIEWED)
        for record in records_of(self.outline.kind, content, styles)[:pages]:
            text.add(record.packed())
        if pages is None:
            text.end()
        self.text = text
        self._changed()

    def fail(self, reason: str) -> None:
        self.failure = reason
        self._changed()

    def _changed(self) -> None:
        for changed in list(self._watchers):
            changed()
