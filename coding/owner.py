"""Whose a text is: one may be coded only against another of the same owner. Pure.

The length of what is coded against another text tells how alike the two are. So the two must be of
one origin, asked for with the same credentials, and, on the device, by one browser under one
top-level site: nobody learns by it what somebody else was sent. Sources: RFC 9842, 9.1 and 9.3;
Fetch, 2.9 (network partition keys); RFC 6265, 5.4.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from web.sites import origin_of
from wire.fields import Headers

MEASURING: Final = (
    *("_ga", "_gid", "_gat", "_gcl_", "__utm", "_fbp", "_fbc", "_hj", "_pk_", "_clck", "_clsk"),
    *(
        "_uetsid",
        "_uetvid",
        "_dc_gtm_",
        "_parsely_",
        "_cb",
        "_chartbeat",
        "__gads",
        "__gpi",
        "AMP_",
    ),
)
"""Beginnings of the names of cookies that scripts which count visitors set, many of them anew for
each page. They say who somebody is to those scripts, not what the site shows him."""


@dataclass(frozen=True, slots=True)
class TextOwner:
    """Two texts with equal ones were sent to the same person by the same server."""

    origin: str
    """scheme://host[:port]."""
    credentials: bytes = b""
    """Stands for the cookies and the authorization that it was asked for with; b"": none."""
    place: tuple[str, str] = ("", "")
    """On the device: the browser, and the site in the address bar."""


def owner_of(url: str, asked: Headers, *, place: tuple[str, str] = ("", "")) -> TextOwner:
    """The owner of the answer to a request with these fields, names in lower case."""
    return TextOwner(origin_of(url), credentials_of(asked), place)


def credentials_of(asked: Headers) -> bytes:
    """What stands for the credentials of a request: 32 bytes, or none.

    Cookies in whatever order, without those that count visitors.
    """
    cookies = sorted(
        cookie
        for name, value in asked
        if name == "cookie"
        for cookie in (one.strip() for one in value.split(";"))
        if cookie and not cookie.startswith(MEASURING)
    )
    authorization = [value for name, value in asked if name == "authorization"]
    if not cookies and not authorization:
        return b""
    said = hashlib.sha256()
    for part in (*authorization, "", *cookies):
        data = part.encode("utf-8", "surrogateescape")
        said.update(len(data).to_bytes(4, "big") + data)
    return said.digest()
