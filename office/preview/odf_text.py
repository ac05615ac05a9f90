"""Text of OpenDocument: paragraphs, lists, tables, with pictures in them.

Pure. Source: ODF 1.3 part 3, 5 and 6 (text), 9 (tables), 10.4 (frames).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from office.preview import markup
from office.preview.markup import Look
from office.preview.odf_styles import OdfStyles
from office.preview.theme import is_light
from office.preview.tree import attribute, child, children, inside, number
from office.preview.xml import Element, local

MAX_REPEATED: Final = 100
"""Cells, rows or spaces that one element stands for."""
_SECTIONS: Final = (
    *("section", "table-of-content", "index-body", "index-title", "illustration-index"),
    *("user-index", "alphabetical-index", "bibliography", "tracked-changes"),
)
_UNREAD: Final = ("annotation", "annotation-end", "note-body", "notes", "tracked-changes")
_ROWS: Final = ("table-header-rows", "table-rows", "table-row-group")
_ALIGNMENTS: Final = {"center": "center", "end": "right", "right": "right", "justify": "justify"}

Names = list[tuple[str, str]]
"""Styles that hold, (family, name), the nearest first."""


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for some text."""

    styles: OdfStyles
    names: Names
    size: float
    """Points, where no style says it."""
    unit: str
    scale: float
    frame: Callable[[Element], str]
    """HTML of a frame in the text."""
    light: bool = True
    """What is behind the text is known, so that any colour of it can be read."""
    depth: int = 0

    def look(self, *nearer: tuple[str, str]) -> Look:
        found = self.styles.look([*nearer, *self.names], self.size)
        hidden = not self.light and bool(found.colour) and is_light(found.colour)
        return replace(found, colour="") if hidden else found


def blocks(parent: Element | None, context: Context, *, level: int = 0) -> Iterator[str]:
    """HTML of what stands in a body, a cell or a box."""
    if context.depth > markup.MAX_DEPTH:
        return
    deeper = replace(context, depth=context.depth + 1)
    for one in inside(parent):
        match local(one.tag):
            case "p" | "h":
                yield _paragraph(one, context)
            case "list":
                yield from _list(one, deeper, level=level)
            case "table":
                yield table(one, deeper)
            case "frame":
                yield context.frame(one)
            case name if name in _SECTIONS and name not in _UNREAD:
                yield from blocks(one, deeper, level=level)


def _paragraph(one: Element, context: Context, *, bullet: str = "", level: int = 0) -> str:
    style = ("paragraph", attribute(one, "style-name"))
    base = context.look(style)
    inner = "".join(_runs(one, context, [style], base))
    alignment = context.styles.property(*style, "paragraph-properties", "text-align")
    css = f"text-align:{_ALIGNMENTS[alignment]}" if alignment in _ALIGNMENTS else ""
    if not inner:
        return '<p class="gap"></p>'
    if local(one.tag) == "h":
        rank = min(max(int(number(attribute(one, "outline-level"), 1)), 1), 6)
        return markup.element(f"h{rank}", inner, style=css)
    size = markup.size(base.size or context.size, unit=context.unit, scale=context.scale)
    css = f"{size};{css}" if css else size
    classes = f"l{min(level, 8)}" if level else ""
    if bullet:
        inner = markup.element("span", markup.text(bullet), classes="bullet") + inner
        classes = f"{classes} item".strip()
    return markup.element("p", inner, style=css, classes=classes)


def _list(one: Element, context: Context, *, level: int) -> Iterator[str]:
    style = context.styles.get("list-style", attribute(one, "style-name"))
    number_ = 0
    for item in inside(one):
        if local(item.tag) not in ("list-item", "list-header"):
            continue
        number_ = int(number(attribute(item, "start-value"), number_ + 1))
        bullet = _bullet(style, level, number_)
        for inner in inside(item):
            match local(inner.tag):
                case "p" | "h":
                    yield _paragraph(inner, context, bullet=bullet, level=level)
                    bullet = ""
                case "list" if context.depth <= markup.MAX_DEPTH:
                    deeper = replace(context, depth=context.depth + 1)
                    yield from _list(inner, deeper, level=level + 1)


def _bullet(style: Element | None, level: int, count: int) -> str:
    for one in inside(style):
        if attribute(one, "level") == str(level + 1):
            if local(one.tag) == "list-level-style-number":
                return f"{count}." if attribute(one, "num-format") else ""
            char = attribute(one, "bullet-char")[:1]
            return char if "\x7f" < char < "\ue000" else "•"
    return "•"


def _runs(
    one: Element, context: Context, names: Names, base: Look, href: str = ""
) -> Iterator[str]:
    """Text and what is in it. `base`: the paragraph's look, which need not be said again."""
    if len(names) > markup.MAX_DEPTH:
        return

    def run(value: str | None) -> str:
        look = context.look(*names)
        look = replace(look, size=None) if look.size == base.size else look
        return markup.run(value or "", look, unit=context.unit, scale=context.scale, href=href)

    yield run(one.text)
    for part in one:
        match local(part.tag):
            case "span":
                nearer = [("text", attribute(part, "style-name")), *names]
                yield from _runs(part, context, nearer, base, href)
            case "a":
                yield from _runs(part, context, [("text", ""), *names], base,
                                 attribute(part, "href"))  # fmt: skip
            case "s":
                yield " " * min(max(int(number(attribute(part, "c"), 1)), 1), MAX_REPEATED)
            case "tab":
                yield "\t"
            case "line-break":
                yield "<br>"
            case "frame":
                yield context.frame(part)
            case name if name and name not in _UNREAD:
                yield from _runs(part, context, [("text", ""), *names], base, href)
        yield run(part.tail)


def rows(one: Element) -> Iterator[Element]:
    """The rows of a table, those in groups too."""
    for part in inside(one):
        name = local(part.tag)
        if name == "table-row":
            yield part
        elif name in _ROWS:
            yield from rows(part)


def table(one: Element, context: Context) -> str:
    found = []
    for row in rows(one):
        cells = []
        for cell in children(row, "table-cell"):
            inner = "".join(blocks(cell, context))
            spans = "".join(
                f' {name}="{min(max(int(number(attribute(cell, key), 1)), 1), MAX_REPEATED)}"'
                for name, key in (
                    ("colspan", "number-columns-spanned"),
                    ("rowspan", "number-rows-spanned"),
                )
                if attribute(cell, key)
            )
            cells.append(f"<td{spans}>{inner}</td>")
        found.append(markup.element("tr", "".join(cells)))
    return markup.element("table", "".join(found))


def image(frame: Element) -> str:
    """The entry of a frame's picture, or of what stands for an object; "" for none."""
    for one in children(frame, "image"):
        href = attribute(one, "href").removeprefix("./")
        if href and ":" not in href:
            return href
    return ""


def alt(frame: Element) -> str:
    """What is said of a picture."""
    for name in ("title", "desc"):
        one = child(frame, name)
        if one is not None and one.text:
            return one.text
    return ""
