"""Pages of a document as HTML, from what is here of it. The way in to this package. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from office.extents import Extents
from office.outline import DocumentKind, Outline
from office.preview.deck import Deck
from office.preview.markup import Pictures, limited
from office.preview.odf import OdfDeck, OdfText
from office.preview.parts import Instead, Parts, Read
from office.preview.sheets import OdfSheets, Workbook
from office.preview.word import Word
from office.zip_directory import Directory


class _Kind(Protocol):
    def __init__(self, parts: Parts, outline: Outline, pictures: Pictures) -> None: ...
    def size(self) -> tuple[float, float]: ...
    def forget(self) -> None: ...
    def blocks(self, page: int) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class PreviewPage:
    """A page as far as it can be shown."""

    blocks: tuple[str, ...]
    """Pieces of HTML, each one element; none: its text is not here."""
    missing: frozenset[str]
    """Entries with which it would look otherwise."""
    growing: frozenset[str] = frozenset()
    """Of these: entries that are shown as far as they are here."""


class Preview:
    """One document. Not for two threads at a time."""

    def __init__(
        self,
        directory: Directory,
        outline: Outline,
        read: Read,
        instead: Instead = lambda name: None,
    ) -> None:
        """`read`: bytes of the file from an offset to another, which are here. `instead`: what
        stands for a text that is not."""
        self._parts = Parts(directory, read, instead)
        pictures = {one.entry: at for at, one in enumerate(outline.media)}
        self._kind: _Kind = _KINDS[outline.kind](self._parts, outline, pictures)

    def size(self, there: Extents) -> tuple[float, float]:
        """Width and height of its pages, in any unit; as much is said of those that have none."""
        self._parts.now(there)
        return self._kind.size()

    def forget(self) -> None:
        """Hold no more than it needs to begin again."""
        self._parts.forget()
        self._kind.forget()

    def page(self, number: int, there: Extents) -> PreviewPage:
        """A page, from 1, when these bytes of the file are here."""
        self._parts.now(there)
        try:
            blocks = limited(self._kind.blocks(number))
        except RecursionError:
            blocks = ()
        return PreviewPage(
            blocks, frozenset(self._parts.missing), frozenset(self._parts.growing_ones)
        )


_KINDS: Final[dict[DocumentKind, type[_Kind]]] = {
    DocumentKind.PPTX: Deck,
    DocumentKind.DOCX: Word,
    DocumentKind.XLSX: Workbook,
    DocumentKind.ODP: OdfDeck,
    DocumentKind.ODT: OdfText,
    DocumentKind.ODS: OdfSheets,
}
