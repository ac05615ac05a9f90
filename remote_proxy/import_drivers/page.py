"""What each element of a web page makes a browser fetch.

The target of the page's parser (html.py): it hears of start tags in order and keeps no tree, as
Chromium's preload scanner does. Source: WHATWG HTML; verified against what Chromium 156 requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from remote_proxy.import_drivers.candidates import choose
from remote_proxy.import_drivers.css import StyleScanner
from remote_proxy.import_drivers.found import Browser, Findings, Names
from remote_proxy.import_drivers.media import matches
from remote_proxy.import_drivers.urls import resolve
from wire.skeleton import Kind, Use

MAX_ELEMENTS: Final = 200_000
"""Elements of one page that are looked at: a second of work for a page made to cost it."""
MAX_STYLE: Final = 16 << 10
"""Characters of a `style` attribute that are looked at."""
MAX_SOURCES: Final = 100
"""<source> elements of one <picture>."""

_JAVASCRIPT: Final = re.compile(
    r"(?:(?:text|application)/(?:x-)?(?:java|ecma)script|text/(?:jscript|livescript)"
    r"|text/javascript1\.[0-5])?"
)
_SPACE: Final = " \t\n\f\r"
_DIGITS: Final = re.compile(r"\s*\+?(\d{1,6})(?:\.\d*)?\s*(?:px)?\s*$", re.IGNORECASE)
_POLICIES: Final = frozenset(
    (
        *("no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin"),
        *("origin-when-cross-origin", "strict-origin-when-cross-origin", "unsafe-url"),
    )
)
_PRELOADS: Final[Mapping[str, tuple[Kind, Use]]] = {
    "style": (Kind.STYLE, Use.BLOCKING),
    "script": (Kind.SCRIPT, Use.DEFERRED),
    "image": (Kind.IMAGE, Use.OTHER),
    "font": (Kind.FONT, Use.OTHER),
    "fetch": (Kind.OTHER, Use.OTHER),
    "track": (Kind.OTHER, Use.OTHER),
}

Attributes = Mapping[str, str]


class Page:
    """Elements to finds, with the state of the page that a start tag cannot show by itself."""

    def __init__(
        self,
        base_url: str,
        findings: Findings,
        browser: Browser,
        names: Names,
        *,
        top_level: bool,
    ) -> None:
        self.encoding = "utf-8"
        self._document = self._base = base_url
        self._base_open = True
        self._findings = findings
        self._browser = browser
        self._names = names
        self._top_level = top_level
        self._icon = False
        self._hidden = 0
        self._left = MAX_ELEMENTS
        self._sources: list[Attributes] | None = None
        self._style: StyleScanner | None = None
        self._policy = ""
        self._tags: dict[str, Callable[[Attributes], None]] = {
            "base": self._on_base, "meta": self._on_meta, "link": self._on_link,
            "script": self._on_script, "style": self._on_style, "img": self._on_img,
            "picture": self._on_picture, "source": self._on_source, "image": self._on_image,
            "feimage": self._on_image, "use": self._on_use, "input": self._on_input,
            "video": self._on_video, "audio": self._on_media, "iframe": self._on_frame,
            "frame": self._on_frame, "object": self._on_object, "embed": self._on_object,
        }  # fmt: skip

    # -- called by the parser -----------------------------------------------------------------

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element opens. Names in lower case, entities replaced."""
        if tag == "sluice-hide":
            # A declarative shadow root is shown, not kept.
            self._hidden += 1
            if not self._hidden - 1 and "shadowrootmode" in attributes:
                self._hidden = 0
            return
        if tag == "sluice-show":
            self._hidden = max(0, self._hidden - 1)
            return
        self._left -= 1
        if self._hidden or self._left < 0:
            return
        self._remember(tag, attributes)
        handler = self._tags.get(tag)
        if handler is not None:
            handler(attributes)
        if "background" in attributes and tag in ("body", "table", "td", "th", "tr"):
            self._background(attributes["background"])
        if "(" in attributes.get("style", "")[:MAX_STYLE]:
            self._inline_style(attributes["style"][:MAX_STYLE])

    def end(self, tag: str) -> None:
        """An element closes, by its end tag or because it must."""
        if tag == "picture":
            self._sources = None
        elif tag == "style" and self._style is not None:
            self._style.close()
            self._style = None

    def data(self, text: str) -> None:
        """Text, cut anywhere."""
        if self._style is not None:
            self._style.feed(text)

    def close(self) -> None:
        """The parser has nothing more to say (see `finish`)."""

    # -- own ----------------------------------------------------------------------------------

    def finish(self) -> None:
        """The page has ended, whole or not."""
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

    def _resolve(self, reference: str | None) -> str | None:
        return resolve(self._base, reference, encoding=self.encoding) if reference else None

    def _add(
        self, reference: str | None, kind: Kind, use: Use, attributes: Attributes, *,
        lazy: bool = False, cors: bool = False, width: int = 0, height: int = 0,
    ) -> None:  # fmt: skip
        policy = attributes.get("referrerpolicy", "").strip().lower()
        self._findings.add(
            self._resolve(reference), kind, use, lazy=lazy, width=width, height=height,
            cors=cors or "crossorigin" in attributes,
            referrer_policy=policy if policy in _POLICIES else self._policy,
        )  # fmt: skip

    def _add_sized(
        self,
        reference: str | None,
        kind: Kind,
        use: Use,
        attributes: Attributes,
        *,
        lazy: bool = False,
    ) -> None:
        """With its size, and not in CORS mode whatever `crossorigin` says (it is the video's)."""
        policy = {"referrerpolicy": attributes.get("referrerpolicy", "")}
        width, height = _size(attributes, "width"), _size(attributes, "height")
        self._add(reference, kind, use, policy, lazy=lazy, width=width, height=height)

    def _background(self, reference: str) -> None:
        self._add(reference, Kind.IMAGE, Use.BACKGROUND, {})

    def _scanner(self, *, inside_rule: bool, active: bool) -> StyleScanner:
        return StyleScanner(
            self._base, self._findings, browser=self._browser, names=self._names,
            encoding=self.encoding, inside_rule=inside_rule, active=active,
        )  # fmt: skip

    def _inline_style(self, text: str) -> None:
        scanner = self._scanner(inside_rule=True, active=True)
        scanner.feed(text)
        scanner.close()

    def _on_base(self, attributes: Attributes) -> None:
        if self._base_open and "href" in attributes:
            self._base_open = False
            self._base = resolve(self._document, attributes["href"]) or self._base

    def _on_meta(self, attributes: Attributes) -> None:
        if attributes.get("name", "").strip().lower() == "referrer":
            for word in attributes.get("content", "").lower().split(","):
                if word.strip() in _POLICIES:
                    self._policy = word.strip()

    def _on_link(self, attributes: Attributes) -> None:
        words = attributes.get("rel", "").lower().split()
        href = attributes.get("href")
        if not href and "imagesrcset" not in attributes:
            return
        shown = matches(attributes.get("media", ""), self._browser)
        if "stylesheet" in words:
            kind = attributes.get("type", "").partition(";")[0].strip().lower()
            if kind in ("", "text/css") and "disabled" not in attributes:
                later = not shown or "alternate" in words
                self._add(href, Kind.STYLE, Use.BLOCKING, attributes, lazy=later)
        elif "modulepreload" in words:
            self._add(href, Kind.SCRIPT, Use.DEFERRED, attributes, cors=True)
        elif "preload" in words:
            self._preload(attributes, shown=shown)
        elif "icon" in words and self._top_level:
            self._add(href, Kind.IMAGE, Use.BACKGROUND, attributes, lazy=self._icon or not shown)
            self._icon = self._icon or shown

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
        self._add(href, *target, attributes, cors=target[0] is Kind.FONT)

    def _on_script(self, attributes: Attributes) -> None:
        kind = attributes.get("type", "").strip().lower()
        module = kind == "module"
        if not module and (not _JAVASCRIPT.fullmatch(kind) or "nomodule" in attributes):
            return
        later = module or "async" in attributes or "defer" in attributes
        source = attributes.get("src") or attributes.get("href") or attributes.get("xlink:href")
        use = Use.DEFERRED if later else Use.BLOCKING
        self._add(source, Kind.SCRIPT, use, attributes, cors=module)

    def _on_style(self, attributes: Attributes) -> None:
        if attributes.get("type", "").strip().lower() in ("", "text/css"):
            active = matches(attributes.get("media", ""), self._browser)
            self._style = self._scanner(inside_rule=False, active=active)

    def _on_picture(self, _: Attributes) -> None:
        self._sources = []

    def _on_source(self, attributes: Attributes) -> None:
        if self._sources is not None and len(self._sources) < MAX_SOURCES:
            self._sources.append(dict(attributes))

    def _on_img(self, attributes: Attributes) -> None:
        sources, self._sources = self._sources or (), None
        lazy = attributes.get("loading", "").strip().lower() == "lazy"
        width, height = _size(attributes, "width"), _size(attributes, "height")
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
        self._add(target, Kind.IMAGE, Use.ELEMENT, attributes,
                  lazy=lazy, width=width, height=height)  # fmt: skip

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
            self._add(target, Kind.IMAGE, Use.OTHER, attributes)

    def _on_use(self, attributes: Attributes) -> None:
        target = attributes.get("href") or attributes.get("xlink:href")
        self._add(target, Kind.IMAGE, Use.OTHER, attributes)

    def _on_input(self, attributes: Attributes) -> None:
        if attributes.get("type", "").strip().lower() == "image":
            self._add_sized(attributes.get("src"), Kind.IMAGE, Use.BACKGROUND, attributes)

    def _on_video(self, attributes: Attributes) -> None:
        self._add_sized(attributes.get("poster"), Kind.IMAGE, Use.BACKGROUND, attributes)
        self._on_media(attributes)

    def _on_media(self, attributes: Attributes) -> None:
        self._add(attributes.get("src"), Kind.MEDIA, Use.OTHER, attributes, lazy=True)

    def _on_frame(self, attributes: Attributes) -> None:
        if "srcdoc" in attributes:
            return
        lazy = attributes.get("loading", "").strip().lower() == "lazy"
        self._add_sized(attributes.get("src"), Kind.TEXT, Use.DOCUMENT, attributes, lazy=lazy)

    def _on_object(self, attributes: Attributes) -> None:
        """<object data> and <embed src>, of types that a browser shows by itself."""
        kind = attributes.get("type", "").strip().lower()
        if not kind or self._browser.decodes(kind) or kind in ("text/html", "application/pdf"):
            target = attributes.get("data") or attributes.get("src")
            self._add(target, Kind.OTHER, Use.DOCUMENT, attributes, lazy=not kind)


def _size(attributes: Attributes, name: str) -> int:
    """CSS pixels of a width or height attribute; 0 if there is none, or it is a percentage."""
    matched = _DIGITS.match(attributes.get(name, ""))
    return int(matched[1]) if matched else 0


def _sizes(attributes: Attributes, width: int) -> str:
    """The `sizes` attribute; `auto` stands for the layout width, known here only as `width`."""
    sizes = attributes.get("sizes", "")
    first, _, rest = sizes.partition(",")
    if first.strip(_SPACE).lower() == "auto":
        return f"{width}px" if width else rest
    return sizes
