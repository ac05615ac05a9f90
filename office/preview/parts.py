"""The parts of a document that are here, parsed; what was asked for and is not, noted.

A page is shown as soon as its own text is here; what else it asked for says when to show it again.
Pure. Source: ECMA-376-2, 9.3 (relationships).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Final, NamedTuple

from office.contents import beginning, unpacked
from office.errors import Unreadable
from office.extents import Extents
from office.preview.tree import inside
from office.preview.xml import Element, local, parsed, recovered
from office.xml import resolved
from office.zip_directory import Directory

MAX_BEGINNING: Final = 4 << 20
"""Bytes of a text that is read while it comes."""
MAX_PARSED: Final = 16 << 20
"""Bytes of one part's XML that is read at all: its tree takes ten times as much."""
MAX_CACHED: Final = 64
"""Parts kept parsed: layouts, masters and styles that many pages share."""

Read = Callable[[int, int], bytes]
"""Bytes of the file from an offset to another, which are here."""

Instead = Callable[[str], bytes | None]
"""What stands for an entry that is not here; None: nothing does."""


class Relation(NamedTuple):
    """What a part names by an id."""

    kind: str
    """The last word of its type."""
    target: str
    """An entry; of an external one, an address as it stands there."""
    external: bool


class Parts:
    """One document's, for one thread at a time."""

    def __init__(self, directory: Directory, read: Read, instead: Instead) -> None:
        self.directory = directory
        self._entries = directory.by_name
        self._read = read
        self._instead = instead
        self._views: dict[str, tuple[bytes, Element | None]] = {}
        """What stood for texts, and what was read of it."""
        self._there = Extents()
        self._cache: dict[str, Element | None] = {}
        self.missing: set[str] = set()
        """Entries that were asked for and are not here, or not all of them."""
        self.growing_ones: set[str] = set()
        """Those of them that are read as far as they are here."""
        self._grown: dict[str, tuple[int, Element | None]] = {}
        """What was read of them, and how far they were: offsets."""

    def now(self, there: Extents) -> None:
        """This much of the file is here; nothing has been asked for."""
        self._there = there
        self.missing = set()
        self.growing_ones = set()

    def forget(self) -> None:
        """Keep nothing parsed: all pages are made."""
        self._cache.clear()
        self._grown.clear()
        self._views.clear()

    def here(self, name: str) -> bool:
        """All of that entry is."""
        entry = self._entries.get(name)
        return entry is not None and self._there.covers(entry.start, entry.end)

    def has(self, name: str) -> bool:
        """The document has such an entry, here or not."""
        return name in self._entries

    def data(self, name: str) -> bytes | None:
        """An entry's bytes; None: not here (noted), not there at all, or damaged."""
        entry = self._entries.get(name)
        if entry is None or entry.size > MAX_PARSED:
            return None
        if not self._there.covers(entry.start, entry.end):
            self.missing.add(name)
            return None
        try:
            return unpacked(entry, self._read(entry.start, entry.end))
        except Unreadable:
            return None

    def tree(self, name: str) -> Element | None:
        """The root of a part's XML; None as in `data`."""
        if name in self._cache:
            return self._cache[name]
        if (data := self._instead(name)) is not None:
            return self._view(name, data)
        data = self.data(name)
        if data is None:
            return None
        try:
            root = parsed(data, name)
        except Unreadable:
            root = None
        if len(self._cache) >= MAX_CACHED:
            del self._cache[next(iter(self._cache))]
        self._cache[name] = root
        return root

    def growing(self, name: str) -> Element | None:
        """As `tree`; of a part that is still coming, what of it can be read already."""
        entry = self._entries.get(name)
        if entry is None or self.here(name) or self._instead(name) is not None:
            return self.tree(name)
        self.missing.add(name)
        self.growing_ones.add(name)
        reach = min(self._there.reaches(entry.start), entry.end, entry.start + MAX_BEGINNING)
        before = self._grown.get(name)
        if before is None or before[0] != reach:
            data = b""
            if reach > entry.start:
                data = beginning(entry, self._read(entry.start, reach), MAX_BEGINNING)
            before = self._grown[name] = reach, recovered(data)
        return before[1]

    def _view(self, name: str, data: bytes) -> Element | None:
        """What stands for a text that is not here."""
        self.missing.add(name)
        before = self._views.get(name)
        if before is None or before[0] is not data:
            try:
                before = data, parsed(data, name)
            except Unreadable:
                before = data, None
            self._views[name] = before
        return before[1]

    def settled(self, name: str) -> None:
        """What is still to come of it, if it is growing, makes no difference to what was asked
        for."""
        if name in self.growing_ones:
            self.missing.discard(name)
            self.growing_ones.discard(name)

    def relations(self, name: str) -> dict[str, Relation]:
        """What a part refers to, by the ids that it uses."""
        folder, base = posixpath.split(name)
        root = self.tree(posixpath.join(folder, "_rels", f"{base}.rels"))
        found: dict[str, Relation] = {}
        for element in inside(root):
            if local(element.tag) != "Relationship":
                continue
            external = element.get("TargetMode") == "External"
            target = element.get("Target", "")
            kind = element.get("Type", "").rpartition("/")[2]
            found[element.get("Id", "")] = Relation(
                kind, target if external else resolved(target, base=folder), external
            )
        return found

    def related(self, name: str, kind: str) -> str:
        """The first part of that kind that `name` refers to; "" for none that is known."""
        relations = self.relations(name).values()
        return next((one.target for one in relations if one.kind == kind), "")
