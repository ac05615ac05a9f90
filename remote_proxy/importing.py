"""From a document's bytes to prefetches: runs import drivers and applies the prefetch rules.

One `DocumentImport` per document: the page's driver, those of its style sheets, and the rules with
their bounds. It fetches nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import structlog

from remote_proxy.import_drivers.css import CssImport
from remote_proxy.import_drivers.found import Found
from remote_proxy.import_drivers.html import HtmlImport
from remote_proxy.prefetch import Document, Prefetch, Prefetcher
from wire.session import header

HTML_TYPES: Final = ("text/html", "application/xhtml+xml")
_log = structlog.get_logger("sluice.remote")


class Driver(Protocol):
    """What import drivers have in common; they never raise."""

    def feed(self, data: bytes) -> list[Found]: ...
    def close(self) -> list[Found]: ...


class Importer:
    """A driver at work on one component's bytes."""

    def __init__(self, driver: Driver, found: Callable[[list[Found]], None]) -> None:
        self._driver = driver
        self._found = found

    def feed(self, data: bytes) -> None:
        """Bytes of the component as they come, at most 64 KB at a time."""
        if found := self._driver.feed(data):
            self._found(found)

    def close(self) -> None:
        """The component is complete."""
        if found := self._driver.close():
            self._found(found)


class DocumentImport:
    """All that is known of one document's parts."""

    def __init__(self, document: Document, wanted: Callable[[list[Prefetch]], None]) -> None:
        """`wanted` is told what to fetch, in document order."""
        self._wanted = wanted
        self._rules = Prefetcher(document)
        self._page = HtmlImport(
            document.url,
            content_type=header(list(document.response_headers), "content-type"),
            accept=header(list(document.request_headers), "accept"),
        )

    def page(self) -> Importer:
        """For the page's own bytes."""
        return Importer(self._page, lambda found: self._consider(found, sheet=""))

    def sheet(self, url: str, *, content_type: str) -> Importer:
        """For a style sheet of the document."""
        driver = CssImport(
            url,
            self._page.encoding,
            content_type=content_type,
            names=self._page.names,
            browser=self._page.browser,
        )
        return Importer(driver, lambda found: self._consider(found, sheet=url))

    def _consider(self, finds: list[Found], *, sheet: str) -> None:
        wanted = []
        for found in finds:
            verdict = self._rules.consider(found, sheet=sheet)
            if isinstance(verdict, Prefetch):
                wanted.append(verdict)
            else:
                _log.debug("not prefetched", url=found.url, reason=verdict.value)
        if wanted:
            self._wanted(wanted)
