"""Finds what each element of a web page makes a browser fetch.

The target of the page's parser (html.py): it hears of start tags in order and keeps no tree, as
Chromium's preload scanner does. Source: WHATWG HTML; verified against what Chromium 156 requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from remote_proxy.import_drivers.candidates import choose, parse_srcset
from remote_proxy.import_drivers.css import StyleScanner
from remote_proxy.import_drivers.found import PLAIN, BrowserTraits, Findings, Found, Names, Terms
from remote_proxy.import_drivers.media import matches
from remote_proxy.import_drivers.scope import Attributes, Scope, nonce_of
from remote_proxy.import_drivers.urls import resolve
from web.content_security import ContentPolicy
from wire.skeleton import Kind, Use

MAX_ELEMENTS: Final = 200_000
"""Elements of one page that are looked at: a second of work for a page made to cost it."""
MAX_OPEN: Final = 2048
"""Elements open at a time, four times what Chromium nests: libxml2 looks through all of them for
each end tag that closes none, so that a page made for it could hold the loop for minutes."""
MAX_STYLE: Final = 16 << 10
"""Characters of a `style` attribute that are looked at."""
MAX_SOURCES: Final = 100
"""<source> elements of one <picture>."""

_JAVASCRIPT: Final = re.compile(
    r"(?:(?:text|application)/(?:x-)?(?:java|ecma)script|text/(?:jscript|livescript)"
    r"|text/javascript1\.[0-5])?"
)
_SPACE: Final = " \t\n\f\r"
_DIGITS: Final = re.compile(r"\+?(\d{1,6})(?:\.\d*)?\s*(?:px)?", re.IGNORECASE)
_PRELOADS: Final[Mapping[str, tuple[Kind, Use]]] = {
    "style": (Kind.STYLE, Use.BLOCKING),
    "script": (Kind.SCRIPT, Use.DEFERRED),
    "image": (Kind.IMAGE, Use.OTHER),
    "font": (Kind.FONT, Use.OTHER),
    "fetch": (Kind.OTHER, Use.OTHER),
}
"""By `as`; the others that exist are fetched by some browsers only."""
_IN_FOREIGN: Final = frozenset(("svg", "image", "feimage", "use"))
"""Elements that fetch the same in SVG as in HTML."""
_LATER: Final[Mapping[str, tuple[str, ...]]] = {
    "src": ("data-src", "data-lazy-src", "data-original", "data-lazy"),
    "srcset": ("data-srcset", "data-lazy-srcset"),
    "sizes": ("data-sizes",),
}
"""Where scripts that make pictures lazy find what an <img> is to have once it comes into view:
lazysizes, WP Rocket, jQuery's Lazy Load, slick, and whoever has taken up their names."""
_RAW: Final = frozenset(("script", "style", "title", "noembed"))
"""Elements whose text no page shows."""
_SHOWN: Final = frozenset(("img", "video", "iframe", "object", "embed", "canvas"))
_NO_SIZE: Final = ("0", "1")
"""Width of what only counts its readers."""
_NESTED_CONTENTS: Final = frozenset(("object", "embed", "iframe", "frame"))
"""Elements that browsers may leave alone where they are another's fallback."""


class TooDeep(Exception):
    """The page nests deeper than any that is shown."""


