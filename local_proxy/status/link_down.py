"""What a browser is told while there is no link: a page that reloads itself once it is back.

Without a script, because the site that it stands for would be asked for it. Requests that are not
navigations get a line of text. Pure.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template
from typing import Final
from urllib.parse import urlsplit

from local_proxy.http import Request, Response, header

RETRY: Final = 5
"""Seconds between two attempts. Nothing crosses the link for one."""

_PAGE: Final = Template(files(__package__).joinpath("link_down.html").read_text("utf-8"))


def link_down(
    request: Request, *, remote: str, reason: str, seconds: float | None = None, retry: int = RETRY
) -> Response:
    """A 504 for this request. `seconds`: for how long the link has been down, if it ever was up.

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
    page = _PAGE.substitute(
        retry=retry,
        host=escape(urlsplit(request.url).netloc or request.url),
        remote=escape(remote),
        reason=escape(reason or "nothing"),
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
