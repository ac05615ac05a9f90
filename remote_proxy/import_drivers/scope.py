"""Keeps what a page's earlier elements say for those behind: base, referrers, policies, where.

Knows the order of elements, and of each what holds at its place; not what an element fetches
(page.py). Source: WHATWG HTML (base, meta, referrerpolicy, foreign content, fallback content);
where Chromium 156 and Firefox 140 differ, `unsure` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remote_proxy.import_drivers.urls import origin, resolve
from web.content_security import ContentPolicy, with_meta

Attributes = Mapping[str, str]

UNSURE: Final = "?"
"""A referrer policy on which browsers differ."""
REFERRER_POLICIES: Final = frozenset(
    (
        *("no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin"),
        *("origin-when-cross-origin", "strict-origin-when-cross-origin", "unsafe-url"),
    )
)
_OLD_NAMES: Final[Mapping[str, str]] = {
    "never": "no-referrer",
    "always": "unsafe-url",
    "default": "strict-origin-when-cross-origin",
    "origin-when-crossorigin": "origin-when-cross-origin",
}
"""Of <meta name=referrer>; of attributes, in some browsers."""
_HEAD: Final = frozenset(
    (
        *("html", "head", "base", "basefont", "bgsound", "link", "meta", "title", "script"),
        *("style", "noscript", "noembed", "noframes", "template"),
    )
)
"""Elements that a head may have; any other begins the body, where no meta policy counts."""
_FOREIGN: Final = frozenset(("svg", "math"))
_FALLBACK: Final = frozenset(("object", "video", "audio"))
"""Elements whose contents a browser may not show."""
_BREAKOUT: Final = frozenset(
    (
        *("b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em"),
        *("embed", "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing"),
        *("menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strong"),
        *("strike", "sub", "sup", "table", "tt", "u", "ul", "var"),
    )
)
"""Elements that end foreign content (HTML, 13.2.6.5)."""


class Scope:
    """The state of a page at the element that is being read."""

    def __init__(self, document: str, policies: tuple[ContentPolicy, ...]) -> None:
        """`policies`: of the response."""
        self.encoding = "utf-8"
        self.head_over = False
        """No policy can come any more."""
        self.metas: tuple[ContentPolicy, ...] = ()
        self.referrer_policy = ""
        """Of the page's <meta>; empty: none yet. UNSURE: browsers differ."""
        self.foreign = 0
        """Depth in SVG or MathML."""
        self.fallback = 0
        """Depth in elements that may show something else than their contents."""
        self._document = document
        self._base: str | None = document
        self._base_open = True
        self._header_policies = policies
        self._sheets = ""

    def enter(self, tag: str) -> None:
        """An element opens."""
        if tag not in _HEAD:
            self.head_over = True
        if tag in _FOREIGN:
            self.foreign += 1
        elif self.foreign and tag in _BREAKOUT:
            self.foreign = 0
        elif tag in _FALLBACK:
            self.fallback += 1

    def leave(self, tag: str) -> None:
        """An element closes."""
        if tag in _FOREIGN:
            self.foreign = max(0, self.foreign - 1)
        elif tag in _FALLBACK:
            self.fallback = max(0, self.fallback - 1)

    @property
    def base(self) -> str | None:
        """What relative URLs are relative to; None: to nothing that http knows."""
        return self._base

    def resolve(self, reference: str | None) -> str | None:
        """The absolute URL of a reference, None if there is nothing to ask for."""
        if not reference or self._base is None:
            return None
        return resolve(self._base, reference, encoding=self.encoding)

    def on_base(self, attributes: Attributes) -> None:
        """The first <base> with an address holds, or, if a policy forbids it, none."""
        if not self._base_open or "href" not in attributes:
            return
        self._base_open = False
        reference = attributes["href"]
        if not reference.strip() or reference.strip().startswith("#"):
            return
        base = resolve(self._document, reference)
        if base is None or all(policy.allows_base(base) for policy in self.policies):
            self._base = base

    def on_meta(self, attributes: Attributes) -> None:
        """What a <meta> says to the elements after it."""
        content = attributes.get("content", "")
        if attributes.get("http-equiv", "").strip().lower() == "content-security-policy":
            if content:
                self.metas = with_meta(self.metas, content, origin=origin(self._document))
        elif attributes.get("http-equiv", "").strip().lower() == "default-style":
            self._sheets = content
        name = attributes.get("name", "")
        if name.strip().lower() == "referrer":
            word = content.strip().lower()
            word = _OLD_NAMES.get(word, word)
            if word in REFERRER_POLICIES:
                exact = (name, content) == (name.strip(), content.strip())
                self.referrer_policy = word if exact else UNSURE

    @property
    def policies(self) -> tuple[ContentPolicy, ...]:
        """All that are in force."""
        return self._header_policies + self.metas

    def referrer_policy_of(self, attributes: Attributes) -> str:
        """The referrer policy of an element which heeds `referrerpolicy`."""
        written = attributes.get("referrerpolicy", "")
        word = written.strip().lower()
        if word in _OLD_NAMES or (word in REFERRER_POLICIES and word != written.lower()):
            return UNSURE
        return word if word in REFERRER_POLICIES else self.referrer_policy

    def allows_inline_style(self, attributes: Attributes | None = None) -> bool:
        """Whether a <style> with these attributes counts; None: a `style` attribute."""
        if attributes is None:
            return all(policy.allows_inline_style(attribute=True) for policy in self.policies)
        nonce = nonce_of(attributes)
        return all(policy.allows_inline_style(nonce=nonce) for policy in self.policies)

    def prefers(self, attributes: Attributes) -> bool:
        """Whether a sheet takes effect by its title: of the sheets with titles the first's do."""
        title = attributes.get("title", "")
        self._sheets = self._sheets or title
        return title in ("", self._sheets)


def nonce_of(attributes: Attributes) -> str:
    """The element's nonce; empty if markup may have run into the tag (CSP 3, 6.7.3.1)."""
    nonce = attributes.get("nonce", "")
    if nonce:
        text = " ".join(part for pair in attributes.items() for part in pair).lower()
        if "<script" in text or "<style" in text:
            return ""
    return nonce
