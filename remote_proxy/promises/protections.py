"""Reads a page's own protections: what may not be fetched before the browser asks.

A page may tell its browser what not to fetch: by policies, a sandbox, integrity. Whoever fetches on
the browser's behalf has to heed the same, and where it isn't plain what the browser would do, not
to fetch. Must not know: how a request is made (prefetch.py), where finds come from. Pure.

Sources: Content Security Policy 3 (web/content_security.py), HTML (sandboxing, navigation of
frames), Upgrade Insecure Requests, Integrity-Policy (SRI 2), Fetch (CORP, X-Frame-Options), COEP;
Chromium 156 and Firefox 140 were asked where they differ.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import Final

from remote_proxy.import_drivers.found import Found
from remote_proxy.import_drivers.urls import origin
from web.content_security import ContentPolicy, header_policies
from wire.fields import Fields
from wire.skeleton import Kind, Use

MAX_DEPTH: Final = 4
"""Frames within frames whose documents are fetched unasked; a browser asks for deeper ones."""

_BY_KIND: Final = {
    Kind.STYLE: "style",
    Kind.SCRIPT: "script",
    Kind.IMAGE: "image",
    Kind.FONT: "font",
    Kind.MEDIA: "video",
}
_METADATA: Final = re.compile(r"(sha256|sha384|sha512)-([A-Za-z0-9+/_\-]+={0,2})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Embedding:
    """Where a frame's document stands. A page in a window of its own has no ancestors."""

    ancestors: tuple[str, ...] = ()
    """URLs of the documents around it, the outermost first."""
    sandbox: frozenset[str] | None = None
    """What the sandboxes around it allow; None: there is none."""
    upgrades: bool = False
    """A document around it has its http addresses made https."""
    isolated: bool = False
    """A document around it takes only what says that it may be taken (COEP)."""

    def stricter(self, other: Embedding) -> Embedding:
        """One that forbids what either forbids, for a document found in two places."""
        return Embedding(
            max(self.ancestors, other.ancestors, key=len),
            _both(self.sandbox, other.sandbox),
            self.upgrades or other.upgrades,
            self.isolated or other.isolated,
        )


TOP: Final = Embedding()


def destination(found: Found) -> str:
    """The request's destination (Fetch, 2.2.5), "empty" where it has none."""
    if found.terms.destination:
        return found.terms.destination
    return "iframe" if found.use is Use.DOCUMENT else _BY_KIND.get(found.kind, "empty")


class Protections:
    """The protections of one document."""

    def __init__(self, url: str, headers: Fields, embedding: Embedding = TOP) -> None:
        """`headers`: of its response."""
        self._url = url
        self._headers = headers
        self._embedding = embedding
        self.policies = header_policies(headers, origin=origin(url))
        """Of the response; those of <meta> elements are with each find."""
        sandbox = embedding.sandbox
        for policy in self.policies:
            sandbox = _both(sandbox, policy.sandbox)
        self._sandbox = sandbox
        self._isolated = embedding.isolated or bool(
            _value(headers, "cross-origin-embedder-policy") not in ("", "unsafe-none")
        )
        self._wants_integrity = any(name == "integrity-policy" for name, _ in headers)

    @property
    def opaque(self) -> bool:
        """Whether its origin is no other's; cookies, referrers and CORS then differ by browser."""
        return self._sandbox is not None and "allow-same-origin" not in self._sandbox

    def forbid(self, found: Found) -> bool:
        """Whether the browser would not fetch it, or not so."""
        if self.opaque or self._upgraded(found) or self._recursive(found):
            return True
        scripts = self._sandbox is None or "allow-scripts" in self._sandbox
        to, terms = destination(found), found.terms
        if to == "script" and not scripts:
            return True
        named = found.cors and _METADATA.search(terms.integrity)
        if self._wants_integrity and to in ("script", "style") and not named:
            return True
        return not all(
            policy.allows(found.url, to, nonce=terms.nonce, integrity=terms.integrity)
            for policy in (*self.policies, *terms.metas)
        )

    def _upgraded(self, found: Found) -> bool:
        """Whether it is asked for under another address, with TLS."""
        return found.url.startswith("http:") and self._upgrades(found.terms.metas)

    def _upgrades(self, metas: tuple[ContentPolicy, ...]) -> bool:
        return self._embedding.upgrades or any(
            policy.upgrades for policy in (*self.policies, *metas)
        )

    def _recursive(self, found: Found) -> bool:
        """Whether it is a frame within itself, which no browser loads, or too deep."""
        if found.use is not Use.DOCUMENT:
            return False
        around = (*self._embedding.ancestors, self._url)
        return len(around) > MAX_DEPTH or found.url in {url.partition("#")[0] for url in around}

    def embedding_of(self, found: Found) -> Embedding:
        """Where a frame's document will stand."""
        return Embedding(
            (*self._embedding.ancestors, self._url),
            _both(self._sandbox, found.terms.sandbox),
            self._upgrades(found.terms.metas),
            self._isolated,
        )

    def takes_effect(self, found: Found, headers: Fields) -> bool:
        """Whether a style sheet, or a module, with these response headers does, by these."""
        if not found.terms.applies or origin(found.url) == origin(self._url):
            return found.terms.applies
        if found.cors:
            allowed = _value(headers, "access-control-allow-origin")
            return allowed in ("*", origin(self._url)) and not found.terms.credentials
        resource = _value(headers, "cross-origin-resource-policy")
        return resource == "cross-origin" or (not resource and not self._isolated)


def shown(headers: Fields, embedding: Embedding) -> bool:
    """Whether a browser shows a document with these response headers, and does not save it."""
    disposition = _value(headers, "content-disposition").partition(";")[0].strip()
    if disposition not in ("", "inline"):
        return False
    if not embedding.ancestors:
        return True
    if embedding.isolated or _value(headers, "x-frame-options"):
        return False
    return not any(policy.limits_ancestors for policy in header_policies(headers, origin=""))


class Integrity:
    """Tells of bytes, as they come, whether they are those that `integrity` names (SRI, 3.3)."""

    def __init__(self, metadata: str) -> None:
        found = [
            (matched[1].lower(), matched[2])
            for word in metadata.split()
            if (matched := _METADATA.fullmatch(word.partition("?")[0]))
        ]
        self._vain = bool(metadata.strip()) and not found
        strongest = max((name for name, _ in found), default="")
        self._wanted = {_plain(digest) for name, digest in found if name == strongest}
        self._hash = hashlib.new(strongest) if strongest else None

    @property
    def open(self) -> bool:
        """There is something to wait for."""
        return self._hash is not None or self._vain

    def feed(self, data: bytes) -> None:
        if self._hash is not None:
            self._hash.update(data)

    def holds(self) -> bool:
        """All bytes are here: they are the right ones. What names no known hash is not trusted."""
        if self._hash is None:
            return not self._vain
        return _plain(base64.b64encode(self._hash.digest()).decode()) in self._wanted


def _plain(digest: str) -> str:
    return digest.rstrip("=").replace("-", "+").replace("_", "/")


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """What two sandboxes allow; None is no sandbox."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _value(headers: Fields, name: str) -> str:
    """A field's value in lower case, repeated ones joined, which then are none that is known."""
    return ",".join(value.strip().lower() for key, value in headers if key == name)
