"""From a document's bytes to prefetches: runs import drivers and applies the prefetch rules.

One `DocumentImport` per document: the page's driver, those of its style sheets, and the rules with
their bounds. It fetches nothing itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

import structlog

from remote_proxy.import_drivers.css import CssImport
from remote_proxy.import_drivers.found import MAX_FOUND, BrowserTraits, Found
from remote_proxy.import_drivers.html import HtmlImport
from remote_proxy.import_drivers.link_fields import early_links
from remote_proxy.import_drivers.modules import ModuleImport
from remote_proxy.promises.prefetch import Document, Prefetch, Prefetcher, referrer_policy
from remote_proxy.promises.protections import Embedding, Integrity
from remote_proxy.promises.reading_time import reading_time
from wire.fields import Fields, header
from wire.skeleton import Kind, Use

HTML_TYPE: Final = "text/html"
"""Pages of XML are not read: they are other texts to a browser than to a reader of HTML."""
READ: Final = 4096
"""Bytes handed to an import driver at a time; others get their turn in between. The worst page or
sheet takes it 2.5 us a byte."""
WHOLE: Final = 1 << 20
"""Bytes of a page that the import drivers of others are given."""
LONGEST: Final = 0.1
"""Processor seconds that the parts of a text are looked for: those of a megabyte of style sheets or
five of HTML. Eight megabytes of zeros, 64 KB as they come, took .9; and each round of the loop was
longer by a piece of them, so that pages of all devices took two to three times as long."""
_log = structlog.get_logger("sluice.remote")


class Driver(Protocol):
    """What import drivers have in common; they never raise."""

    def feed(self, data: bytes) -> list[Found]: ...
    def close(self) -> list[Found]: ...


class Unread:
    """Finds nothing: a document of a type that no built-in driver reads."""

    def feed(self, data: bytes) -> list[Found]:
        return []

    def close(self) -> list[Found]:
        return []


class Importer:
    """A driver at work on one component's bytes. Where it takes too long the rest is not read, and
    what waited for the end is not fetched: the browser asks for it."""

    def __init__(
        self,
        driver: Driver,
        found: Callable[[list[Found]], None],
        integrity: str = "",
        *,
        whole: Callable[[bytes], None] | None = None,
        clock: Callable[[], float] = reading_time,
    ) -> None:
        """`integrity`: what the bytes must be for their finds to count. `whole` is given them at
        the end, up to WHOLE. `clock`: processor seconds: a machine that others keep busy reads as
        much as another."""
        self._whole = whole
        self._gathered = bytearray()
        self._clock = clock
        self._left = LONGEST
        self._driver = driver
        self._found = found
        self._integrity = Integrity(integrity)
        self._held: list[Found] = []

    def feed(self, data: bytes) -> None:
        """Bytes of the component as they come, at most 64 KB at a time."""
        if self._whole is not None:
            self._gathered += data[: WHOLE - len(self._gathered)]
        if self._left <= 0:
            return
        began = self._clock()
        self._integrity.feed(data)
        self._held += self._driver.feed(data)
        if not self._integrity.open:
            self._release()
        self._left -= self._clock() - began

    def close(self) -> None:
        """The component is complete."""
        if self._whole is not None:
            self._whole(bytes(self._gathered))
        if self._left <= 0:
            return
        self._held += self._driver.close()
        if self._integrity.holds():
            self._release()

    @property
    def gave_up(self) -> bool:
        """Whether it took too long."""
        return self._left <= 0

    def _release(self) -> None:
        held, self._held = self._held, []
        self._found(held)


class DocumentImport:
    """All that is known of one document's parts."""

    def __init__(
        self,
        document: Document,
        wanted: Callable[[list[Prefetch]], None],
        *,
        deferred: Callable[[str, bool], None] = lambda url, on: None,
    ) -> None:
        """`wanted` is told what to fetch, in document order; `deferred`: of a script that it was
        told before, that it holds nothing up after all, or that it does."""
        self.frames: dict[str, Embedding] = {}
        """Where the document has frames, by their URL."""
        self._document = document
        self._wanted = wanted
        self._deferred = deferred
        self._reader: Importer | None = None
        """Of the page's own bytes; None: nobody reads them as HTML."""
        self._rules = Prefetcher(document)
        self._elements: dict[str, Found] = {}
        self._elsewhere: set[str] = set()
        """Pictures that something else shows as well."""
        self._scripts: dict[str, Use] = {}
        self._modules: dict[str, Found] = {}
        """Scripts that may import others; some are no modules, and import none."""
        self._sheets: dict[str, Found] = {}
        self._sheet_policies: dict[str, str] = {}
        self._waiting: list[Found] = []
        self._early: dict[str, Found] = {}
        """Pictures that are to be there early, for who has not been found yet."""
        self._page = HtmlImport(
            document.url,
            content_type=header(list(document.response_headers), "content-type"),
            browser=document.browser,
            policies=document.protections.policies,
            links=early_links(document.response_headers),
            top_level=not document.embedding.ancestors,
        )

    def page(
        self, plugged: Callable[[bytes, BrowserTraits], None] | None = None, *, html: bool = True
    ) -> Importer:
        """For the page's own bytes, which `plugged` is given at the end. `html`: they are that."""
        driver: Driver = self._page if html else Unread()
        if plugged is None:
            reader = Importer(driver, self._of_page)
        else:
            whole = lambda data: plugged(data, self._page.browser)  # noqa: E731
            reader = Importer(driver, self._of_page, whole=whole)
        self._reader = reader if html else None
        return reader

    def add(self, finds: list[Found]) -> None:
        """What others have found in the page."""
        self._consider(finds)

    def holds_up(self, url: str) -> bool:
        """Whether the script of that URL may hold up what comes behind it; no if a script of the
        page asks for it, for the page has come with all its markup (HTML, 4.12.1)."""
        if self._reader is None or self._reader.gave_up or self._page.cut:
            return True
        return self._scripts.get(url) is Use.BLOCKING

    def links(self, url: str) -> bool:
        """Whether the document has a style sheet of that URL, in effect."""
        return url in self._sheets

    def sheet(self, url: str, headers: Fields) -> Importer | None:
        """For a style sheet of the document that came with these headers; None: it is none, or
        is not going to take effect."""
        found = self._sheets.get(url)
        if found is None or not self._document.protections.takes_effect(found, headers):
            return None
        self._sheet_policies[url] = referrer_policy(headers)
        driver = CssImport(
            url,
            self._page.encoding,
            content_type=header(list(headers), "content-type"),
            names=self._page.names,
            browser=self._page.browser,
        )
        return Importer(driver, self._of_part, found.terms.integrity)

    def imports(self, url: str) -> bool:
        """Whether the document has a script of that URL which may import others."""
        return url in self._modules

    def import_by_script(self, url: str) -> None:
        """A script of the document has asked for the module of that URL."""
        if len(self._modules) < MAX_FOUND:
            self._modules[url] = Found(url, Kind.SCRIPT, Use.DEFERRED, 0, cors=True)

    def module(self, url: str, headers: Fields) -> Importer | None:
        """For a script of the document that came with these headers; None: it imports none."""
        found = self._modules.get(url)
        if found is None or not self._document.protections.takes_effect(found, headers):
            return None
        driver = ModuleImport(url, found, referrer_policy=referrer_policy(headers))
        return Importer(driver, self._of_module, found.terms.integrity)

    def shows(self, url: str) -> bool:
        """Whether the document's markup or styles show the picture at this address."""
        return url in self._page.names.shown

    def element(self, url: str) -> Found | None:
        """The <img> that shows the picture at this address, or offers it, and alone does."""
        found = self._elements.get(url) or self._page.names.offered.get(url)
        alone = found is not None and found.use is Use.ELEMENT and not self.elsewhere(url)
        return found if alone else None

    def elsewhere(self, url: str) -> bool:
        """Whether something else shows the picture, as a background."""
        return url in self._elsewhere

    def asked(self, url: str) -> None:
        """The browser asks for it itself."""
        if self._early.pop(url, None) is not None:
            self._rules.known(url)

    def _of_page(self, finds: list[Found]) -> None:
        """Pictures that a page only wants to have early wait for what shows them, which says
        whether they may be coarse; at its end they are whose they may be."""
        ready, early = [], self._early
        for found in finds:
            if found.kind is Kind.IMAGE and not found.terms.applies:
                early[found.url] = found
            else:
                early.pop(found.url, None)
                ready.append(found)
        if self._page.over:
            ready += early.values()
            early.clear()
        self._consider(ready)

    def _of_module(self, finds: list[Found]) -> None:
        self._of_part([found for found in finds if found.url not in self._scripts])

    def _of_part(self, finds: list[Found]) -> None:
        """What sheets and modules ask for waits until all policies of the page are known."""
        if self._page.scope.head_over:
            self._consider(finds)
        else:
            self._waiting += finds

    def _consider(self, finds: list[Found]) -> None:
        if self._waiting and self._page.scope.head_over:
            waiting, self._waiting = self._waiting, []
            finds = waiting + finds
        wanted = []
        for one in finds:
            found = self._by_now(one)
            self._remember(found)
            verdict = self._rules.consider(found)
            if isinstance(verdict, Prefetch):
                wanted.append(verdict)
            else:
                _log.debug("not prefetched", url=found.url, reason=verdict.value)
        if wanted:
            self._wanted(wanted)

    def _by_now(self, found: Found) -> Found:
        """A style or a module asks when it is used, under the policies of then."""
        scope = self._page.scope
        if found.kind is Kind.SCRIPT and found.terms.sheet:
            return replace(found, terms=replace(found.terms, metas=scope.metas))
        if not found.terms.style:
            return found
        policy = self._sheet_policies.get(found.terms.sheet, "")
        terms = replace(found.terms, metas=scope.metas, sheet_policy=policy)
        return replace(found, referrer_policy=scope.referrer_policy, terms=terms)

    def _remember(self, found: Found) -> None:
        """Frames, style sheets, pictures, whoever will fetch them; found.MAX_FOUND bounds them."""
        protections = self._document.protections
        if found.kind is Kind.IMAGE:
            if found.terms.applies:
                self._page.names.show(found.url)
                self._stands(found)
            return
        if found.kind is Kind.SCRIPT:
            was = self._scripts.setdefault(found.url, found.use)
            self._scripts[found.url] = found.use
            if found.cors and len(self._modules) < MAX_FOUND and not protections.forbid(found):
                self._modules.setdefault(found.url, found)
            if was is not found.use:
                self._deferred(found.url, found.use is Use.DEFERRED)
            return
        if found.use is Use.DOCUMENT:
            embedding = protections.embedding_of(found)
            before = self.frames.get(found.url)
            self.frames[found.url] = embedding if before is None else before.stricter(embedding)
            return
        applies = found.kind is Kind.STYLE and found.terms.applies and not found.lazy
        if applies and not protections.forbid(found):
            self._sheets.setdefault(found.url, found)

    def _stands(self, found: Found) -> None:
        """Where nothing but an <img> shows it, it may be coarse there first and then replaced."""
        if found.use is Use.ELEMENT:
            self._elements[found.url] = found
        else:
            self._elsewhere.add(found.url)


async def import_parts(importer: Importer, piece: bytes) -> None:
    """Let an import driver read it, a little at a time."""
    for at in range(0, len(piece), READ):
        if at:
            await asyncio.sleep(0)
        importer.feed(piece[at : at + READ])
