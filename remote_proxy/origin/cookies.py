"""The Cookie field that a browser will send next, where that can be foretold.

There is no cookie jar on this side: the browser keeps the only one. After a document without
Set-Cookie its parts carry the document's cookies. After one with Set-Cookie the new field follows
by the rules of RFC 6265bis 5.7, if each cookie is a plain one; else nothing is prefetched. A wrong
guess wastes a prefetch: the local proxy compares the field before it uses the promise.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final

from remote_proxy.import_drivers.urls import split
from wire.fields import Fields

_MAX_SET: Final = 50
"""Set-Cookie fields of one response that are followed."""


def cookie_after(document_url: str, request: Fields, response: Fields, url: str) -> str | None:
    """The Cookie field for a request to the document's origin; None: it cannot be known.

    `request`, `response`: headers of the document, names in lower case.
    """
    sent = "; ".join(value for name, value in request if name == "cookie")
    lines = tuple(value for name, value in response if name == "set-cookie")
    if not lines:
        return sent
    if len(lines) > _MAX_SET:
        return None
    date = next((value for name, value in response if name == "date"), "")
    return _foretold(sent, lines, date, document_url, url.startswith("https:"))


@lru_cache(maxsize=32)
def _foretold(
    sent: str, lines: tuple[str, ...], date: str, document_url: str, secure: bool
) -> str | None:
    """The same for all parts of a document: what was sent may be long, and there may be many."""
    pairs = [pair.partition("=") for pair in sent.split(";") if pair.strip()]
    jar = {name.strip(): value for name, _, value in pairs}
    if len(jar) < len(pairs):
        return None
    for line in lines:
        outcome = _apply(line, date, document_url, secure=secure)
        if outcome is None:
            return None
        name, value, sets = outcome
        if sets:
            jar[name] = value
        else:
            jar.pop(name, None)
    return "; ".join(f"{name}={value}" for name, value in jar.items())


def _apply(
    line: str, date: str, document_url: str, *, secure: bool
) -> tuple[str, str, bool] | None:
    """Name, value and whether it is set (or removed); None: more than is foretold here.

    Only cookies of the whole host: with a narrower path, or a domain, two of one name may exist.
    """
    pair, *attributes = line.split(";")
    name, equals, value = pair.partition("=")
    name, value = name.strip(), value.strip()
    if not equals or not name:
        return None
    fields = {
        key.strip().lower(): text.strip()
        for key, _, text in (attribute.partition("=") for attribute in attributes)
    }
    if fields.get("domain") or "partitioned" in fields:
        return None
    path = fields.get("path", "")
    if (path or _default_path(document_url)) != "/":
        return None
    if ("secure" in fields or name.startswith("__")) and not secure:
        return None
    sets = _lives(fields, date)
    return None if sets is None else (name, value, sets)


def _default_path(url: str) -> str:
    """RFC 6265bis, 5.1.4."""
    return split(url)[2].rpartition("/")[0] or "/"


def _lives(fields: dict[str, str], date: str) -> bool | None:
    """Whether the cookie is kept, by the origin's own clock; None: it cannot be told."""
    try:
        if "max-age" in fields:
            return int(fields["max-age"]) > 0
        if "expires" not in fields:
            return True
        return parsedate_to_datetime(fields["expires"]) > parsedate_to_datetime(date)
    except (ValueError, TypeError, OverflowError):
        return None
