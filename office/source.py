"""A document on its way in, as those who show it see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from office.outline import Outline
from office.text_view.records import TextView
from office.zip_directory import Directory


class Source(Protocol):
    """One document; all of it for one thread, the event loop's."""

    @property
    def url(self) -> str: ...

    @property
    def name(self) -> str:
        """File name for people, with the suffix of its kind."""

    @property
    def length(self) -> int:
        """Bytes of the file."""

    @property
    def path(self) -> Path:
        """The sparse file: an entry's range is valid once it is present. It is removed when the
        document is closed, and not written to once it is complete."""

    @property
    def directory(self) -> Directory: ...

    @property
    def outline(self) -> Outline:
        """Pages and media as the remote found them."""

    @property
    def complete(self) -> bool:
        """Every byte is here, and the SHA-256 is right."""

    @property
    def failure(self) -> str:
        """Why it will not be complete; empty: it still may."""

    def present(self, entry: str) -> bool:
        """Whether that raw entry is in the file."""

    @property
    def reach(self) -> int:
        """The offset up to which the document's main text (office.beginnings) is in the file, from
        its entry's start on; 0: it has none."""

    def low(self, entry: str) -> bytes | None:
        """A coarse file of a picture (WebP, JPEG or PNG, whatever its entry is), once here."""

    @property
    def text(self) -> TextView | None:
        """A view of its texts, as far as it has come; None: there is none, or not yet."""

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called after anything above has changed; what is returned ends that."""

    def focus(self, page: int, visible: Sequence[str] = ()) -> None:
        """A person is at this page, from 1: its pictures next, or, where `visible` names entries,
        these alone."""
