"""Pieces of HTML: text escaped, links to the web alone, pictures that nobody fetches from here.

Styles are written from numbers and checked colours only. Pure. Must not know: what a document is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import urlsplit

MAX_BLOCKS: Final = 1 << 20
"""Characters of one page; what is beyond is left to the file itself."""
MAX_DEPTH: Final = 24
"""Groups in groups, tables in tables; deeper ones are left out."""
_SCHEMES: Final = ("http", "https", "mailto")
_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
MORE: Final = '<p class="more">There is more than a preview can show; the file has it all.</p>'

Pictures = Mapping[str, int]
"""The number of each picture by its entry."""


@dataclass(frozen=True, slots=True)
class Look:
    """How text looks, as far as it is known."""

    size: float | None = None
    """Points."""
    bold: bool = False
    italic: bool = False
    underline: bool = False
    colour: str = ""


@dataclass(frozen=True, slots=True)
class PageBox:
    """A place on a page, in shares of its width and height."""

    left: float
    top: float
    width: float
    height: float

    @property
    def style(self) -> str:
        names = ("left", "top", "width", "height")
        values = (self.left, self.top, self.width, self.height)
        return ";".join(
            f"{name}:{_bounded(value) * 100:.4g}%"
            for name, value in zip(names, values, strict=True)
        )


def text(value: str) -> str:
    """As people read it."""
    return escape(_CONTROLS.sub(" ", value))


def colour(value: str) -> str:
    """#rrggbb, or nothing."""
    return value.lower() if _COLOUR.fullmatch(value) else ""


def element(name: str, inner: str, *, style: str = "", classes: str = "") -> str:
    """`style` and `classes` are ours."""
    attributes = f' class="{classes}"' if classes else ""
    attributes += f' style="{style}"' if style else ""
    return f"<{name}{attributes}>{inner}</{name}>"


def run(value: str, look: Look, *, unit: str = "pt", scale: float = 1.0, href: str = "") -> str:
    """Some text that looks alike; `unit` and `scale`: what a point is on this page."""
    if not value:
        return ""
    styles = []
    if look.size is not None:
        styles.append(size(look.size, unit=unit, scale=scale))
    if look.colour:
        styles.append(f"color:{look.colour}")
    inner = text(value).replace("\n", "<br>")
    for name, wanted in (("b", look.bold), ("i", look.italic), ("u", look.underline)):
        inner = f"<{name}>{inner}</{name}>" if wanted else inner
    if styles:
        inner = element("span", inner, style=";".join(styles))
    return link(inner, href) if href else inner


def size(points: float, *, unit: str = "pt", scale: float = 1.0) -> str:
    """The CSS declaration of a font's size, points."""
    return f"font-size:{min(max(points, 1.0), 400.0) * scale:.4g}{unit}"


def link(inner: str, href: str) -> str:
    """A link where it leads to the web or to mail; else what is in it."""
    try:
        scheme = urlsplit(href.strip()).scheme.lower()
    except ValueError:
        return inner
    if scheme not in _SCHEMES or _CONTROLS.search(href):
        return inner
    target = escape(href.strip())
    return f'<a href="{target}" target="_blank" rel="noopener noreferrer">{inner}</a>'


def picture(number: int | None, *, alt: str = "", style: str = "", classes: str = "pic") -> str:
    """A picture's place; whoever shows the page says later where its pixels are."""
    if number is None:
        return element("span", text(alt), style=style, classes=f"{classes} none")
    return (
        f'<img class="{classes}" data-m="{number}" alt="{escape(alt[:300])}"'
        + (f' style="{style}"' if style else "")
        + ">"
    )


def limited(blocks: list[str]) -> tuple[str, ...]:
    """As many of them as a page may have."""
    left = MAX_BLOCKS
    for at, block in enumerate(blocks):
        left -= len(block)
        if left < 0:
            return (*blocks[:at], MORE)
    return tuple(blocks)


def _bounded(share: float) -> float:
    return min(max(share, -4.0), 4.0)
