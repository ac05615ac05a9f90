"""From a document's bytes to promises: runs import drivers, plans what is fetched unasked.

One `DocumentImport` per document: the page's driver, those of its style sheets, and what has been
promised so far. Decides by the prefetch rules and the plan; fetches nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from remote_proxy.import_drivers.css import CssImport
from remote_proxy.import_drivers.found import Found
from remote_proxy.import_drivers.html import HtmlImport

PIECE: Final = 65536
"""Bytes handed to a parser at a time."""


class Driver(Protocol):
    """What import drivers have in common."""

    def feed(self, data: bytes) -> list[Found]: ...
    def close(self) -> list[Found]: ...


class Importer:
    """A driver at work on one component's bytes."""

    def __init__(self, driver: Driver, found: Callable[[list[Found]], None]) -> None:
        self._driver = driver
        self._found = found

    def feed(self, data: bytes) -> None:
        """Bytes of the component as they come, at most PIECE at a time."""
        if found := self._driver.feed(data):
            self._found(found)

    def close(self) -> None:
        """The component is complete."""
        if found := self._driver.close():
            self._found(found)


class DocumentImport:
    """All that the import drivers know of one document."""

    def __init__(
        self, base_url: str, found: Callable[[list[Found]], None], *, content_type: str, accept: str
    ) -> None:
        self._found = found
        self._page = HtmlImport(base_url, content_type=content_type, accept=accept)

    def page(self) -> Importer:
        """For the page's own bytes."""
        return Importer(self._page, self._found)

    def sheet(self, url: str, *, content_type: str) -> Importer:
        """For a style sheet of the document."""
        driver = CssImport(
            url,
            self._page.encoding,
            content_type=content_type,
            names=self._page.names,
            browser=self._page.browser,
        )
        return Importer(driver, self._found)
