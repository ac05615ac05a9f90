"""The vocabulary of OpenDocument that a text view keeps: elements, attributes, properties.

Colours and fills are kept together, or white text would stand on nothing. Pure.

Source: ODF 1.3 part 3, 5 to 7 (text), 9 (tables), 10 (shapes), 16 (styles), 20 (properties).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import Final

_ODF: Final = "urn:oasis:names:tc:opendocument:xmlns:"
SPACES: Final[Mapping[str, str]] = {
    "office": f"{_ODF}office:1.0",
    "style": f"{_ODF}style:1.0",
    "text": f"{_ODF}text:1.0",
    "table": f"{_ODF}table:1.0",
    "draw": f"{_ODF}drawing:1.0",
    "presentation": f"{_ODF}presentation:1.0",
    "svg": f"{_ODF}svg-compatible:1.0",
    "fo": f"{_ODF}xsl-fo-compatible:1.0",
    "xlink": "http://www.w3.org/1999/xlink",
}
"""The prefixes that everybody uses, so that they need not be sent."""
_PREFIXES: Final = {space: prefix for prefix, space in SPACES.items()}
_LENGTH: Final = re.compile(r"(-?[0-9]{0,9}(?:\.[0-9]{1,12})?)(cm|mm|in|pt|pc|px)")
_MILLIMETRES: Final = {
    "cm": 10.0,
    "mm": 1.0,
    "in": 25.4,
    "pt": 25.4 / 72,
    "pc": 25.4 / 6,
    "px": 25.4 / 96,
}
MAX_VALUE: Final = 300
"""Characters of an attribute; what is longer is no name and no length that anybody needs."""


@lru_cache(maxsize=4096)
def qualified(name: str) -> str:
    """A name with its usual prefix; "" where the namespace is none of OpenDocument's."""
    space, _, local = name[1:].partition("}")
    prefix = _PREFIXES.get(space)
    return f"{prefix}:{local}" if prefix else ""


@lru_cache(maxsize=4096)
def length(value: str) -> str:
    """In whole millimetres: half of one is no matter to who reads. What is not 0 stays so: programs
    refuse tables with columns of no width."""
    found = _LENGTH.fullmatch(value.strip())
    if found is None or found[1] in ("", "-"):
        return value
    size = float(found[1]) * _MILLIMETRES[found[2]]
    return f"{round(size) or round(size, 2):g}mm"


@lru_cache(maxsize=1024)
def size(value: str) -> str:
    """A font's size: in points, and halves of them."""
    found = _LENGTH.fullmatch(value.strip())
    if found is None or found[1] in ("", "-"):
        return value
    return f"{round(float(found[1]) * _MILLIMETRES[found[2]] / 25.4 * 144) / 2:g}pt"


def same(value: str) -> str:
    """As it is."""
    return value


class How(Enum):
    """What becomes of an element."""

    KEPT = auto()
    OPENED = auto()
    """What is in it is kept, it is not."""
    SHAPE = auto()
    """Kept as a box if it has text or a colour."""
    PARAGRAPH = auto()
    RUN = auto()


