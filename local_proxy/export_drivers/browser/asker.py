"""Tells with what authority a picture was asked for, and who may have more of it by that.

A page's scripts can see the addresses of finer levels (Resource Timing, style rules), so these
unlock nothing by themselves. A level, and a picture to be kept, is given only where the page could
not learn more from it than from what its browser was given first. Sources: Fetch, 4.8 (CORS check)
and 3.2 (opaque responses, which a page may show and not read).

Pure. Must not know: pages, levels, how a picture is delivered.
"""

from __future__ import annotations

from dataclasses import dataclass

from local_proxy.http.model import Request
from wire.fields import header


@dataclass(frozen=True, slots=True)
class Asker:
    """The fields of a request by which an origin may decide what it answers."""

    cookie: str = ""
    origin: str = ""
    """Set where the page asked in CORS mode: the answer may be readable by it."""
    authorization: str = ""

    @classmethod
    def of(cls, request: Request) -> Asker:
        """Read them off a request; HTTP/2 may have cut `cookie` (RFC 9113, 8.2.3)."""
        crumbs = (value.strip() for name, value in request.headers if name == "cookie")
        return cls(
            cookie="; ".join(crumbs),
            origin=header(request.headers, "origin"),
            authorization=header(request.headers, "authorization"),
        )

    def may_see(self, request: Request, *, own: bool) -> bool:
        """Whether a level of what this asker was given may answer `request`, which shows it.

        `own`: the picture is of the page's own origin, whose scripts may read it as they like; a
        cookie that has changed since the page began (counters of visits do) is no reason to bring
        the same picture again. Else the cookies must be the same, unless the page asked in CORS
        mode before, without cookies, and now without CORS: then it is shown what it could read.
        """
        asks = Asker.of(request)
        if asks.authorization != self.authorization or asks.origin not in ("", self.origin):
            return False
        return own or asks.cookie == self.cookie or bool(self.origin and not asks.origin)

    def may_keep(self, request: Request, *, own: bool, varies: bool) -> bool:
        """Whether a browser may put into its cache, as the answer to `request`, what this asker
        was given. `varies`: the origin says that it answers by cookie."""
        asks = Asker.of(request)
        if asks.authorization != self.authorization:
            return False
        if own:  # a script's CORS request within the origin carries no `Origin`
            return asks.origin in ("", self.origin) and (asks.cookie == self.cookie or not varies)
        return asks == self


def shows(request: Request) -> bool:
    """Whether a browser asks this to draw a picture, as far as it says."""
    return (
        request.method == "GET"
        and header(request.headers, "accept").lower().startswith("image/")
        and header(request.headers, "sec-fetch-dest", "image") == "image"
        and not header(request.headers, "range")
    )