class ElementReader:
    """Elements to finds, with the state of the page that a start tag cannot show by itself."""

    def __init__(
        self,
        base_url: str,
        findings: Findings,
        browser: BrowserTraits,
        names: Names,
        *,
        policies: tuple[ContentPolicy, ...] = (),
        top_level: bool,
    ) -> None:
        """`policies`: of the response."""
        self.scope = Scope(base_url, policies)
        self._document = base_url
        self._findings = findings
        self._browser = browser
        self._names = names
        self._top_level = top_level
        self._icon = False
        self._hidden = 0
        self._left = MAX_ELEMENTS
        self._open = 0
        self._sources: list[Attributes] | None = None
        self._style: StyleScanner | None = None
        self._raw = ""
        self._last_scripts: list[str] = []
        """Those behind which nothing has come that a page shows."""
        self._tags: dict[str, Callable[[Attributes], None]] = {
            "base": self.scope.on_base, "meta": self.scope.on_meta, "link": self.link,
            "script": self._on_script, "style": self._on_style, "img": self._on_img,
            "picture": self._on_picture, "source": self._on_source, "image": self._on_image,
            "feimage": self._on_image, "use": self._on_use, "input": self._on_input,
            "video": self._on_video, "audio": self._on_media, "iframe": self._on_iframe,
            "frame": self._on_frame, "object": self._on_object, "embed": self._on_embed,
        }  # fmt: skip

    def link(self, attributes: Attributes) -> None:
        """A <link>, or a Link field of the response, which says the same before all markup."""
        words = attributes.get("rel", "").lower().split()
        href = attributes.get("href")
        if not href and "imagesrcset" not in attributes:
            return
        shown = matches(attributes.get("media", ""), self._browser)
        if "stylesheet" in words:
            kind = attributes.get("type", "").partition(";")[0].strip().lower()
            if kind in ("", "text/css") and "disabled" not in attributes:
                later = not shown or "alternate" in words
                terms = Terms(applies=not later and self.scope.prefers(attributes))
                self._add(href, Kind.STYLE, Use.BLOCKING, attributes, lazy=later, terms=terms)
        elif "modulepreload" in words:
            if attributes.get("as", "").lower() in ("", "script"):
                self._add(href, Kind.SCRIPT, Use.DEFERRED, attributes, cors=True)
        elif "preload" in words:
            self._preload(attributes, shown=shown)
        elif "icon" in words and self._top_level:
            self._add(href, Kind.IMAGE, Use.BACKGROUND, attributes, lazy=self._icon or not shown)
            self._icon = self._icon or shown

    # -- called by the parser -----------------------------------------------------------------

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element opens. Names in lower case, entities replaced. Raises TooDeep."""
        self._open += 1
        if self._open > MAX_OPEN:
            raise TooDeep
        if tag == "sluice-hide":
            # A declarative shadow root is shown, not kept.
            self._hidden += 1
            mode = attributes.get("shadowrootmode", "").lower()
            if not self._hidden - 1 and mode in ("open", "closed"):
                self._hidden = 0
            return
        if tag == "sluice-show":
            self._hidden = max(0, self._hidden - 1)
            return
        self._left -= 1
        if self._hidden or self._left < 0:
            return
        self._remember(tag, attributes)
        if tag in _RAW:
            self._raw = tag
        elif tag in _SHOWN and attributes.get("width", "") not in _NO_SIZE:
            self._last_scripts.clear()
        handler = self._tags.get(tag)
        if handler is not None and self._heeded(tag):
            handler(attributes)
        self.scope.enter(tag)
        if "background" in attributes and tag in ("body", "table", "td", "th", "tr"):
            self._background(attributes["background"])
        if "(" in attributes.get("style", "")[:MAX_STYLE] and self.scope.allows_inline_style():
            self._inline_style(attributes["style"][:MAX_STYLE])

    def end(self, tag: str) -> None:
        """An element closes, by its end tag or because it must."""
        self._open -= 1
        if tag == self._raw:
            self._raw = ""
        if not self._hidden:
            self.scope.leave(tag)
        if tag == "picture":
            self._sources = None
        elif tag == "style" and self._style is not None:
            self._style.close()
            self._style = None

    def data(self, text: str) -> None:
        """Text, cut anywhere."""
        if self._style is not None:
            self._style.feed(text)
        elif self._last_scripts and not (self._raw or self._hidden or text.isspace()):
            self._last_scripts.clear()

    def comment(self, text: str) -> None:
        """A comment, or what is one in HTML: in SVG the same bytes may be text."""
        if self.scope.foreign and text.startswith("[CDATA["):
            self._left = 0  # Where it ends, libxml2 does not tell.

    def close(self) -> None:
        """The parser has nothing more to say (see `finish`)."""

    # -- own ----------------------------------------------------------------------------------

    @property
    def cut(self) -> bool:
        """Whether a part of it was not looked at."""
        return self._left < 0

    def finish(self, *, whole: bool) -> None:
        """The page has ended, whole or not. The scripts at its end hold nothing up."""
        self.scope.head_over = True
        if whole and not self.cut:
            for script in self._last_scripts:
                self._findings.defer(script)
        if self._style is not None:
            self._style.close()
            self._style = None
        if self._top_level and not self._icon:
            # What a browser asks for when a page names no icon; after the page, hence lazy.
            self._icon = True
            url = resolve(self._document, "/favicon.ico")
            self._findings.add(url, Kind.IMAGE, Use.BACKGROUND, lazy=True)

    def _remember(self, tag: str, attributes: Attributes) -> None:
        add = self._names.add
        if tag not in self._names.names:
            add(tag)
        if "id" in attributes:
            add("#" + attributes["id"])
        if "class" in attributes:
            for name in attributes["class"].split():
                add("." + name)

    def _heeded(self, tag: str) -> bool:
        """Whether an element fetches at this place what it fetches elsewhere."""
        if self.scope.foreign and tag not in _IN_FOREIGN:
            return tag == "img"  # It ends the foreign content.
        return not (self.scope.fallback and tag in _NESTED_CONTENTS)

    def _add(
        self, reference: str | None, kind: Kind, use: Use, attributes: Attributes, *,
        terms: Terms = PLAIN, lazy: bool = False, cors: bool = False,
        width: int = 0, height: int = 0,
    ) -> Found | None:  # fmt: skip
        """Note what an element asks for that heeds `crossorigin` and `referrerpolicy`."""
        crossorigin = attributes.get("crossorigin")
        return self._findings.add(
            self.scope.resolve(reference), kind, use, lazy=lazy, width=width, height=height,
            cors=cors or crossorigin is not None,
            referrer_policy=self.scope.referrer_policy_of(attributes),
            terms=replace(
                terms, nonce=nonce_of(attributes), integrity=attributes.get("integrity", ""),
                credentials=(crossorigin or "").lower() == "use-credentials",
                metas=self.scope.metas,
            ),
        )  # fmt: skip

    def _add_bare(
        self, reference: str | None, use: Use, attributes: Attributes, *, lazy: bool = False
    ) -> None:
        """A picture with its size, by the page's own terms: `crossorigin` may be the video's."""
        width, height = _size(attributes, "width"), _size(attributes, "height")
        self._add(reference, Kind.IMAGE, use, {}, lazy=lazy, width=width, height=height)

    def _background(self, reference: str) -> None:
        self._add(reference, Kind.IMAGE, Use.BACKGROUND, {})

    def _scanner(self, *, inside_rule: bool, active: bool) -> StyleScanner | None:
        if self.scope.base is None:
            return None
        return StyleScanner(
            self.scope.base, self._findings, browser=self._browser, names=self._names,
            encoding=self.scope.encoding, inside_rule=inside_rule, active=active,
        )  # fmt: skip

    def _inline_style(self, text: str) -> None:
        scanner = self._scanner(inside_rule=True, active=True)
        if scanner is not None:
            scanner.feed(text)
            scanner.close()

    def _preload(self, attributes: Attributes, *, shown: bool) -> None:
        target = _PRELOADS.get(attributes.get("as", "").strip().lower())
        kind = attributes.get("type", "")
        if target is None or not shown:
            return
        href = attributes.get("href", "")
        if target[0] is Kind.IMAGE:
            if kind and not self._browser.decodes(kind):
                return
            sizes = attributes.get("imagesizes", "")
            href = choose(href, attributes.get("imagesrcset", ""), sizes, self._browser)
        terms = Terms(applies=False)
        self._add(href, *target, attributes, cors=target[0] is Kind.FONT, terms=terms)

    def _on_script(self, attributes: Attributes) -> None:
        kind = attributes.get("type", "").strip().lower()
        module = kind == "module"
        if not module and (not _JAVASCRIPT.fullmatch(kind) or "nomodule" in attributes):
            return
        later = module or "async" in attributes or "defer" in attributes
        # What a frame waits for the page around it does not.
        use = Use.DEFERRED if later or not self._top_level else Use.BLOCKING
        found = self._add(attributes.get("src"), Kind.SCRIPT, use, attributes, cors=module)
        if found is not None and use is Use.BLOCKING:
            self._last_scripts.append(found.url)

    def _on_style(self, attributes: Attributes) -> None:
        kind = attributes.get("type", "").strip().lower()
        applies = self.scope.allows_inline_style(attributes) and self.scope.prefers(attributes)
        if kind in ("", "text/css") and applies:
            active = matches(attributes.get("media", ""), self._browser)
            self._style = self._scanner(inside_rule=False, active=active)

    def _on_picture(self, _: Attributes) -> None:
        self._sources = []

    def _on_source(self, attributes: Attributes) -> None:
        if self._sources is not None and len(self._sources) < MAX_SOURCES:
            self._sources.append(dict(attributes))

    def _on_img(self, attributes: Attributes) -> None:
        sources, self._sources = self._sources or [], None
        self._picture(attributes, sources, lazy=_is_lazy(attributes))
        elements = (*sources, attributes)
        later = [_later(one) for one in elements]
        if any(later):
            *others, own = (one or now for one, now in zip(later, elements, strict=True))
            self._picture(own, others, lazy=True)

    def _picture(
        self, attributes: Attributes, sources: Sequence[Attributes], *, lazy: bool
    ) -> None:
        """An <img>, with the <source>s before it."""
        width, height = _size(attributes, "width"), _size(attributes, "height")
        offered = [self.scope.resolve(attributes.get("src"))]
        for offering in (*sources, attributes):
            # Which of them is taken depends on the window, which may be another by now.
            for candidate in parse_srcset(offering.get("srcset", "")):
                offered.append(self.scope.resolve(candidate.url))
        for url in offered:
            self._names.show(url)
        for source in sources:
            if not source.get("srcset") or not self._applies(source):
                continue
            target = choose("", source["srcset"], _sizes(source, width), self._browser)
            if target:
                width = _size(source, "width") or width
                height = _size(source, "height") or height
                break
        else:
            sizes = _sizes(attributes, width)
            target = choose(
                attributes.get("src", ""), attributes.get("srcset", ""), sizes, self._browser
            )
        found = self._add(target, Kind.IMAGE, Use.ELEMENT, attributes,
                          lazy=lazy, width=width, height=height)  # fmt: skip
        if found is not None:
            for url in offered:
                self._names.offer(url, found)

    def _applies(self, source: Attributes) -> bool:
        kind = source.get("type", "")
        if kind and not self._browser.decodes(kind):
            return False
        return matches(source.get("media", ""), self._browser)

    def _on_image(self, attributes: Attributes) -> None:
        """SVG's <image>; outside of SVG it is <img>."""
        if "src" in attributes:
            self._on_img(attributes)
        else:
            target = attributes.get("href") or attributes.get("xlink:href")
            heeded = {name: attributes[name] for name in attributes.keys() & {"crossorigin"}}
            self._add(target, Kind.IMAGE, Use.OTHER, heeded)

    def _on_use(self, attributes: Attributes) -> None:
        target = attributes.get("href") or attributes.get("xlink:href")
        self._add(target, Kind.IMAGE, Use.OTHER, {}, terms=Terms(mode="same-origin"))

    def _on_input(self, attributes: Attributes) -> None:
        if attributes.get("type", "").strip().lower() == "image":
            self._add_bare(attributes.get("src"), Use.BACKGROUND, attributes)

    def _on_video(self, attributes: Attributes) -> None:
        lazy = _is_lazy(attributes)
        self._add_bare(attributes.get("poster"), Use.BACKGROUND, attributes, lazy=lazy)
        self._on_media(attributes)

    def _on_media(self, attributes: Attributes) -> None:
        self._add(attributes.get("src"), Kind.MEDIA, Use.OTHER, attributes, lazy=True)

    def _on_iframe(self, attributes: Attributes) -> None:
        if not attributes.keys() & {"srcdoc", "credentialless", "csp"}:
            self._frame(attributes, "iframe")

    def _on_frame(self, attributes: Attributes) -> None:
        self._frame(attributes, "frame")

    def _frame(self, attributes: Attributes, destination: str) -> None:
        sandbox = attributes.get("sandbox")
        allowed = None if sandbox is None else frozenset(sandbox.lower().split())
        terms = Terms(destination=destination, sandbox=allowed)
        policy = {"referrerpolicy": attributes.get("referrerpolicy", "")}
        width, height = _size(attributes, "width"), _size(attributes, "height")
        self._add(attributes.get("src"), Kind.TEXT, Use.DOCUMENT, policy, terms=terms,
                  lazy=_is_lazy(attributes), width=width, height=height)  # fmt: skip

    def _on_object(self, attributes: Attributes) -> None:
        self._contents(attributes, attributes.get("data"), "object")

    def _on_embed(self, attributes: Attributes) -> None:
        self._contents(attributes, attributes.get("src"), "embed")

    def _contents(self, attributes: Attributes, reference: str | None, destination: str) -> None:
        """<object data> and <embed src>, of types for which browsers open a document."""
        kind = attributes.get("type", "").strip().lower()
        if kind in ("", "text/html", "application/pdf", "image/svg+xml"):
            terms = Terms(destination=destination)
            self._add(reference, Kind.OTHER, Use.DOCUMENT, {}, terms=terms, lazy=not kind)


def _later(attributes: Attributes) -> Attributes:
    """An <img> or <source> as a script makes it once it comes into view; empty: none does."""
    found = {
        name: value
        for name, places in _LATER.items()
        if (value := next(filter(None, map(attributes.get, places)), ""))
    }
    if not found.keys() & {"src", "srcset"}:
        return {}
    return {**attributes, "src": "", "srcset": "", **found}


def _is_lazy(attributes: Attributes) -> bool:
    return attributes.get("loading", "").strip().lower() == "lazy"


def _size(attributes: Attributes, name: str) -> int:
    """CSS pixels of a width or height attribute; 0 if there is none, or it is a percentage."""
    matched = _DIGITS.fullmatch(attributes.get(name, "").strip())
    return int(matched[1]) if matched else 0


def _sizes(attributes: Attributes, width: int) -> str:
    """The `sizes` attribute; `auto` stands for the layout width, known here only as `width`."""
    sizes = attributes.get("sizes", "")
    first, _, rest = sizes.partition(",")
    if first.strip(_SPACE).lower() == "auto":
        return f"{width}px" if width else rest
    return sizes
