"""Records of what an import driver finds in a document, and the browser on whose behalf it looks.

Only what can be read from the bytes: which of the finds are fetched, and with what headers, is
remote_proxy/promises/prefetch.py's business. Source: HATS, section 2 (import drivers); the WHATWG
HTML standard; what Chromium 156 was seen to request and to send."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from web.content_security import ContentPolicy
from wire.continuation import Window
from wire.skeleton import Kind, Use

MAX_FOUND: Final = 5_000
"""Components of one document; what comes after is left to the browser to ask for."""
MAX_VALUES: Final = 4 * MAX_FOUND
"""CSS values of one page or sheet that are parsed for URLs, at some 12 us each."""
MAX_SHOWN: Final = 4 * MAX_FOUND
"""Addresses of pictures that a document may show, all candidates of each <img> among them."""
MAX_WAITING: Final = 20_000
"""Selectors that finds and fonts wait for; each is looked at again when a part is complete."""
MAX_NAMES: Final = 20_000
"""Tag, class and id names that a document is remembered by."""

_DOCUMENT_ACCEPT: Final = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,"
    "*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
)
_PHONE: Final = (412.0, 915.0, 2.625)
"""An Android phone's window: CSS pixels across and down, device pixels for each of them."""
_IPHONE: Final = (390.0, 844.0, 3.0)
"""The same of an iPhone."""
_FIREFOX_IMAGE: Final = "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5"
"""Firefox names no picture format in a document's `Accept`, and these in a picture's."""
_DECODED: Final = frozenset(
    (
        *("image/jpeg", "image/jpg", "image/pjpeg", "image/png", "image/x-png", "image/gif"),
        *("image/bmp", "image/x-icon", "image/vnd.microsoft.icon", "image/svg+xml"),
        *("image/webp", "image/avif", "image/apng"),
    )
)


@dataclass(frozen=True, slots=True)
class BrowserTraits:
    """The browser as far as its choice among candidates depends on it."""

    width: float = 1280
    """Viewport, CSS pixels."""
    height: float = 720
    dpr: float = 1.0
    """Device pixels per CSS pixel."""
    accept: str = _DOCUMENT_ACCEPT
    """The `Accept` with which it asked for the document: names the picture formats it knows."""

    @property
    def formats(self) -> tuple[str, ...]:
        """Picture formats named in `accept`, in its order."""
        items = (item.partition(";")[0].strip() for item in self.accept.split(","))
        return tuple(item for item in items if item.startswith("image/") and item != "image/*")

    def decodes(self, content_type: str) -> bool:
        """Whether a <source type> or image-set type() is one it would choose."""
        essence = content_type.partition(";")[0].strip().lower()
        return essence in _DECODED or essence in self.formats

    def accept_for(self, kind: Kind, use: Use) -> str:
        """The `Accept` it sends for a component; Chromium's, formats as in the document's."""
        if use is Use.DOCUMENT:
            return self.accept
        if kind is Kind.STYLE:
            return "text/css,*/*;q=0.1"
        if kind is Kind.IMAGE and not self.formats:
            return _FIREFOX_IMAGE
        if kind is Kind.IMAGE:
            return ",".join((*self.formats, "image/svg+xml", "image/*", "*/*;q=0.8"))
        return "*/*"


def browser_traits(window: Window | None, user_agent: str, accept: str) -> BrowserTraits:
    """A browser by what its device says of its window, or else by what most of its kind have: a
    phone's is narrow, and its pixels are fine. `accept`: empty where it said none."""
    browser = BrowserTraits(accept=accept) if accept else BrowserTraits()
    if window is not None:
        size: tuple[float, float, float] = window.width, window.height, window.density / 100
    elif "iPhone" in user_agent:
        size = _IPHONE
    elif "Mobile" in user_agent:
        size = _PHONE
    else:
        return browser
    return replace(browser, width=size[0], height=size[1], dpr=size[2])


