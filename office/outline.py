"""The outline of a document, in the order in which people read it.

A page (a slide, a sheet) needs texts and pictures; the remote sends them in that order, the local
side shows what is here. Must not know: how parts travel, or who shows them. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DocumentKind(StrEnum):
    """What it is; the value is the suffix of its file."""

    PPTX = "pptx"
    DOCX = "docx"
    XLSX = "xlsx"
    ODP = "odp"
    ODT = "odt"
    ODS = "ods"


@dataclass(frozen=True, slots=True)
class OutlinePage:
    """A slide, a sheet, or all of a text, whose pages nobody knows before it is laid out."""

    entries: tuple[str, ...]
    """Names of the texts that it needs and no page before it: empty where the pages before it
    brought all."""


@dataclass(frozen=True, slots=True)
class Media:
    """A picture of the document."""

    entry: str
    pages: tuple[int, ...]
    """Where it is shown, from 1; empty: not known, or nowhere."""
    width: int = 0
    """Pixels; 0: not known."""
    height: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    """The document in the order of reading."""

    kind: DocumentKind
    pages: tuple[OutlinePage, ...]
    """At least one."""
    media: tuple[Media, ...]
    """In the order in which a reader meets them."""
    texts: tuple[str, ...] = ()
    """Entries that no page needs to be read: notes, properties, layouts that are not used."""
    others: tuple[str, ...] = ()
    """Entries that are no texts and no pictures: fonts, films, what is embedded. All entries are in
    exactly one of these four."""
