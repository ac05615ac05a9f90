"""Reads by when a client wants its answer (`Sluice-Within`), and says how it came (`Sluice-Level`).

Both fields are items as RFC 8941 defines them (3.3): a number of seconds, and a token with one
parameter. The first is said to this proxy alone and never goes further. It counts for programs that
are no browser, and for navigations; a script in a page could set it, too, and must change by it
neither how its pictures come nor what its browser keeps.

Pure. Must not know: what the answer is, the link.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from local_proxy.http.model import WITHIN, Request, directives
from local_proxy.requests.intent import is_navigation
from wire.fields import header, without

LEVEL: Final = "sluice-level"
LEAST: Final = 0.1
"""Seconds: sooner than this few links can answer at all."""
MOST: Final = 3600.0
"""Seconds, as a plan may give a document (policies/api/plan.py)."""
_NUMBER: Final = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,3})?")
"""An Integer or Decimal without sign (RFC 8941, 3.3.1 and 3.3.2)."""
_ENGINES: Final = ("Gecko", "Chrome/")
"""Each browser whose pages have scripts names one of them in its User-Agent. Pages over http send
no Sec-Fetch fields, and may leave the Referer out."""


class BadTime(ValueError):
    """The time that a client wants is none, or out of range."""


def seconds_of(values: list[str]) -> float:
    """The one number that a field says. Raises BadTime, which says what is allowed."""
    if len(values) == 1 and _NUMBER.fullmatch(values[0]):
        seconds = float(values[0])
        if LEAST <= seconds <= MOST:
            return seconds
    raise BadTime(
        f"Sluice-Within must be given once and be a number of seconds from {LEAST:g} to {MOST:g}, "
        "with at most three decimals, such as 5 or 2.5."
    )


def is_plain(request: Request, *, from_page: bool) -> bool:
    """Whether no browser has made it. `from_page`: its Referer is an open page."""
    agent = header(request.headers, "user-agent")
    return not from_page and not (
        any(name == "origin" or name.startswith("sec-fetch-") for name, _ in request.headers)
        or any(engine in agent for engine in _ENGINES)
    )


def read(request: Request, *, from_page: bool, now: float) -> Request:
    """The request without the field, and with what it says where it counts. Raises BadTime.

    `from_page` as in `is_plain`; `now`: when it came, on the loop's clock.
    """
    said = [value.strip(" \t") for name, value in request.headers if name == WITHIN]
    if not said:
        return request
    bare = replace(request, headers=without(request.headers, (WITHIN,)), within=None, due=None)
    if not (is_navigation(request) or is_plain(request, from_page=from_page)):
        return bare
    within = seconds_of(said)
    return replace(bare, within=within, due=now + within)


def time_of_answer(request: Request) -> float | None:
    """By when a program that is no browser wants this, on the loop's clock; None: it does not
    say."""
    return None if is_navigation(request) else request.due


def takes_level(request: Request) -> bool:
    """Whether a picture may be answered by one of its levels, so as to be in time."""
    return (
        time_of_answer(request) is not None
        and request.method == "GET"
        and not request.original
        and not header(request.headers, "range")
        and "no-transform" not in directives(request.headers)
    )


def takes_type(request: Request, content_type: str) -> bool:
    """Whether the client's Accept names this media type, or any (RFC 9110, 12.5.1)."""
    accept = header(request.headers, "accept").lower()
    named = [one.partition(";") for one in accept.split(",")]
    ranges = {name.strip() for name, _, weight in named if not _refuses(weight)}
    kind = content_type.partition("/")[0]
    return not accept.strip() or not ranges.isdisjoint((content_type, f"{kind}/*", "*/*"))


def _refuses(parameters: str) -> bool:
    return re.search(r"(?:^|[;\s])q\s*=\s*0(?:\.0*)?\s*(?:;|$)", parameters) is not None


def told(level: str, *, late: float) -> tuple[str, str]:
    """The field that says which level an answer is, and by how many seconds it is `late`."""
    seconds = f"{max(0.0, late):.2f}"
    return LEVEL, f"{level}; late={'0' if seconds == '0.00' else seconds}"
