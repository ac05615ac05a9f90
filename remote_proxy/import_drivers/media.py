"""Media queries, CSS lengths and `sizes`: as much as choosing among pictures and sheets needs.

Sources: Media Queries 4, CSS Values 4 (calc), HTML 4.8.4 (sizes). Unknown features are false, as
in a browser; nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import tinycss2

from remote_proxy.import_drivers.found import BrowserTraits

MAX_QUERY: Final = 2000
"""Characters; longer queries count as false."""

_ABSOLUTE: Final = {
    "px": 1.0, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "in": 96.0, "cm": 96 / 2.54,
    "mm": 96 / 25.4, "q": 96 / 101.6, "pt": 96 / 72, "pc": 16.0,
}  # fmt: skip
"""CSS pixels of a unit; font-relative ones for the initial 16 px font, as queries use them."""
_RESOLUTION: Final = {"dppx": 1.0, "x": 1.0, "dpi": 1 / 96, "dpcm": 2.54 / 96}
_COMPARED: Final = ("width", "height", "device-width", "device-height", "aspect-ratio",
                    "device-aspect-ratio", "resolution", "-webkit-device-pixel-ratio")  # fmt: skip
_DISCRETE: Final = {
    "prefers-color-scheme": "light", "prefers-reduced-motion": "no-preference", "hover": "hover",
    "prefers-contrast": "no-preference", "any-hover": "hover", "pointer": "fine",
    "any-pointer": "fine", "scripting": "enabled", "display-mode": "browser", "update": "fast",
    "forced-colors": "none", "prefers-reduced-data": "no-preference", "overflow-block": "scroll",
}  # fmt: skip
_RANGE: Final = re.compile(
    r"^(?:(?P<low>[^<>=]+?)\s*(?P<first><=?|>=?|=)\s*)?(?P<name>-?[a-z][a-z\-]*)"
    r"\s*(?:(?P<second><=?|>=?|=)\s*(?P<high>[^<>=]+))?$"
)
_TYPED: Final = re.compile(r"^(?:(?P<not>not|only)\s+)?(?P<type>[a-z]+)(?:\s+and\s+(?P<rest>.*))?$")
_MAX_DEPTH: Final = 16
"""Nested parentheses followed before a query counts as false."""

Token = Any
"""A tinycss2 node; the library's stubs leave its attributes to the node type."""


def matches(query: str, browser: BrowserTraits) -> bool:
    """Whether a media query list applies on that browser's screen. Empty: it does."""
    return len(query) <= MAX_QUERY and _matches(query, browser)


@lru_cache(maxsize=512)
def _matches(query: str, browser: BrowserTraits) -> bool:
    query = re.sub(r"/\*.*?\*/", " ", query, flags=re.DOTALL).strip().lower()
    return not query or any(_query(part.strip(), browser) for part in _split(query, ","))


def length(text: str, browser: BrowserTraits) -> float | None:
    """A CSS length in pixels, calc() and its kin included; None if it is none."""
    nodes = [n for n in tinycss2.parse_component_value_list(text[:500]) if not _blank(n)]
    return _value(nodes[0], browser, 0) if len(nodes) == 1 else None


def source_size(sizes: str, browser: BrowserTraits) -> float:
    """CSS pixels of the first entry of a `sizes` attribute that applies; default 100vw."""
    for part in _split(sizes, ",") if len(sizes) <= MAX_QUERY and not nested(sizes) else ():
        nodes = [n for n in tinycss2.parse_component_value_list(part) if n.type != "comment"]
        while nodes and _blank(nodes[-1]):
            nodes.pop()
        if not nodes:
            continue
        size = _value(nodes.pop(), browser, 0)
        if size is None or size < 0:
            continue
        condition = tinycss2.serialize(nodes).strip().lower()
        if not condition or _condition(condition, browser, 0):
            return size
    return browser.width


def _query(text: str, browser: BrowserTraits) -> bool:
    matched = _TYPED.match(text)
    if matched is None or matched["type"] == "not":
        return _condition(text, browser, 0)
    holds = matched["type"] in ("all", "screen")
    if holds and matched["rest"]:
        holds = _condition(matched["rest"], browser, 0)
    return not holds if matched["not"] == "not" else holds


def _condition(text: str, browser: BrowserTraits, depth: int) -> bool:
    """`not (...)`, `(...) and (...)`, `(...) or (...)`, nested."""
    text = text.strip()
    if depth > _MAX_DEPTH:
        return False
    if text.startswith("not") and text[3:4] in (" ", "("):
        return not _condition(text[3:], browser, depth + 1)
    for word, combine in ((" or ", any), (" and ", all)):
        parts = _split(text, word)
        if len(parts) > 1:
            return combine(_condition(part, browser, depth + 1) for part in parts)
    if not (text.startswith("(") and text.endswith(")")):
        return False
    inner = text[1:-1].strip()
    if inner.startswith(("(", "not ", "not(")):
        return _condition(inner, browser, depth + 1)
    return _feature(inner, browser)


def _feature(text: str, browser: BrowserTraits) -> bool:
    if len(text) > 200:
        return False
    name, colon, wanted = (part.strip() for part in text.partition(":"))
    if not colon:
        matched = _RANGE.match(text)
        if matched is None:
            return False
        name = matched["name"]
        if matched["low"] is None and matched["high"] is None:
            return _boolean(name, browser)
        return _compare(name, _flip(matched["first"]), matched["low"], browser) and _compare(
            name, matched["second"], matched["high"], browser
        )
    if name == "orientation":
        return wanted == ("portrait" if browser.height >= browser.width else "landscape")
    for prefix, operator in (("min-", ">="), ("max-", "<="), ("-webkit-min-", ">="),
                             ("-webkit-max-", "<=")):  # fmt: skip
        if name.startswith(prefix):
            bare = name.removeprefix(prefix)
            if prefix.startswith("-webkit-"):
                bare = "-webkit-" + bare
            return _compare(bare, operator, wanted, browser)
    if name in _COMPARED:
        return _compare(name, "=", wanted, browser)
    return _DISCRETE.get(name) == wanted


