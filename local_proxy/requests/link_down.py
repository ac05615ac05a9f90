"""Serves the page that browsers get while there is no link; it reloads itself once one is back.

Without a script, because the site that it stands for would be asked for it. Requests that are not
navigations get a line of text. Pure.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from local_proxy.http.model import Request, Response
from web.templates import template
from wire.fields import header

RETRY: Final = 5
"""Seconds between two attempts. Nothing crosses the link for one."""

_PAGE: Final = template(__package__, "link_down.html")


class _Words(NamedTuple):
    """Holds what the page says. REMOTE: the remote proxy's address."""

    heading: str
    why: str
    hints: tuple[str, ...]


_UPDATED: Final = ("Nothing is wrong with the line, and the pairing stays as it is.",)
_WORDS: Final = {
    "": _Words(
        "The link is down",
        "This device can’t reach its remote proxy",
        (
            "Is this device online? Check the modem, the antenna or the Wi-Fi.",
            "Is the remote proxy running? Its address is REMOTE.",
        ),
    ),
    "device": _Words(
        "Update Sluice on this device",
        "The remote proxy, REMOTE, runs a newer version of Sluice than this device",
        _UPDATED,
    ),
    "remote": _Words(
        "Update Sluice on the machine of the remote proxy",
        "The remote proxy, REMOTE, runs an older version of Sluice than this device",
        _UPDATED,
    ),
}


def link_down(
    request: Request,
    *,
    remote: str,
    reason: str,
    seconds: float | None = None,
    update: str = "",
    retry: int = RETRY,
) -> Response:
    """A 504 for this request. `seconds`: for how long the link has been down, if it ever was up.

    `update`: the end that is too old for the other, "device" or "remote"; "": neither is.
    Only a GET is loaded again: repeating anything else is for people to decide.
    """
    headers = [
        ("cache-control", "no-store"),
        ("retry-after", str(retry)),
        ("x-content-type-options", "nosniff"),
    ]
    if request.method != "GET" or "text/html" not in header(request.headers, "accept"):
        text = f"The link to the remote proxy {remote} is down: {reason}\n"
        kind = ("content-type", "text/plain; charset=utf-8")
        return Response(504, [kind, *headers], text.encode())
    words = _WORDS[update]
    page = _PAGE.render(
        heading=words.heading,
        why=words.why.replace("REMOTE", remote),
        hints=[hint.replace("REMOTE", remote) for hint in words.hints],
        retry=retry,
        host=urlsplit(request.url).netloc or request.url,
        reason=reason or "nothing",
        since="" if seconds is None else f"The link broke {_ago(seconds)} ago.",
    )
    policy = (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
    )
    kind = ("content-type", "text/html; charset=utf-8")
    return Response(504, [kind, policy, *headers], page.encode())


def _ago(seconds: float) -> str:
    for unit, size in (("hour", 3600), ("minute", 60)):
        count = round(seconds / size)
        if seconds >= size:
            return f"{count} {unit}{'s' if count != 1 else ''}"
    count = max(round(seconds), 1)
    return f"{count} second{'s' if count != 1 else ''}"
