"""Which documents are open, and which one a request belongs to. Pure.

A navigation opens a document; its id is the id of the component that carries the page. Requests
name their document by their Referer; browsers trim it across origins to the origin alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urldefrag, urlsplit

from wire.messages import UNATTRIBUTED

MAX_DOCUMENTS: Final = 256
"""Documents remembered; the oldest is forgotten first."""


@dataclass(frozen=True, slots=True)
class Document:
    """A page that a browser has, or had a moment ago."""

    id: int
    url: str
    opened: float
    site: str = ""
    """The host whose switch holds for it and for all it loads: of a frame, its page's."""


def origin_of(url: str) -> str:
    """scheme://host[:port] of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class Documents:
    """Open documents, the latest navigation last."""

    def __init__(self) -> None:
        self._documents: dict[int, Document] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._documents.values()))

    def open(self, document: int, url: str, *, now: float, site: str = "") -> list[Document]:
        """A navigation; returns the documents that were forgotten to make room."""
        self._documents[document] = Document(document, urldefrag(url).url, now, site)
        forgotten = []
        while len(self._documents) > MAX_DOCUMENTS:
            oldest = next(iter(self._documents))
            forgotten.append(self._documents.pop(oldest))
        return forgotten

    def get(self, document: int) -> Document | None:
        """The document of that id, while it is open."""
        return self._documents.get(document)

    def close(self, document: int) -> Document | None:
        """Forget a document."""
        return self._documents.pop(document, None)

    def of(self, referer: str) -> int:
        """The document that sent a request with this Referer; UNATTRIBUTED if none fits.

        The newest page with that URL; else, as style sheets and frames send Referers of their own,
        the newest page of that origin.
        """
        if not referer:
            return UNATTRIBUTED
        try:
            url, origin = urldefrag(referer).url, origin_of(referer)
        except ValueError:  # not a URL: anybody can send any Referer
            return UNATTRIBUTED
        same_origin = UNATTRIBUTED
        for document in reversed(self._documents.values()):
            if document.url == url:
                return document.id
            if same_origin == UNATTRIBUTED and origin_of(document.url) == origin:
                same_origin = document.id
        return same_origin