@dataclass(frozen=True, slots=True)
class Terms:
    """How a page asks for a component: what its own protections look at."""

    destination: str = ""
    """As in Fetch, "empty" for fetch()'s; empty: as the component's kind has it."""
    mode: str = ""
    """Of the request, where it is neither of "cors" and "no-cors"."""
    nonce: str = ""
    """Of the element, if it counts."""
    integrity: str = ""
    credentials: bool = False
    """`crossorigin=use-credentials`."""
    metas: tuple[ContentPolicy, ...] = ()
    """The policies of <meta> elements that stand before it."""
    style: bool = False
    """A style asks for it."""
    sheet: str = ""
    """URL of the style sheet, or the module, that asks; empty: the page itself."""
    sheet_policy: str = ""
    """The Referrer-Policy that the sheet came with."""
    sandbox: frozenset[str] | None = None
    """Of a frame: what its sandbox allows; None: it has none."""
    applies: bool = True
    """It takes effect. False: it is fetched for later, for whoever will use it."""


PLAIN: Final = Terms()


@dataclass(frozen=True, slots=True)
class Found:
    """One component that a document needs, before anything of it has been fetched.

    A URL is reported once; again only when it turns out to matter more than was said: a picture
    that is also a background (`use` becomes BACKGROUND), or that is not lazy after all.
    """

    url: str
    """Absolute, http or https, no fragment."""
    kind: Kind
    use: Use
    order: int
    """Position in the document, from 0."""
    width: int = 0
    """CSS pixels in the layout, 0: unknown."""
    height: int = 0
    lazy: bool = False
    """The browser may never ask for it: off screen, of another medium, of an unused rule."""
    accept: str = "*/*"
    cors: bool = False
    """Fetched in CORS mode: across origins the request carries `Origin` and no cookies."""
    referrer_policy: str = ""
    """Set by the element or by <meta name=referrer>; empty: the response header's, or default."""
    terms: Terms = PLAIN


@dataclass(frozen=True, slots=True)
class Pending:
    """A find of a rule or font that nothing known so far uses."""

    found: Found
    selectors: tuple[frozenset[str], ...] = ()
    """It is used once the document has every name of one of these."""
    family: str = ""
    """It is used once a rule asks for this font."""


@dataclass(slots=True)
class Names:
    """What a document has and asks for, shared by its page and its style sheets.

    Sheets and page are read side by side: a sheet may name a class before the page shows it, a
    font may be declared in one sheet and used in the next. What waits for that is `pending`.
    """

    names: set[str] = field(default_factory=lambda: {"html", "head", "body"})
    """`tag`, `.class` and `#id`, tags in lower case."""
    families: set[str] = field(default_factory=set)
    """Font families that rules in use name, in lower case."""
    shown: set[str] = field(default_factory=set)
    """Addresses of pictures that markup or styles show; what is not here a script has made."""
    offered: dict[str, Found] = field(default_factory=dict)
    """What the <img> is that offers the picture at this address, whether or not it takes it."""
    pending: list[Pending] = field(default_factory=list)
    fonts_of_unused: list[tuple[tuple[frozenset[str], ...], tuple[str, ...]]] = field(
        default_factory=list
    )
    """Selectors of rules not in use so far, and the families they ask for."""
    room: int = MAX_WAITING

    def add(self, name: str) -> None:
        if len(self.names) < MAX_NAMES:
            self.names.add(name)

    def show(self, url: str | None) -> None:
        """The document may show the picture at this address; None: it is no address."""
        if url is not None and len(self.shown) < MAX_SHOWN:
            self.shown.add(url)

    def offer(self, url: str | None, found: Found) -> None:
        """The <img> that `found` is for may show this one instead."""
        if url is not None and len(self.offered) < MAX_SHOWN:
            self.offered.setdefault(url, found)

    def ask(self, families: tuple[str, ...], selectors: tuple[frozenset[str], ...] | None) -> None:
        """A rule asks for fonts; `selectors`: of a rule not in use, None: of one that is."""
        if selectors is None and len(self.families) < MAX_NAMES:
            self.families.update(families)
        elif selectors and len(self.fonts_of_unused) < MAX_FOUND and self._fits(selectors):
            self.fonts_of_unused.append((selectors, families))

    def wait(self, pending: Pending) -> None:
        if len(self.pending) < MAX_FOUND and self._fits(pending.selectors):
            self.pending.append(pending)

    def _fits(self, selectors: tuple[frozenset[str], ...]) -> bool:
        self.room -= len(selectors) + 1
        return self.room >= 0

    def uses(self, selectors: tuple[frozenset[str], ...]) -> bool:
        """Whether some element may match one of the selectors."""
        return any(selector <= self.names for selector in selectors)

    def settle(self) -> list[Found]:
        """The pending finds that have come into use, no longer lazy."""
        for selectors, families in self.fonts_of_unused:
            if self.uses(selectors):
                self.families.update(families)
        used: list[Pending] = []
        waiting: list[Pending] = []
        for one in self.pending:
            (used if self._used(one) else waiting).append(one)
        self.pending = waiting
        return [replace(one.found, lazy=False) for one in used]

    def _used(self, one: Pending) -> bool:
        return one.family in self.families if one.family else self.uses(one.selectors)


