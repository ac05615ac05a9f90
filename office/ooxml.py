"""Office Open XML: pages by following relationships, without reading the pages themselves.

A slide needs its layout, that its master, that its theme; charts and diagrams are parts of their
own. What leads to other pages (links, a master's other layouts) is not followed. Pure.

Source: ECMA-376-1, 13.3 and 15 (parts of presentations, and those shared); ECMA-376-2, 9.3.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import Final

from office.entry_lists import is_picture, is_text, outline
from office.errors import Unreadable
from office.outline import DocumentKind, Outline
from office.xml import Attributes, elements, resolved
from office.zip_directory import Directory

TYPES: Final = "[Content_Types].xml"
ROOT: Final = "_rels/.rels"
MAIN: Final = (TYPES, "ppt/presentation.xml", "word/document.xml", "xl/workbook.xml")
_KINDS: Final = (
    (("presentationml", "ms-powerpoint"), DocumentKind.PPTX),
    (("wordprocessingml", "ms-word"), DocumentKind.DOCX),
    (("spreadsheetml", "ms-excel"), DocumentKind.XLSX),
)
"""What the main part's content type contains."""
_PAGES: Final = {DocumentKind.PPTX: "sldId", DocumentKind.XLSX: "sheet"}
"""The element that names a page in the main part."""
_SHOWN: Final = ("blip", "imagedata")
"""The elements that show a picture in a text."""
_FIRST: Final = ("tableStyles", "styles", "sharedStrings", "theme")
"""Relationships of the main part that the first page needs."""
_ASIDE: Final = frozenset(
    ("slide", "notesSlide", "notesMaster", "handoutMaster", "hyperlink", "worksheet", "tags")
)
"""Relationships that lead elsewhere."""
MAX_STEPS: Final = 200_000
"""Relationships followed; decks of 250 slides need 5,000."""
MAX_PAGES: Final = 4096

Relation = tuple[str, str, str]
"""Id, type (its last word), entry."""


def read(directory: Directory, content: Callable[[str], bytes]) -> Outline:
    """The outline of an Office Open XML file. Raises Unreadable."""
    return _Reader(directory, content).read()


class _Reader:
    def __init__(self, directory: Directory, content: Callable[[str], bytes]) -> None:
        self._directory = directory
        self._names = {entry.name for entry in directory.entries}
        self._content = content
        self._relations: dict[str, list[Relation]] = {}
        self._steps = 0

    def read(self) -> Outline:
        main = next((name for _, kind, name in self._of("") if kind == "officeDocument"), "")
        if main not in self._names:
            raise Unreadable("it does not say which part is the document")
        kind = self._kind(main)
        frame = [TYPES, ROOT, main, _relations_of(main)]
        if kind is DocumentKind.DOCX:
            texts, pictures = self._reach(main)
            order = self._order(main, pictures)
            return outline(kind, self._directory, [[*frame, *texts]], dict.fromkeys(order, ()))
        for _, type_, name in self._of(main):
            if type_ in _FIRST:
                frame += (name, _relations_of(name))
        pages: list[list[str]] = []
        shown: dict[str, tuple[int, ...]] = {}
        for number, page in enumerate(self._pages(main, kind), 1):
            texts, pictures = self._reach(page)
            pages.append([*frame, *texts] if number == 1 else texts)
            for name in pictures:
                shown[name] = (*shown.get(name, ()), number)
        return outline(kind, self._directory, pages or [frame], shown)

    def _kind(self, main: str) -> DocumentKind:
        parts = elements(self._content(TYPES), TYPES, lambda tag, _: tag == "Override")
        types = {of.get("PartName", "")[1:]: of.get("ContentType", "") for _, of in parts}
        declared = types.get(main, "")
        for words, kind in _KINDS:
            if any(word in declared for word in words):
                return kind
        raise Unreadable(f"it is a document of another kind: {declared[:100]!r}")

    def _pages(self, main: str, kind: DocumentKind) -> Iterator[str]:
        """The entries of the pages, in order."""
        targets = {id_: name for id_, _, name in self._of(main)}
        found = 0
        named = _PAGES[kind]
        for _, attributes in elements(self._content(main), main, lambda tag, _: tag == named):
            name = targets.get(_relation_id(attributes), "")
            if name in self._names:
                found += 1
                if found > MAX_PAGES:
                    raise Unreadable(f"it has more than {MAX_PAGES} pages")
                yield name

    def _reach(self, start: str) -> tuple[list[str], list[str]]:
        """The texts and the pictures that a part needs, nearest first."""
        texts, pictures = {start: None}, dict[str, None]()
        waiting = [start]
        for part in waiting:
            texts[_relations_of(part)] = None
            for _, type_, name in self._of(part):
                self._steps += 1
                if self._steps > MAX_STEPS:
                    raise Unreadable("its parts are too tangled")
                if type_ in _ASIDE or (type_ == "slideLayout" and "slideMaster" in part):
                    continue
                if is_picture(name):
                    pictures[name] = None
                elif is_text(name) and name not in texts:
                    texts[name] = None
                    waiting.append(name)
        return list(texts), list(pictures)

    def _order(self, main: str, pictures: list[str]) -> list[str]:
        """Pictures as the text of the main part names them, then those of headers and others."""
        targets = {id_: name for id_, _, name in self._of(main)}
        named: dict[str, None] = {}
        for _, attributes in elements(self._content(main), main, lambda tag, _: tag in _SHOWN):
            named[targets.get(_relation_id(attributes), "")] = None
        there = dict.fromkeys(pictures)
        return list({**{name: None for name in named if name in there}, **there})

    def _of(self, part: str) -> list[Relation]:
        """What a part is related to within the document. "" is the document itself."""
        if part in self._relations:
            return self._relations[part]
        name = _relations_of(part)
        found: list[Relation] = []
        if name in self._names:
            base = posixpath.dirname(part)
            related = elements(self._content(name), name, lambda tag, _: tag == "Relationship")
            for _, one in related:
                if one.get("TargetMode") == "External":
                    continue
                target = resolved(one.get("Target", ""), base=base)
                if target in self._names:
                    type_ = one.get("Type", "").rpartition("/")[2]
                    found.append((one.get("Id", ""), type_, target))
        self._relations[part] = found
        return found


def _relations_of(part: str) -> str:
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{name}.rels")


def _relation_id(attributes: Attributes) -> str:
    """Its reference into the relationships: r:id, r:embed, r:link."""
    for name, value in attributes.items():
        if "relationships" in name and name.rpartition("}")[2] in ("id", "embed", "link"):
            return value
    return ""