def _boolean(name: str, browser: BrowserTraits) -> bool:
    if name in _COMPARED or name in ("color", "orientation"):
        return True
    return _DISCRETE.get(name, "none") not in ("none", "no-preference")


def _flip(operator: str | None) -> str | None:
    return operator.translate(str.maketrans("<>", "><")) if operator else None


def _compare(name: str, operator: str | None, wanted: str | None, browser: BrowserTraits) -> bool:
    if operator is None or wanted is None:
        return True
    actual, value = _actual(name, browser), _wanted(name, wanted.strip(), browser)
    if actual is None or value is None:
        return False
    return {
        "<": actual < value,
        ">": actual > value,
        "<=": actual <= value,
        ">=": actual >= value,
        "=": actual == value,
    }[operator]


def _actual(name: str, browser: BrowserTraits) -> float | None:
    if name.endswith("aspect-ratio"):
        return browser.width / max(browser.height, 1)
    if name in ("resolution", "-webkit-device-pixel-ratio"):
        return browser.dpr
    return {"width": browser.width, "height": browser.height}.get(name.removeprefix("device-"))


def _wanted(name: str, text: str, browser: BrowserTraits) -> float | None:
    try:
        if name.endswith("aspect-ratio"):
            above, _, below = text.partition("/")
            return float(above) / float(below or "1")
        if name == "-webkit-device-pixel-ratio":
            return float(text)
        if name == "resolution":
            matched = re.fullmatch(r"([\d.]+)(dppx|x|dpi|dpcm)", text)
            return float(matched[1]) * _RESOLUTION[matched[2]] if matched else None
    except (ValueError, ZeroDivisionError):
        return None
    return length(text, browser)


def _value(node: Token, browser: BrowserTraits, depth: int) -> float | None:
    """One length or one function of lengths."""
    if node.type == "number":
        return 0.0 if node.value == 0 else None
    if node.type == "dimension":
        return _dimension(node.value, node.lower_unit, browser)
    if node.type == "function" and depth < _MAX_DEPTH:
        return _function(node, browser, depth + 1)
    return None


def _dimension(value: float, unit: str, browser: BrowserTraits) -> float | None:
    if unit in _ABSOLUTE:
        return value * _ABSOLUTE[unit]
    if len(unit) > 2 and unit[0] in "sld" and unit[1:] in ("vw", "vh", "vmin", "vmax"):
        unit = unit[1:]
    of = {
        "vw": browser.width,
        "vh": browser.height,
        "vmin": min(browser.width, browser.height),
        "vmax": max(browser.width, browser.height),
    }.get(unit)
    return None if of is None else value * of / 100


def _function(node: Token, browser: BrowserTraits, depth: int) -> float | None:
    groups: list[list[Token]] = [[]]
    for item in node.arguments:
        if item.type == "literal" and item.value == ",":
            groups.append([])
        elif not _blank(item):
            groups[-1].append(item)
    values = [_sum(group, browser, depth) for group in groups]
    known = [value for value in values if value is not None]
    if len(known) != len(values):
        return None
    if node.lower_name == "calc" and len(known) == 1:
        return known[0]
    if node.lower_name in ("min", "max"):
        return min(known) if node.lower_name == "min" else max(known)
    if node.lower_name == "clamp" and len(known) == 3:
        return max(known[0], min(known[1], known[2]))
    return None


def _sum(nodes: Sequence[Token], browser: BrowserTraits, depth: int) -> float | None:
    """calc()'s grammar: products, then sums; numbers and lengths are not told apart."""
    total, product, sign, operator = 0.0, None, 1.0, "*"
    for node in nodes:
        if node.type == "literal" and node.value in ("+", "-", "*", "/"):
            if node.value in ("*", "/"):
                operator = node.value
                continue
            total += sign * (product or 0.0)
            product, operator = None, "*"
            sign = 1.0 if node.value == "+" else -1.0
            continue
        if node.type == "() block" and depth < _MAX_DEPTH:
            inner = [n for n in node.content if not _blank(n)]
            value = _sum(inner, browser, depth + 1)
        else:
            value = node.value if node.type == "number" else _value(node, browser, depth)
        if value is None or (operator == "/" and not value):
            return None
        if product is None:
            product = value
        else:
            product = product * value if operator == "*" else product / value
    return None if product is None else total + sign * product


def nested(text: str) -> bool:
    """Whether brackets are nested deeper than any sane value: tinycss2 recurses over them."""
    depth = 0
    for char in re.findall(r"[()\[\]{}]", text):
        depth += 1 if char in "([{" else -1
        if depth > 2 * _MAX_DEPTH:
            return True
    return False


def _blank(node: Token) -> bool:
    return node.type in ("whitespace", "comment")


def _split(text: str, separator: str) -> list[str]:
    """`text` at each separator outside parentheses."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        char = text[at]
        if char == "(":
            depth += 1
        elif char == ")":
            depth = max(0, depth - 1)
        elif not depth and text.startswith(separator, at):
            parts.append(text[start:at])
            at += len(separator)
            start = at
            continue
        at += 1
    parts.append(text[start:])
    return parts
