"""Tells a program on this device about a document that it has opened, in lines of JSON."""

from __future__ import annotations

import msgspec

from office.outline import DocumentKind


class ReportLine(msgspec.Struct, frozen=True, tag_field="event", omit_defaults=True):
    """One line of the report."""


class MediaLine(msgspec.Struct, frozen=True):
    """A picture of the outline, as office.outline.Media has it."""

    entry: str
    pages: list[int]
    width: int
    height: int


class Begun(ReportLine, frozen=True, tag="begun"):
    """The document comes in parts; entries are named as in its directory, which is in the file."""

    number: int
    """For /documents/NUMBER/focus."""
    url: str
    name: str
    path: str
    length: int
    directory: int
    """Offset, bytes, of the directory."""
    kind: DocumentKind
    pages: list[list[str]]
    media: list[MediaLine]
    texts: list[str] = []
    others: list[str] = []


class WholeBegun(ReportLine, frozen=True, tag="whole"):
    """The document comes as it is, from its first byte to its last."""

    number: int
    url: str
    name: str
    path: str
    length: int | None = None


class News(ReportLine, frozen=True, tag="news"):
    """What has come since the line before."""

    received: int
    """Bytes of the file that are here."""
    here: list[str] = []
    """Entries."""
    low: dict[str, bytes] = {}
    """Coarse files of pictures, by entry."""
    reach: int = 0
    """Offset up to which the main text is here."""
    text: bytes = b""
    """More of a view of its texts (office.text_view.records.TextView)"""
    text_at: int = 0
    """... behind so many bytes of it: 0 where another begins,"""
    text_ends: bool = False
    """... and all of it is here."""


class Ended(ReportLine, frozen=True, tag="ended"):
    """All is here, or no more will come. The file stays until the reader leaves."""

    sha256: str = ""
    failure: str = ""


class DocumentRefused(ReportLine, frozen=True, tag="refused"):
    """Nothing could be had."""

    status: int
    reason: str


AnyLine = Begun | WholeBegun | News | Ended | DocumentRefused
decoder = msgspec.json.Decoder(AnyLine)
encoder = msgspec.json.Encoder()


class OpenRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /documents."""

    url: str


class FocusRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /documents/NUMBER/focus."""

    page: int
    visible: list[str] = []
