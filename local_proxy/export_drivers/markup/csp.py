"""Content security policies: the least change under which a page lets our driver in. Pure.

Two things are needed: one script element, and one path to connect to. Pictures need nothing: their
finer levels are asked at their own address with another query, which no policy looks at (Content
Security Policy 3, 6.7.2.8). Must not know: how a page is found, what the driver does.

A policy in a <meta> comes after our script, which runs, but it holds for what the script does
later: `MetaPolicies` finds those that would shut its event channel. What else a page's scripts may
fetch is left as it is: `Connections` tells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from wire.fields import Headers

HEADERS: Final = ("content-security-policy", "content-security-policy-report-only")
DRIVER_PATH: Final = "/.well-known/sluice/driver.js"
CHANNEL_PATH: Final = "/.well-known/sluice/"

_META: Final = re.compile(rb"<meta\s", re.IGNORECASE)
_META_END: Final = re.compile(rb"[<>]")
_META_SIZE: Final = len("<meta ")
_CONTENT: Final = re.compile(rb"\scontent\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_META_SEARCH: Final = 65536
"""Bytes of a page in which a meta policy is looked for; it must stand in the head."""
MAX_POLICIES: Final = 256
"""Of one response's header; a page with more is left alone. Each takes some 5 us to read."""


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A policy that lets the driver in."""

    value: str
    nonce: str | None
    """What the script tag must carry."""


def adjust_csp(value: str, *, origin: str, nonce: str | None = None) -> Adjusted | None:
    """The header's value for a page of `origin` (scheme://host[:port]); None: no way in.

    `nonce`: one that an earlier header has already settled.
    """
    policies = []
    for policy in value.split(","):
        adjusted = _adjust(policy, origin, nonce)
        if adjusted is None:
            return None
        policies.append(adjusted.value)
        nonce = adjusted.nonce
    return Adjusted(",".join(policies), nonce)


def adjust_headers(headers: Headers, *, origin: str) -> tuple[Headers, str | None] | None:
    """All policies of a response, and the nonce for the tag; None: no way in."""
    if sum(value.count(",") + 1 for name, value in headers if name in HEADERS) > MAX_POLICIES:
        return None
    adjusted, nonce = [], None
    for name, value in headers:
        if name == "integrity-policy" and "script" in value:
            return None  # every script would need an integrity attribute
        if name in HEADERS:
            one = adjust_csp(value, origin=origin, nonce=nonce)
            if one is None:
                return None
            value, nonce = one.value, one.nonce  # noqa: PLW2901
        adjusted.append((name, value))
    return adjusted, nonce


class ConnectSources:
    """What the policies of a response's header let a page's scripts fetch, reports included.

    Errs on the side of no: what is not fetched costs bytes, what a policy forbids shows in the
    page's console and its reports.
    """

    def __init__(self, headers: Headers, *, origin: str) -> None:
        """`origin`: of the page."""
        self._origin = origin
        self._lists = [
            governing[2]
            for name, value in headers
            if name in HEADERS
            for policy in value.split(",")
            if (governing := _connecting(policy)) is not None
        ]

    def allow(self, url: str) -> bool:
        """Whether a script of the page may fetch it, a mixed one (of https and http) never."""
        if self._origin.startswith("https:") and not url.startswith("https:"):
            return False
        return all(
            any(_covers(source, url, self._origin) for source in sources) for sources in self._lists
        )


def _connecting(policy: str) -> tuple[str, int, list[str]] | None:
    return _governing(_parsed(policy.split(";")), "connect-src", "default-src")


def _covers(source: str, url: str, origin: str) -> bool:
    """Content Security Policy 3, 6.7.2.8, but for sources with a path, which cover nothing here."""
    source, (scheme, _, rest) = source.lower(), url.lower().partition("://")
    host = rest.partition("/")[0].partition("?")[0]
    if source in ("*", f"{scheme}:"):
        return True
    if source == "'self'":
        return origin.lower() == f"{scheme}://{host}"
    named, separator, place = source.rpartition("://")
    if separator and named != scheme:
        return False
    if not separator and scheme != "https" and scheme != origin.partition(":")[0]:
        return False
    place = place.removesuffix("/")
    return place == host or (place[:2] == "*." and host.endswith(place[1:]))


def _parsed(parts: list[str]) -> dict[str, tuple[int, list[str]]]:
    """Place and sources of each directive; the first of a name holds."""
    directives: dict[str, tuple[int, list[str]]] = {}
    for index, part in enumerate(parts):
        name, *sources = part.split() or [""]
        directives.setdefault(name.lower(), (index, sources))
    return directives


def _adjust(policy: str, origin: str, nonce: str | None) -> Adjusted | None:
    parts = policy.split(";")
    directives = _parsed(parts)
    if not _open_to_scripts(directives, origin):
        return None
    script = _governing(directives, "script-src-elem", "script-src", "default-src")
    if script is not None:
        lowered = [source.lower() for source in script[2]]
        nonces = [s[7:-1] for s in script[2] if s.lower().startswith("'nonce-")]
        nonce = nonce or (nonces[0] if nonces else None)
        if nonce not in nonces or nonce is None:
            if "'strict-dynamic'" in lowered:
                return None  # hosts don't count, and we can't have the nonce
            _admit(parts, script, "script-src-elem", origin, DRIVER_PATH)
    connect = _governing(directives, "connect-src", "default-src")
    if connect is not None:
        _admit(parts, connect, "connect-src", origin, CHANNEL_PATH)
    return Adjusted(";".join(parts), nonce)


def _open_to_scripts(directives: dict[str, tuple[int, list[str]]], origin: str) -> bool:
    if "sandbox" in directives:
        tokens = {token.lower() for token in directives["sandbox"][1]}
        if not {"allow-scripts", "allow-same-origin"} <= tokens:
            return False  # no scripts, or a foreign origin that the event channel refuses
    # Our addresses would become https: another origin than the page's.
    return "upgrade-insecure-requests" not in directives or origin.startswith("https:")


def _governing(
    directives: dict[str, tuple[int, list[str]]], *names: str
) -> tuple[str, int, list[str]] | None:
    """The first directive of these names that the policy has: name, index, sources."""
    return next(((name, *directives[name]) for name in names if name in directives), None)


def _admit(
    parts: list[str], held: tuple[str, int, list[str]], own: str, origin: str, path: str
) -> None:
    """Let one address into a directive, or into a copy of default-src of our own name."""
    name, index, sources = held
    if _admits(sources, origin, path):
        return
    kept = [source for source in sources if source.lower() != "'none'"]
    amended = " ".join([name if name != "default-src" else own, *kept, origin + path])
    if name == "default-src":
        parts.append(" " + amended)
    else:
        lead = " " if parts[index].startswith(" ") else ""
        parts[index] = lead + amended


def _admits(sources: list[str], origin: str, path: str) -> bool:
    scheme, _, host = origin.partition("://")
    known = ("'self'", "*", f"{scheme}:", origin, host, origin + path)
    return any(source.lower() in known for source in sources)


class MetaPolicies:
    """Watches a page's first bytes for meta policies that say what scripts may connect to."""

    def __init__(self, *, origin: str) -> None:
        self._origin = origin
        self._seen = bytearray()
        """What may still be part of a meta tag."""
        self._searched = 0
        """Bytes of it in which no tag begins or, if one has begun, none ends."""
        self._inside = False
        self._left = _META_SEARCH
        self.shut = False
        self.restrict = False
        """One says what scripts may connect to."""

    def feed(self, data: bytes) -> None:
        """The next bytes of the page; looks at each twice at most, and at none behind the head."""
        if self.shut or not self._left:
            return
        data = data[: self._left]
        self._left -= len(data)
        self._seen += data
        while (tag := self._next_tag()) is not None:
            if b"content-security-policy" in tag.lower():
                self.shut |= self._shuts(tag)

    def _next_tag(self) -> bytes | None:
        """The next meta tag that has come whole; None: all that can be read has been."""
        seen = self._seen
        if not self._inside:
            begun = _META.search(seen, self._searched)
            if begun is None:
                del seen[: -(_META_SIZE - 1)]  # of which a tag may still be made
                self._searched = 0
                return None
            del seen[: begun.start()]
            self._inside, self._searched = True, _META_SIZE
        ended = _META_END.search(seen, self._searched)
        if ended is None:
            self._searched = len(seen)
            return None
        tag = bytes(seen[: ended.end()])
        self._inside, self._searched = False, ended.start()
        return tag

    def _shuts(self, tag: bytes) -> bool:
        content = _CONTENT.search(tag)
        if content is None:
            return False
        policy = (content[1] or content[2] or b"").decode("latin-1")
        directives = _parsed(policy.split(";"))
        connect = _governing(directives, "connect-src", "default-src")
        self.restrict |= connect is not None
        directives.pop("sandbox", None)  # ignored in a meta (Content Security Policy 3, 3.3)
        if not _open_to_scripts(directives, self._origin):
            return True
        return connect is not None and not _admits(connect[2], self._origin, CHANNEL_PATH)