class Findings:
    """Collects finds of one document: merges duplicates, numbers them, keeps the bound."""

    def __init__(self, browser: BrowserTraits) -> None:
        self._browser = browser
        self._known: dict[str, Found] = {}
        self._values = MAX_VALUES
        self._fresh: dict[str, Found] = {}

    @property
    def full(self) -> bool:
        return len(self._known) >= MAX_FOUND

    def add(
        self,
        url: str | None,
        kind: Kind,
        use: Use,
        *,
        width: int = 0,
        height: int = 0,
        lazy: bool = False,
        cors: bool = False,
        referrer_policy: str = "",
        terms: Terms = PLAIN,
    ) -> Found | None:
        """Note a find; None (a URL that is not http) is ignored. The find as it now stands."""
        if url is None:
            return None
        known = self._known.get(url)
        if known is None and self.full:
            return None
        accept = self._browser.accept_for(kind, use)
        order = len(self._known) if known is None else known.order
        found = Found(
            url, kind, use, order, width, height, lazy, accept, cors, referrer_policy, terms
        )
        if known is not None:
            found = _merged(known, found)
            if found is known:
                return known
        self._known[url] = found
        self._fresh[url] = found
        return found

    def defer(self, url: str) -> None:
        """A script holds nothing up, as it turns out."""
        known = self._known.get(url)
        if known is not None and known.use is Use.BLOCKING:
            self._known[url] = self._fresh[url] = replace(known, use=Use.DEFERRED)

    def may_parse(self) -> bool:
        """Whether one more CSS value may be parsed; counts it."""
        self._values -= 1
        return self._values >= 0

    def add_again(self, found: Found) -> None:
        """A find of another part of the document (Names.settle), now in use."""
        self.add(
            found.url, found.kind, found.use, cors=found.cors,
            referrer_policy=found.referrer_policy, terms=found.terms,
        )  # fmt: skip

    def take(self) -> list[Found]:
        """What was added or raised since last time."""
        fresh, self._fresh = self._fresh, {}
        return list(fresh.values())


def _merged(known: Found, found: Found) -> Found:
    """What one URL stands for that was found twice; `known` itself: nothing new.

    A request is never put together from two elements, as a page may forbid either: the first of
    those that are not lazy makes it. A picture that was to be there early is what shows it, and a
    script holds up what any of its elements does.
    """
    if found.kind is Kind.STYLE and found.terms.applies and not known.terms.applies:
        return known if found.lazy else found
    if known.kind is found.kind is Kind.SCRIPT:
        raised = found.use is Use.BLOCKING is not known.use
        return replace(known, use=Use.BLOCKING) if raised else known
    pictures = known.kind is found.kind is Kind.IMAGE
    if pictures and found.terms.applies and not known.terms.applies:
        return replace(found, order=known.order, lazy=False)
    background = pictures and Use.BACKGROUND in (known.use, found.use)
    one = found if known.lazy and not found.lazy else known
    use = Use.BACKGROUND if background and one.use is Use.ELEMENT else one.use
    if (use, one.lazy) == (known.use, known.lazy):
        return known
    width, height = known.width or found.width, known.height or found.height
    return replace(one, use=use, width=width, height=height)
