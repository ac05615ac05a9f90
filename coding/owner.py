"""Whose a text is: one may be coded only against another of the same owner. Pure.

The length of what is coded against another text tells how alike the two are. So the two must be of
one origin, asked for with the same credentials, and, on the device, by one browser under one
top-level site: nobody learns by it what somebody else was sent. Sources: RFC 9842, 9.1 and 9.3;
Fetch, 2.9 (network partition keys); RFC 6265, 5.4.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from web.request_fields import unusual
from web.sites import origin_of
from wire.fields import Headers

MEASURING: Final = re.compile(
    r"_ga|_ga_[A-Z0-9]{4,16}|_gid|_gat|_gat_UA-\d+-\d+|_gcl_(au|aw|dc|gb)|__utm[abctvz]|_fb[pc]"
    r"|_hjSession(User)?_\d+|_pk_(id|ses|ref)\.\d+\.[0-9a-f]+|_cl(ck|sk)|_uet[sv]id"
    r"|_cb|_cb_(ls|svref)|_chartbeat\d|__gads|__gpi"
)
"""Names, whole, of cookies that scripts which count visitors set, many of them anew for each page.
They say who somebody is to those scripts, not what the site shows him."""


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

    Cookies in whatever order, without those that count visitors, and all unusual fields.
    """
    cookies = sorted(
        cookie
        for name, value in asked
        if name == "cookie"
        for cookie in (one.strip() for one in value.split(";"))
        if cookie and not MEASURING.fullmatch(cookie.partition("=")[0])
    )
    tokens = unusual(asked)  # perhaps
    others = sorted(f"{name}: {value}" for name, value in asked if name in tokens)
    if not cookies and not others:
        return b""
    said = hashlib.sha256()
    for part in (*others, "", *cookies):
        data = part.encode("utf-8", "surrogateescape")
        said.update(len(data).to_bytes(4, "big") + data)
    return said.digest()