Attributes = Mapping[str, Callable[[str], str]]
_PLACE: Final[Attributes] = {
    **dict.fromkeys(("svg:x", "svg:y", "svg:width", "svg:height"), length),
    "draw:transform": same,
    "text:anchor-type": same,
    "presentation:class": same,
}
_SPANS: Final = dict.fromkeys(
    (
        *("table:number-columns-spanned", "table:number-rows-spanned"),
        *("table:number-columns-repeated", "table:number-rows-repeated"),
    ),
    same,
)
FRAME: Final = "draw:frame"
TEXT: Final = "draw:text-box"
BOX: Final = "draw:rect"
"""What shapes become: a frame with their text, or a coloured box. Their outlines are not kept."""
SHAPES: Final = frozenset(
    f"draw:{name}"
    for name in (
        *("custom-shape", "rect", "ellipse", "circle", "polygon", "regular-polygon"),
        *("polyline", "path", "caption", "line", "connector", "measure"),
    )
)
STYLED: Final[Mapping[str, str]] = {
    "draw:page": "drawing-page",
    "draw:frame": "graphic",
    "table:table": "table",
    "table:table-column": "table-column",
    "table:table-row": "table-row",
    "table:table-cell": "table-cell",
    "text:list": "list-style",
    **dict.fromkeys(SHAPES, "graphic"),
}
"""Elements, and the family of the style that they name."""
ELEMENTS: Final[Mapping[str, tuple[How, Attributes]]] = {
    "draw:page": (How.KEPT, {"draw:master-page-name": same}),
    "draw:g": (How.KEPT, {}),
    "draw:frame": (How.KEPT, _PLACE),
    "draw:text-box": (How.KEPT, {"fo:min-height": length}),
    "draw:image": (How.KEPT, {"xlink:href": same}),
    "draw:a": (How.OPENED, {}),
    "table:table": (How.KEPT, {}),
    "table:table-column": (How.KEPT, _SPANS),
    "table:table-columns": (How.OPENED, {}),
    "table:table-header-columns": (How.OPENED, {}),
    "table:table-header-rows": (How.OPENED, {}),
    "table:table-rows": (How.OPENED, {}),
    "table:table-row": (How.KEPT, _SPANS),
    "table:table-cell": (How.KEPT, _SPANS),
    "table:covered-table-cell": (How.KEPT, _SPANS),
    "text:p": (How.PARAGRAPH, {}),
    "text:h": (How.PARAGRAPH, {"text:outline-level": same}),
    "text:list": (How.KEPT, {"text:continue-numbering": same}),
    "text:list-item": (How.KEPT, {"text:start-value": same}),
    "text:list-header": (How.KEPT, {}),
    "text:s": (How.KEPT, {"text:c": same}),
    "text:tab": (How.KEPT, {}),
    "text:line-break": (How.KEPT, {}),
    "text:note": (How.KEPT, {"text:note-class": same}),
    "text:note-citation": (How.KEPT, {}),
    "text:note-body": (How.KEPT, {}),
    "text:span": (How.RUN, {}),
    **dict.fromkeys(SHAPES, (How.SHAPE, _PLACE)),
}
UNREAD: Final = frozenset(
    (
        *("text:tracked-changes", "text:sequence-decls", "text:variable-decls", "text:note-ref"),
        *("text:user-field-decls", "text:bookmark", "text:change", "text:dde-connection-decls"),
        *("text:table-of-content-source", "text:alphabetical-index-source", "text:ruby-text"),
        *("text:illustration-index-source", "text:table-index-source", "text:object-index-source"),
        *("text:user-index-source", "text:bibliography-source"),
    )
)
"""Elements of texts whose contents nobody reads there. All other elements of texts are opened:
fields, links, sections, indexes."""

PROPERTIES: Final[Mapping[str, Attributes]] = {
    "style:text-properties": {
        "fo:font-size": size,
        "fo:font-weight": same,
        "fo:font-style": same,
        "fo:color": same,
        "fo:font-family": same,
        "style:text-underline-style": same,
    },
    "style:paragraph-properties": {
        "fo:text-align": same,
        "fo:margin-left": length,
        "fo:text-indent": length,
        "fo:margin-top": length,
        "fo:margin-bottom": length,
        "fo:line-height": same,
        "fo:break-before": same,
    },
    "style:graphic-properties": {
        "draw:fill": same,
        "draw:fill-color": same,
        "draw:stroke": same,
        "draw:textarea-vertical-align": same,
        "draw:fit-to-size": same,
        "draw:auto-grow-width": same,
        "draw:auto-grow-height": same,
        "fo:wrap-option": same,
        "fo:clip": same,
        **dict.fromkeys((f"style:{where}-{what}" for where in ("horizontal", "vertical")
                         for what in ("pos", "rel")), same),
        "style:wrap": same,
    },
    "style:drawing-page-properties": {"draw:fill": same, "draw:fill-color": same},
    "style:table-properties": {"style:width": length, "table:align": same},
    "style:table-column-properties": {"style:column-width": length},
    "style:table-row-properties": {"style:row-height": length, "style:min-row-height": length},
    "style:table-cell-properties": {"fo:background-color": same},
    "style:page-layout-properties": {
        **dict.fromkeys(("fo:page-width", "fo:page-height"), same),
        **dict.fromkeys((f"fo:margin-{side}" for side in ("top", "bottom", "left", "right")),
                        length),
        "style:print-orientation": same,
    },
}  # fmt: skip
LEVELS: Final[Mapping[str, Attributes]] = {
    "text:list-level-style-bullet": {"text:level": same, "text:bullet-char": same},
    "text:list-level-style-number": {
        "text:level": same,
        "style:num-format": same,
        "style:num-suffix": same,
        "text:start-value": same,
    },
    "text:list-level-style-image": {"text:level": same},
}
INDENTS: Final[Attributes] = {
    "text:list-level-position-and-space-mode": same,
    **dict.fromkeys(("text:space-before", "text:min-label-width"), length),
    **dict.fromkeys(("fo:margin-left", "fo:text-indent"), length),
}
LABELS: Final[Attributes] = {"fo:font-size": size, "fo:color": same}
