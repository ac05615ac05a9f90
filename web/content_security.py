"""Content security policies: what a page's own policies let it fetch. Pure.

A policy that a browser enforces is parsed once and then asked for each URL. It fails closed: what
is not understood here (letters beyond ASCII, unknown keywords, directives that look like those of
fetches, lists without end) lets nothing through, though a browser may be more generous. Must not
know: who asks, what a proxy does with the answer.

Source: Content Security Policy Level 3, sections 2.3 (parsing), 6.1 (fetch directives), 6.7.2
(matching URLs), 6.7.3 (inline styles), 6.8 (which directive governs). Chromium 156 and Firefox
were asked where they differ; `<object>` needs frame-src too, as Chromium has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

MAX_POLICIES: Final = 32
"""Policies of one page; with more of them nothing is allowed."""
MAX_SOURCES: Final = 1_000
"""Words of one policy; a longer one allows nothing. The longest of large sites have some 400."""

_FRAME: Final = ("frame-src", "child-src", "default-src")
_SCRIPT: Final = ("script-src-elem", "script-src", "default-src")
_MEDIA: Final = ("media-src", "default-src")
_OBJECT: Final = ("object-src", "default-src")
_WORKER: Final = ("worker-src", "child-src", "script-src", "default-src")
_GOVERNING: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "empty": (("connect-src", "default-src"),),
    "font": (("font-src", "default-src"),),
    "image": (("img-src", "default-src"),),
    "manifest": (("manifest-src", "default-src"),),
    "style": (("style-src-elem", "style-src", "default-src"),),
    "script": (_SCRIPT,), "xslt": (_SCRIPT,),
    "audio": (_MEDIA,), "video": (_MEDIA,), "track": (_MEDIA,),
    "frame": (_FRAME,), "iframe": (_FRAME,),
    "object": (_OBJECT, _FRAME), "embed": (_OBJECT, _FRAME),
    "worker": (_WORKER,), "sharedworker": (_WORKER,), "serviceworker": (_WORKER,),
}  # fmt: skip
"""For each destination (Fetch, 2.2.5; "empty" is fetch()'s) the chains of directives that govern
it: of each chain the first that the policy has."""
_KNOWN: Final = frozenset(
    name for chains in _GOVERNING.values() for chain in chains for name in chain
) | frozenset(("style-src-attr", "script-src-attr", "prefetch-src", "fenced-frame-src"))
_ONLY_IN_HEADERS: Final = frozenset(("sandbox", "frame-ancestors", "report-uri"))
"""Directives that a <meta> may not have (HTML, 4.2.5.3)."""
_KEYWORDS: Final = frozenset(
    (
        *("'none'", "'self'", "'strict-dynamic'", "'unsafe-inline'", "'unsafe-eval'"),
        *("'unsafe-hashes'", "'report-sample'", "'wasm-unsafe-eval'", "'trusted-types-eval'"),
        *("'unsafe-allow-redirects'", "'inline-speculation-rules'", "'unsafe-webtransport-hashes'"),
        *("'report-sha256'", "'report-sha384'", "'report-sha512'"),
    )
)
_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_COVERED: Final[Mapping[str, frozenset[str]]] = {
    "http": frozenset(("http", "https")),
    "ws": frozenset(("ws", "wss")),
}
"""Schemes that a scheme in a source stands for, besides itself (6.7.2.9). That those of WebSockets
stand for http's, Chromium does not hold."""

_CONTROL: Final = re.compile(r"[^\t\n\f\r -~]")
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.\-]*):", re.IGNORECASE)
_HOST: Final = re.compile(
    r"(?:([a-z][a-z0-9+.\-]*)://)?"
    r"(\*|(?:\*\.)?[a-z0-9\-]+(?:\.[a-z0-9\-]+)*)"
    r"(?::(\*|[0-9]{1,5}))?"
    r"(/[^?#;,]*)?",
    re.IGNORECASE,
)
_NUMBERS: Final = re.compile(r"[0-9.]+")
_NONCE: Final = re.compile(r"'nonce-([A-Za-z0-9+/_\-]+={0,2})'", re.IGNORECASE)
_HASH: Final = re.compile(r"'(sha(?:256|384|512))-([A-Za-z0-9+/_\-]+)={0,2}'", re.IGNORECASE)
_METADATA: Final = re.compile(r"(sha(?:256|384|512))-([A-Za-z0-9+/_\-]+)={0,2}", re.IGNORECASE)
_URL: Final = re.compile(
    r"(https?|wss?)://(\[[0-9a-f:.]+\]|[^\x00-\x20/?#@:\[\]]+)(?::([0-9]{1,5}))?(/[^?#]*)?(?:[?#].*)?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Place:
    """The parts of a URL that sources are compared with."""

    scheme: str
    host: str
    port: int
    path: str


def _place(url: str) -> _Place | None:
    """None: no http(s) or WebSocket URL, or not one in the form that browsers give them."""
    matched = _URL.fullmatch(url)
    if matched is None:
        return None
    scheme, host, port, path = matched.groups()
    return _Place(scheme, host.lower(), int(port) if port else _PORTS[scheme], path or "/")


def _segments(path: str) -> tuple[bytes, ...]:
    return tuple(unquote_to_bytes(piece) for piece in path.split("/"))


@dataclass(frozen=True, slots=True)
class _HostSource:
    """`scheme://host:port/path`, without its host."""

    schemes: frozenset[str]
    port: int | None
    """-1: any. None: the scheme's own."""
    path: tuple[bytes, ...]
    prefix: bool
    """The path ends in a slash: it stands for all below."""

    def covers(self, place: _Place, segments: tuple[bytes, ...]) -> bool:
        """Content Security Policy 3, 6.7.2.8, once the hosts agree."""
        if place.scheme not in self.schemes:
            return False
        wanted = _PORTS[place.scheme] if self.port is None else self.port
        if wanted not in (-1, place.port):
            return False
        if not self.path:
            return True
        if self.prefix:
            return len(segments) > len(self.path) and segments[: len(self.path)] == self.path
        return segments == self.path


class _Sources:
    """One directive's list of sources, sorted so that a match takes no walk over all of them."""

    def __init__(self, words: Sequence[str], own: _Place | None) -> None:
        self._own = own
        self._schemes: set[str] = set()
        self._hosts: dict[str, list[_HostSource]] = {}
        self._nonces: set[str] = set()
        self._hashes: set[tuple[str, str]] = set()
        self._keywords: set[str] = set()
        self._all = False
        self._understood = True
        for word in words:
            self._take(word)

    def _take(self, word: str) -> None:
        if word == "*":
            self._all = True
        elif word.startswith("'"):
            self._take_quoted(word)
        elif matched := _SCHEME.fullmatch(word):
            self._schemes |= _stands_for(matched[1].lower())
        elif matched := _HOST.fullmatch(word):
            self._take_host(*matched.groups())

    def _take_quoted(self, word: str) -> None:
        if matched := _NONCE.fullmatch(word):
            self._nonces.add(matched[1])
        elif matched := _HASH.fullmatch(word):
            self._hashes.add((matched[1].lower(), _plain(matched[2])))
        elif word.lower() in _KEYWORDS:
            self._keywords.add(word.lower())
        else:
            self._understood = False

    def _take_host(self, scheme: str | None, host: str, port: str | None, path: str | None) -> None:
        if scheme is None and self._own is None:
            return
        named = scheme or (self._own.scheme if self._own else "")
        pieces = _segments(path) if path else ()
        prefix = bool(pieces) and not pieces[-1]
        number = None if port is None else -1 if port == "*" else int(port)
        source = _HostSource(
            _stands_for(named.lower()), number, pieces[:-1] if prefix else pieces, prefix
        )
        if not _NUMBERS.fullmatch(host) or host == "127.0.0.1":  # as 6.7.2.10 has it
            self._hosts.setdefault(host.lower(), []).append(source)

    def cover(self, url: str) -> bool:
        """Content Security Policy 3, 6.7.2.7."""
        place = _place(url) if self._understood else None
        if place is None:
            return False
        if self._all or place.scheme in self._schemes:
            return True
        if "'self'" in self._keywords and self._is_own(place):
            return True
        if not self._hosts:
            return False
        segments = _segments(place.path)
        return any(
            source.covers(place, segments)
            for host in _patterns(place.host)
            for source in self._hosts.get(host, ())
        )

    def _is_own(self, place: _Place) -> bool:
        own = self._own
        if own is None or place.host != own.host:
            return False
        if (place.scheme, place.port) == (own.scheme, own.port):
            return True
        ports = place.port == own.port or (
            place.port == _PORTS[place.scheme] and own.port == _PORTS[own.scheme]
        )
        safer = place.scheme in ("https", "wss") or (own.scheme, place.scheme) == ("http", "ws")
        return ports and safer

    def admit_nonce(self, nonce: str) -> bool:
        """Content Security Policy 3, 6.7.2.3."""
        return bool(nonce) and self._understood and nonce in self._nonces

    def admit_script(self, url: str, nonce: str, integrity: str) -> bool:
        """Content Security Policy 3, 6.7.1.1, for what a page's markup asks for."""
        if self.admit_nonce(nonce):
            return True
        if self._understood and self._knows_all(integrity):
            return True
        return "'strict-dynamic'" not in self._keywords and self.cover(url)

    def _knows_all(self, integrity: str) -> bool:
        words = integrity.split()
        matches = [_METADATA.fullmatch(word.partition("?")[0]) for word in words]
        return bool(words) and all(
            matched is not None and (matched[1].lower(), _plain(matched[2])) in self._hashes
            for matched in matches
        )

    def admit_inline(self, nonce: str) -> bool:
        """Content Security Policy 3, 6.7.3.3, but that hashes of contents admit nothing here."""
        if self.admit_nonce(nonce):
            return True
        unsafe = "'unsafe-inline'" in self._keywords and self._understood
        return unsafe and not self._nonces and not self._hashes


def _stands_for(scheme: str) -> frozenset[str]:
    return _COVERED.get(scheme, frozenset((scheme,)))


def _plain(digest: str) -> str:
    """Base64 in the one alphabet."""
    return digest.replace("-", "+").replace("_", "/")


def _patterns(host: str) -> Iterable[str]:
    """The host-parts of sources that stand for a host (6.7.2.10)."""
    yield "*"
    yield host
    at = host.find(".")
    while at >= 0:
        yield "*" + host[at:]
        at = host.find(".", at + 1)


class ContentPolicy:
    """One policy that a browser enforces on a page."""

    def __init__(self, text: str, *, origin: str, meta: bool = False) -> None:
        """`text`: one serialized policy. `origin`: of the page. `meta`: it stands in a <meta>."""
        self._directives: dict[str, _Sources] = {}
        self.sandbox: frozenset[str] | None = None
        """What its sandbox allows; None: it has none."""
        self.upgrades = False
        """http addresses become https."""
        self.limits_ancestors = False
        """It says in whose frames the page may be."""
        self._understood = not _CONTROL.search(text) and len(text.split()) <= MAX_SOURCES
        if self._understood:
            self._parse(text, _place(origin + "/"), meta=meta)

    def _parse(self, text: str, own: _Place | None, *, meta: bool) -> None:
        seen: set[str] = set()
        for part in text.split(";"):
            name, *words = part.split() or [""]
            name = name.lower()
            if name in seen or (meta and name in _ONLY_IN_HEADERS):
                continue
            seen.add(name)
            if name in _KNOWN or name == "base-uri":
                self._directives[name] = _Sources(words, own)
            elif name == "sandbox":
                self.sandbox = frozenset(word.lower() for word in words)
            elif "-src" in name:
                self._understood = False
        self.upgrades = "upgrade-insecure-requests" in seen
        self.limits_ancestors = "frame-ancestors" in seen

    def allows(self, url: str, destination: str, *, nonce: str = "", integrity: str = "") -> bool:
        """Whether a page may ask for that URL by its markup or styles, for that destination.

        `nonce`, `integrity`: of the element that asks.
        """
        chains = _GOVERNING.get(destination)
        if not self._understood or chains is None:
            return False
        for chain in chains:
            sources = self._governing(chain)
            if sources is None:
                continue
            if chain is _SCRIPT:
                admitted = sources.admit_script(url, nonce, integrity)
            else:
                admitted = sources.cover(url)
                admitted |= destination == "style" and sources.admit_nonce(nonce)
            if not admitted:
                return False
        return True

    def allows_inline_style(self, *, nonce: str = "", attribute: bool = False) -> bool:
        """Whether a <style> element counts, or a style `attribute`, which has no nonce."""
        own = "style-src-attr" if attribute else "style-src-elem"
        sources = self._governing((own, "style-src", "default-src"))
        if not self._understood:
            return False
        return sources is None or sources.admit_inline("" if attribute else nonce)

    def allows_base(self, url: str) -> bool:
        """Whether a <base> may name that address."""
        sources = self._directives.get("base-uri")
        return self._understood and (sources is None or sources.cover(url))

    def _governing(self, chain: Sequence[str]) -> _Sources | None:
        """Content Security Policy 3, 6.8.3: the first of these that the policy has."""
        return next((self._directives[name] for name in chain if name in self._directives), None)


def header_policies(
    headers: Iterable[tuple[str, str]], *, origin: str
) -> tuple[ContentPolicy, ...]:
    """The policies of a response, but those that only report. `headers`: names in lower case."""
    texts = [
        text
        for name, value in headers
        if name == "content-security-policy"
        for text in value.split(",")
    ]
    return _bounded([ContentPolicy(text, origin=origin) for text in texts[: MAX_POLICIES + 1]])


def with_meta(
    policies: tuple[ContentPolicy, ...], content: str, *, origin: str
) -> tuple[ContentPolicy, ...]:
    """The policies and one of a <meta>, which holds for what follows it."""
    # Here a comma ends no policy by the standard, and one in Chromium: both readings hold.
    texts = [content, *(content.split(",", MAX_POLICIES) if "," in content else ())]
    return _bounded([*policies, *(ContentPolicy(text, origin=origin, meta=True) for text in texts)])


_NOTHING: Final = (ContentPolicy("\x00", origin=""),)
"""Allows nothing."""


def _bounded(policies: Sequence[ContentPolicy]) -> tuple[ContentPolicy, ...]:
    return tuple(policies) if len(policies) <= MAX_POLICIES else _NOTHING
