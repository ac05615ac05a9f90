"""Chooses which of a response's header fields go over the link, and reads what they allow. Pure."""

from __future__ import annotations

from typing import Final

from web.caching.fields import CacheControl
from wire.fields import MAX_RESPONSE, Headers, header, size

UNTOLD: Final = frozenset(("alt-svc",))
"""Fields that stay here: another way to the origin (HTTP/3, RFC 7838) would lead past the proxies,
over the slow link and unadapted."""


def told(headers: Headers) -> Headers:
    """The fields that the device is to know."""
    return [(name, value) for name, value in headers if name not in UNTOLD]


def fits(headers: Headers) -> bool:
    """Whether they can cross the link."""
    return size(headers) <= MAX_RESPONSE


def keepable(headers: Headers) -> bool:
    """Whether a browser may use it again, at once or once it has asked (RFC 9111, 3 and 4).

    Not, where it may not be stored or each visit would ask for all of it anew.
    """
    if not storable(headers) or header(headers, "vary").strip() == "*":
        return False
    return "max-age" in CacheControl.of(headers) or any(
        header(headers, name) for name in ("etag", "last-modified", "expires")
    )


def storable(headers: Headers) -> bool:
    """Whether it may be given to anybody once more."""
    return "no-store" not in CacheControl.of(headers)


def no_transform(headers: Headers) -> bool:
    """Other pixels would be a transformation, link coding is none (RFC 9111, 5.2.1.6, 5.2.2.6)."""
    return "no-transform" in CacheControl.of(headers)


def with_credentials(asked: Headers, answered: Headers) -> bool:
    """Whether an answer may be one person's own: asked for with credentials, or said to be."""
    return (
        any(header(asked, name) for name in ("cookie", "authorization"))
        or bool(header(answered, "set-cookie"))
        or "private" in CacheControl.of(answered)
    )
