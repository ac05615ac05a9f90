"""Web pages to what they need, while their bytes arrive.

libxml2's tokenizer (HTML5's since 2.14) reports start tags as they come; page.py knows what each
makes a browser fetch. This module decides the charset, the bounds, and what is not markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from lxml import etree

from remote_proxy.import_drivers.charset import Decoder, from_content_type
from remote_proxy.import_drivers.found import BrowserTraits, Findings, Found, Names
from remote_proxy.import_drivers.page import ElementReader, TooDeep
from remote_proxy.import_drivers.scope import Attributes, Scope
from web.content_security import ContentPolicy

MAX_PAGE: Final = 8 << 20
"""Bytes of one page that are looked at; the browser asks for what later ones need."""

_OPAQUE: Final = re.compile(r"(</?)(noscript|template)(?=[\s/>])", re.IGNORECASE)
_CUT_TAG: Final = re.compile(r"</?[a-zA-Z]{0,8}\Z")
_LONGEST_TAG: Final = len("</noscript")


class HtmlImport:
    """Bytes of one page to finds. `feed` and `close` never raise, whatever the bytes."""

    def __init__(
        self,
        base_url: str,
        *,
        content_type: str = "",
        browser: BrowserTraits | None = None,
        policies: tuple[ContentPolicy, ...] = (),
        links: Sequence[Attributes] = (),
        top_level: bool = True,
    ) -> None:
        """`base_url`: of the response. `browser`: who asked for it; None: as any may be.
        `policies`, and early `links` (link_fields.py): of the response. `top_level`: False for the
        page of an iframe, whose icons nobody fetches."""
        self.browser = browser or BrowserTraits()
        self.names = Names()
        """Shared with the CssImport of each sheet of this page."""
        self._findings = Findings(self.browser)
        self._decoder = Decoder(declared=from_content_type(content_type))
        self._page = ElementReader(
            base_url, self._findings, self.browser, self.names,
            policies=policies, top_level=top_level,
        )  # fmt: skip
        for attributes in links:
            self._page.link(attributes)
        target: Any = self._page  # The stubs ask for comment(), lxml does not.
        self._parser: etree.HTMLParser | None = etree.HTMLParser(
            target=target, encoding="utf-8", huge_tree=True
        )
        self._tail = ""
        self._room = MAX_PAGE
        self._given_up = False

    @property
    def encoding(self) -> str:
        """Charset of the page, for the style sheets that it links."""
        return self._decoder.encoding

    @property
    def scope(self) -> Scope:
        """What holds at the end of what has been read."""
        return self._page.scope

    def feed(self, data: bytes) -> list[Found]:
        """Finds that these bytes complete; at most 64 KB at a time keeps the loop free."""
        data = data[: self._room]
        self._room -= len(data)
        self._parse(self._decoder.feed(data), final=False)
        return self._findings.take()

    @property
    def cut(self) -> bool:
        """Whether it has parts that were not looked at."""
        return self._given_up or self._page.cut or not self._room

    @property
    def over(self) -> bool:
        """Whether nothing more is to be found in it."""
        return self._parser is None

    def close(self) -> list[Found]:
        """The rest, and what has turned out to be in use."""
        self._parse(self._decoder.close(), final=True)
        parser, self._parser = self._parser, None
        if parser is not None:
            with suppress(etree.LxmlError, TooDeep):  # An empty page; what was found before stands.
                parser.close()
        self._page.finish(whole=not self.cut)
        for found in self.names.settle():
            self._findings.add_again(found)
        return self._findings.take()

    def _parse(self, text: str, *, final: bool) -> None:
        if self._parser is None:
            return
        text = self._tail + text
        # A tag name cut in two must not slip past the substitution.
        cut_tag = None if final else _CUT_TAG.search(text, max(0, len(text) - _LONGEST_TAG))
        cut = cut_tag.start() if cut_tag else len(text)
        text, self._tail = text[:cut], text[cut:]
        if not text:
            return
        self._page.scope.encoding = self._decoder.encoding
        try:
            self._parser.feed(_OPAQUE.sub(_transparent, text).encode("utf-8", "replace"))
        except (etree.LxmlError, TooDeep):
            self._give_up()
        if self._findings.full:
            self._give_up()

    def _give_up(self) -> None:
        self._parser, self._given_up = None, True


def _transparent(tag: re.Match[str]) -> str:
    """Names under which libxml2 tells what HTML says of a tag.

    <noscript> is raw text where scripts run, as <noembed> always is. A <template> may end where
    libxml2's tree does not let it, so that both its tags are made start tags of their own.
    """
    if tag[2].lower() == "noscript":
        return tag[1] + "noembed"
    return "<sluice-hide" if tag[1] == "<" else "<sluice-show"
