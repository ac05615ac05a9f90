"""Follows a person in LibreOffice, as the source of the document wants to know it.

The page he is at, with the pictures on it, and whether the window is in front: those pictures
come next (HATS, section 2). Must not know: UNO, the link.
"""

from __future__ import annotations

from collections.abc import Mapping

from office.source import Source


class OfficeTracker:
    """Tracks one document. Tells the source only what is new to it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._page = 1
        self._visible: tuple[str, ...] = ()
        self._front = True
        self._all = False
        self._places: Mapping[str, tuple[int, ...]] = {}
        self._told: tuple[int, tuple[str, ...]] | None = None

    def page(self, page: int, visible: tuple[str, ...] = ()) -> None:
        """The page that is shown, from 1, and the pictures on the screen where that is known."""
        self._page = page
        self._visible = visible
        self._tell()

    def front(self, on: bool) -> None:
        """The window is the one that has the keyboard. In front again, its page counts again."""
        if on and not self._front:
            self._told = None
        self._front = on
        self._tell()

    def places(self, places: Mapping[str, tuple[int, ...]]) -> None:
        """Entry -> pages on which LibreOffice was found to show it; none: on all of them."""
        self._places = places
        self._tell()

    def all_wanted(self) -> None:
        """The person waits for all of them, to save."""
        self._all = True
        self._tell()

    def wanted(self) -> tuple[str, ...]:
        """Entries of the pictures on the page, then, where he waits for them, all others."""
        here = self._visible or tuple(
            media.entry
            for media in self._source.outline.media
            if self._page in media.pages or self._page in self._places.get(media.entry, ())
        )
        if not self._all:
            return here
        return here + tuple(m.entry for m in self._source.outline.media if m.entry not in here)

    def _tell(self) -> None:
        """A window that is behind others has its turn when it comes forward."""
        news = (self._page, self.wanted())
        if self._front and news != self._told:
            self._told = news
            self._source.focus(*news)
