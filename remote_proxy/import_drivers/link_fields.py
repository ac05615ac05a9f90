"""Reads Link fields of a response as the <link> elements that would say the same to a browser.

Of their relations only `preload` and `modulepreload` make browsers fetch what a page needs. Pure.
Sources: RFC 8288, 3 and appendix B; HTML, 4.6.7.1 (processing Link headers), for which a link with
an anchor is of another document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from wire.fields import Fields

MAX_LINKS: Final = 100
"""Of one response."""
MAX_LENGTH: Final = 32 << 10
"""Characters of its Link fields that are looked at."""
_TARGET: Final = re.compile(r"[\s,]*<([^>]*)>")
_PARAMETER: Final = re.compile(
    r"\s*;\s*([^\s=;,]+)(?:\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;,\"]*)))?"
)
_ESCAPED: Final = re.compile(r"\\(.)")
_EMPTY: Final = re.compile(r"\s*;(?=\s*[;,]|\s*\Z)")
_EARLY: Final = frozenset(("preload", "modulepreload"))


def early_links(headers: Fields) -> list[dict[str, str]]:
    """Attributes of each <link> that the fields stand for, in their order; none of bad syntax."""
    text = ",".join(value for name, value in headers if name == "link")[:MAX_LENGTH]
    found = []
    for target, parameters in _links(text):
        early = [one for one in parameters.get("rel", "").lower().split() if one in _EARLY]
        if "anchor" in parameters or not early:
            continue
        found.append({**parameters, "rel": early[0], "href": target})
        if len(found) == MAX_LINKS:
            break
    return found


def _links(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    at = 0
    while (target := _TARGET.match(text, at)) is not None:
        at = target.end()
        parameters: dict[str, str] = {}
        while True:
            empty = _EMPTY.match(text, at)
            if empty is not None:
                at = empty.end()
                continue
            one = _PARAMETER.match(text, at)
            if one is None:
                break
            at = one.end()
            value = one[3] or "" if one[2] is None else _ESCAPED.sub(r"\1", one[2])
            parameters.setdefault(one[1].lower(), value)  # the first of each counts
        yield target[1].strip(), parameters
        rest = text[at:].lstrip()
        if rest and not rest.startswith(","):
            return  # nobody can say where the next one begins
