"""Resources in CSS values: url(), image-set(), a font's src. tinycss2 parses, this chooses.

Sources: CSS Values 4 (url), Images 4 (image-set), Fonts 4 (src, unicode-range).
"""

from __future__ import annotations

import re
from typing import Any, Final

import tinycss2

from remote_proxy.import_drivers.candidates import Candidate, pick
from remote_proxy.import_drivers.found import BrowserTraits
from remote_proxy.import_drivers.media import nested

_FONT_FORMATS: Final = frozenset(
    ("woff2", "woff", "truetype", "opentype", "collection", "woff2-variations")
) | frozenset(("woff-variations", "truetype-variations", "opentype-variations"))
_BASIC_LATIN: Final = range(0x20, 0x7F)
_MAX_DEPTH: Final = 16
"""Nested functions followed."""
MAX_PARTS: Final = 2000
"""Commas, spaces and parentheses of one value; what has more (some 3 us each to parse) is left to
the browser."""

Token = Any
"""A tinycss2 node; the library's stubs leave its attributes to the node type."""


def urls(value: str, browser: BrowserTraits) -> list[str]:
    """URLs of a value, as written: each url(), and of each image-set() the one chosen."""
    if nested(value) or _too_long(value):
        return []
    return _urls(tinycss2.parse_component_value_list(value), browser, 0)


def import_target(value: str) -> tuple[str, str] | None:
    """URL and media query list of what follows `@import`; None if there is no URL."""
    if nested(value) or _too_long(value):
        return None
    nodes: list[Token] = tinycss2.parse_component_value_list(value, skip_comments=True)
    nodes = [node for node in nodes if node.type != "whitespace"]
    target = _url_of(nodes[0]) if nodes else None
    if target is None:
        return None
    media = [node for node in nodes[1:] if not _cascade(node)]
    return target, " ".join(node.serialize() for node in media)


def _url_of(node: Token) -> str | None:
    """The URL in url(x), url("x"), src("x") or "x"."""
    if node.type in ("url", "string"):
        return str(node.value)
    if node.type == "function" and node.lower_name in ("url", "src"):
        return next((str(n.value) for n in node.arguments if n.type == "string"), None)
    return None


def _urls(nodes: list[Token], browser: BrowserTraits, depth: int) -> list[str]:
    """URLs of a value: url() wherever it is, of each image-set() the one that is chosen."""
    found: list[str] = []
    for node in nodes:
        target = None if node.type == "string" else _url_of(node)
        if target is not None:
            found.append(target)
        elif node.type == "function" and node.lower_name in ("image-set", "-webkit-image-set"):
            found += _image_set(node.arguments, browser)
        elif node.type in ("function", "() block") and depth < _MAX_DEPTH:
            inside = node.arguments if node.type == "function" else node.content
            found += _urls(inside, browser, depth + 1)
    return found


def _image_set(nodes: list[Token], browser: BrowserTraits) -> list[str]:
    offered: list[Candidate] = []
    for option in _by_comma(nodes):
        target, density, known = None, 1.0, True
        for node in option:
            target = target or _url_of(node)
            if node.type == "dimension" and node.lower_unit in ("x", "dppx", "dpi"):
                density = node.value / (96 if node.lower_unit == "dpi" else 1)
            elif node.type == "function" and node.lower_name == "type":
                kind = next((n.value for n in node.arguments if n.type == "string"), "")
                known = browser.decodes(kind)
        if target and known:
            offered.append(Candidate(target, density))
    chosen = pick(offered, browser.dpr)
    return [chosen] if chosen else []


def _too_long(value: str) -> bool:
    return sum(map(value.count, " ,(\"'")) > MAX_PARTS


def font_source(src: str) -> str | None:
    """The first source whose format a browser knows."""
    if nested(src) or _too_long(src):
        return None
    for option in _by_comma(tinycss2.parse_component_value_list(src)):
        target, known = None, True
        for node in option:
            if node.type == "function" and node.lower_name == "format":
                named = [n for n in node.arguments if n.type in ("string", "ident")]
                known = bool(named) and str(named[0].value).lower() in _FONT_FORMATS
            elif node.type != "string":
                target = target or _url_of(node)
        if target and known:
            return target
    return None


def _by_comma(nodes: list[Token]) -> list[list[Token]]:
    groups: list[list[Token]] = [[]]
    for node in nodes:
        if node.type == "literal" and node.value == ",":
            groups.append([])
        elif node.type not in ("whitespace", "comment"):
            groups[-1].append(node)
    return groups


def covers_latin(ranges: str) -> bool:
    """Whether a unicode-range has letters that nearly every page uses; empty: all."""
    if not ranges.strip():
        return True
    for low, high in re.findall(r"[Uu]\+([0-9A-Fa-f?]{1,6})(?:-([0-9A-Fa-f]{1,6}))?", ranges):
        first = int(low.replace("?", "0"), 16)
        last = int(high, 16) if high else int(low.replace("?", "F"), 16)
        if first <= _BASIC_LATIN[-1] and last >= ord("a"):
            return True
    return False


def _cascade(node: Token) -> bool:
    """The parts of @import that are no media query: layer, layer(), supports()."""
    if node.type == "ident":
        return bool(node.lower_value == "layer")
    return node.type == "function" and node.lower_name in ("layer", "supports")
