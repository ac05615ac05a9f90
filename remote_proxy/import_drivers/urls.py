"""Relative URLs to absolute ones, byte for byte as a browser would ask for them.

A promise is met by comparing URLs, so what `urllib.parse.urljoin` leaves or drops (an empty query,
a backslash, an unescaped space, a query in the page's charset) would cost the promise. Source: the
WHATWG URL standard, section 4.4, for http and https only.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

MAX_URL: Final = 8192
"""Bytes; longer ones are not worth promising (wire.messages.MAX_URL)."""

_TRIM: Final = "".join(map(chr, range(0x21)))
_REMOVED: Final = re.compile(r"[\t\n\r]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*(?=:)")
_PORTS: Final = {"http": "80", "https": "443"}
_PRINTABLE: Final = bytes(range(0x21, 0x7F))
_QUERY_KEEP: Final = _PRINTABLE.translate(None, b"\"#<>'")
_PATH_KEEP: Final = _PRINTABLE.translate(None, b'"#<>?`{}^')
_HOST_BAD: Final = re.compile(r"[\x00-\x20#/:<>?@\[\\\]^|%\x7f]")


def resolve(base: str, reference: str, *, encoding: str = "utf-8") -> str | None:
    """The absolute http(s) URL without fragment, or None if there is nothing to ask for.

    `base` is absolute. `encoding`: the document's, for what is not ASCII in the query.
    """
    if "<" in reference and _REMOVED.search(reference):
        return None  # Dangling markup (Fetch, 4.1), which Chromium does not ask for.
    text = reference.strip(_TRIM)
    if not text or text.startswith("#") or len(text) > MAX_URL:
        return None
    text = text.partition("#")[0].translate({9: None, 10: None, 13: None})
    base_scheme, base_authority, base_path, base_query = split(base)
    scheme = base_scheme
    matched = _SCHEME.match(text)
    if matched:
        scheme = matched[0].lower()
        if scheme not in _PORTS:
            return None
        text = text[matched.end() + 1 :]
    path, mark, query = text.partition("?")
    path = path.replace("\\", "/")
    authority: str | None = base_authority
    resolved = False
    if path.startswith("//") or (matched and scheme != base_scheme):
        authority, _, rest = path.lstrip("/").partition("/")
        authority = _authority(scheme, authority)
        path = "/" + rest
    elif not path.startswith("/"):
        if not path and not mark:
            mark, query = ("?", base_query) if base_query is not None else ("", "")
            return _whole(scheme, authority, base_path, mark + query)
        path = _under(_directory(base_path), path) if path else _clean(base_path)
        resolved = True
    if not authority:
        return None
    if mark:
        mark += _encode(query, _QUERY_KEEP, encoding)
    return _whole(scheme, authority, path if resolved else _under("/", path[1:]), mark)


def origin(url: str) -> str:
    """scheme://host[:port] of a URL as `resolve` makes them."""
    scheme, authority, _, _ = split(url)
    return f"{scheme}://{authority}"


@lru_cache(maxsize=64)
def split(url: str) -> tuple[str, str, str, str | None]:
    """Scheme, normalised authority, path and query (None: no `?`) of an absolute URL."""
    scheme, _, rest = url.partition("#")[0].partition("://")
    rest, mark, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    scheme = scheme.lower()
    return scheme, _authority(scheme, authority) or "", "/" + path, query if mark else None


def _whole(scheme: str, authority: str | None, path: str, query: str) -> str | None:
    url = f"{scheme}://{authority}{path}{query}"
    return url if len(url) <= MAX_URL else None


def _authority(scheme: str, text: str) -> str | None:
    """host[:port], normalised. Credentials in a URL are dropped: they are never promised."""
    host, colon, port = text.rpartition("@")[2].rpartition(":")
    if not colon or (port and not port.isdecimal()):
        host, port = text.rpartition("@")[2], ""
    if host.startswith("[") and host.endswith("]"):
        host = host.lower()
    else:
        try:
            host = host.lower() if host.isascii() else host.lower().encode("idna").decode()
        except UnicodeError:
            return None
        if not host or _HOST_BAD.search(host):
            return None
    if port and (not port.isascii() or int(port[:8]) > 65535):
        return None
    port = str(int(port)) if port else ""
    return f"{host}:{port}" if port and port != _PORTS.get(scheme) else host


def _encode(text: str, keep: bytes, encoding: str) -> str:
    if text.isascii() and not text.encode().translate(None, keep):
        return text
    if encoding == "utf-8" or encoding.startswith("utf-16"):
        data = text.encode("utf-8", "replace")
    else:
        data = text.encode(encoding, "xmlcharrefreplace")
    return "".join(chr(byte) if byte in keep else f"%{byte:02X}" for byte in data)


@lru_cache(maxsize=64)
def _clean(path: str) -> str:
    """A whole path, as it is asked for."""
    return _under("/", path[1:])


@lru_cache(maxsize=64)
def _directory(path: str) -> str:
    """The directory of a whole path: of a page's, which may be long and is needed for each
    reference."""
    return _clean(path.rpartition("/")[0] + "/")


def _under(directory: str, path: str) -> str:
    """`path` in a directory, without `.` and `..` segments, which may be written %2e."""
    path = _encode(path, _PATH_KEEP, "utf-8")
    if not path.startswith(".") and "/." not in path and "%2" not in path:
        return directory + path
    out: list[str] = []
    segments = path.split("/")
    for at, segment in enumerate(segments):
        plain = segment.lower().replace("%2e", ".")
        last = at == len(segments) - 1
        if plain == "..":
            if out:
                out.pop()
            else:
                directory = directory[: directory.rfind("/", 0, -1) + 1] or "/"
        elif plain != ".":
            out.append(segment)
            continue
        if last:
            out.append("")
    return directory + "/".join(out)
