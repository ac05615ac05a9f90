"""Which picture a browser takes of those that `srcset`, `sizes` and image-set() offer.

Sources: WHATWG HTML 4.8.4.2, which leaves the choice to browsers; what Chromium 156 was seen to
take, and Firefox takes (ResponsiveImageSelector). Neither looks at which of two is nearer.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from remote_proxy.import_drivers.found import BrowserTraits
from remote_proxy.import_drivers.media import source_size

MAX_CANDIDATES: Final = 200
"""Of one srcset; a browser takes more, a page never offers more."""

_SPACE: Final = " \t\n\f\r"
_DESCRIPTOR: Final = re.compile(r"(-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)([wxh])")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One picture on offer; without a width, `density` says how fine it is."""

    url: str
    density: float = 1.0
    width: int | None = None
    """Its real pixels across, from a `w` descriptor."""


def choose(src: str, srcset: str, sizes: str, browser: BrowserTraits) -> str:
    """The URL as written, or empty when there is none."""
    offered = parse_srcset(srcset)
    if any(one.width is not None for one in offered):
        across = source_size(sizes, browser)
        offered = [_with_density(one, across) for one in offered]
    elif src.strip(_SPACE):
        offered.append(Candidate(src))
    return pick(offered, browser.dpr) or src


def pick(offered: list[Candidate], dpr: float) -> str:
    """The URL that Chromium and Firefox take at that density: the least that is fine enough, or
    else the finest; the first of equals."""
    by_density: dict[float, Candidate] = {}
    for one in offered:
        by_density.setdefault(one.density, one)
    enough = [density for density in by_density if density >= dpr]
    if enough:
        return by_density[min(enough)].url
    return by_density[max(by_density)].url if by_density else ""


def parse_srcset(text: str) -> list[Candidate]:
    """The valid candidates of a srcset attribute, in order."""
    offered: list[Candidate] = []
    at = 0
    while at < len(text) and len(offered) < MAX_CANDIDATES:
        while at < len(text) and text[at] in _SPACE + ",":
            at += 1
        start = at
        while at < len(text) and text[at] not in _SPACE:
            at += 1
        url = text[start:at]
        if not url:
            break
        if url.endswith(","):
            url, descriptors = url.rstrip(","), ""
        else:
            start, at = at, _end_of_descriptors(text, at)
            descriptors = text[start:at]
        candidate = _candidate(url, descriptors.split())
        if candidate is not None:
            offered.append(candidate)
    return offered


def _end_of_descriptors(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        if text[at] == "(":
            depth += 1
        elif text[at] == ")" and depth:
            depth -= 1
        elif text[at] == "," and not depth:
            break
        at += 1
    return at


def _candidate(url: str, descriptors: list[str]) -> Candidate | None:
    density, width = 1.0, None
    for one in descriptors:
        matched = _DESCRIPTOR.fullmatch(one)
        if matched is None:
            return None
        value = float(matched[1])
        if not 0 <= value < 1e9:
            return None
        if matched[2] == "w":
            if not value or not matched[1].isdecimal():
                return None
            width = int(value)
        elif matched[2] == "x":
            density = value
    return Candidate(url, density, width) if url else None


def _with_density(one: Candidate, across: float) -> Candidate:
    if one.width is None:
        return one
    return Candidate(one.url, one.width / across if across > 0 else math.inf, one.width)
