"""Slides and texts of OpenDocument.

Pure. Source: ODF 1.3 part 3, 3.7 (texts), 3.8 (presentations), 10 (shapes), 16.9 (master pages).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from office.outline import Outline
from office.preview import markup
from office.preview.markup import PageBox, Pictures
from office.preview.odf_styles import OdfStyles, points
from office.preview.odf_text import Context, alt, blocks, image, table
from office.preview.parts import Parts
from office.preview.tree import attribute, child, children, inside
from office.preview.xml import Element, local

CONTENT: Final = "content.xml"
STYLES: Final = "styles.xml"
DEFAULT_SIZE: Final = (793.7, 595.3)
"""Points: 28 by 21 cm."""
_SHAPES: Final = ("custom-shape", "rect", "ellipse", "circle", "polygon", "path", "text-box")
_SIZES: Final = {"title": 40.0, "subtitle": 28.0, "outline": 26.0}
"""Points, by what a placeholder is for; where no style is here yet."""
_TRANSLATE: Final = re.compile(r"translate\s*\(\s*([-0-9.a-z]{1,20})[\s,]+([-0-9.a-z]{1,20})\s*\)")


class _Document:
    """What is here of its text and its styles."""

    def __init__(self, parts: Parts, outline: Outline, pictures: Pictures) -> None:
        self._parts = parts
        self._pictures = pictures
        self._known: tuple[Element | None, Element | None, OdfStyles] | None = None

    def forget(self) -> None:
        """Forgets the text and its styles."""
        self._known = None

    def _body(self, kind: str) -> Element | None:
        return child(self._parts.growing(CONTENT), "body", kind)

    def _styles(self) -> OdfStyles:
        content, named = self._parts.growing(CONTENT), self._parts.tree(STYLES)
        if self._known is None or self._known[0] is not content or self._known[1] is not named:
            self._known = content, named, OdfStyles(content, named)
        return self._known[2]


class OdfDeck(_Document):
    """The pages of an OpenDocument presentation."""

    def size(self) -> tuple[float, float]:
        """The size of its first master page, points."""
        styles = self._styles()
        masters = child(self._parts.tree(STYLES), "master-styles")
        master = next(children(masters, "master-page"), None)
        layout = styles.get("page-layout", attribute(master, "page-layout-name"))
        properties = child(layout, "page-layout-properties")
        width, height = (points(attribute(properties, f"page-{n}")) for n in ("width", "height"))
        if not (1 < width < 1e5 and 1 < height < 1e5 and 0.1 < width / height < 10):
            return DEFAULT_SIZE
        return width, height

    def blocks(self, page: int) -> list[str]:
        pages = list(children(self._body("presentation"), "page"))
        if page > len(pages):
            return []
        slide = _Slide(pages[page - 1], self._styles(), self.size(), self._pictures)
        if page < len(pages):
            self._parts.settled(CONTENT)
        return slide.blocks()


class _Slide:
    def __init__(
        self, page: Element, styles: OdfStyles, size: tuple[float, float], pictures: Pictures
    ) -> None:
        self._page = page
        self._styles = styles
        self._size = size
        self._scale = 100 / size[0]
        self._pictures = pictures
        self._master = styles.get("master-page", attribute(page, "master-page-name"))

    def blocks(self) -> list[str]:
        background = self._background()
        below = self._drawn(self._master, light=bool(background), placeholders=False)
        return [*background, *below, *self._drawn(self._page, light=bool(background))]

    def _background(self) -> list[str]:
        for page in (self._page, self._master):
            style = attribute(page, "style-name")

            def said(name: str, style: str = style) -> str:
                group = "drawing-page-properties"
                return self._styles.property("drawing-page", style, group, name)

            fill = said("fill")
            colour = markup.colour(said("fill-color"))
            if fill == "bitmap" or (fill == "gradient" and not colour):
                colour = "#808080"
            if fill not in ("", "none") and colour:
                style = f"{PageBox(0, 0, 1, 1).style};background:{colour}"
                return [markup.element("div", "", classes="box", style=style)]
        return []

    def _drawn(
        self, parent: Element | None, *, light: bool, placeholders: bool = True, depth: int = 0
    ) -> Iterator[str]:
        if depth > markup.MAX_DEPTH:
            return
        for shape in inside(parent):
            kind = local(shape.tag)
            if attribute(shape, "placeholder") == "true":
                continue
            if not placeholders and attribute(shape, "class"):
                continue
            if kind == "g":
                yield from self._drawn(
                    shape, light=light, placeholders=placeholders, depth=depth + 1
                )
            elif kind == "frame" or kind in _SHAPES:
                yield from self._shape(shape, light=light)

    def _shape(self, shape: Element, *, light: bool) -> Iterator[str]:
        style = self._place(shape).style
        family, name = _style_of(shape)
        entry = image(shape)
        if entry:
            number = self._pictures.get(entry)
            yield markup.picture(number, alt=alt(shape), style=style, classes="box pic")
            return
        fill = ""
        if self._styles.property(family, name, "graphic-properties", "fill") == "solid":
            group = "graphic-properties"
            fill = markup.colour(self._styles.property(family, name, group, "fill-color"))
        context = Context(
            self._styles,
            [(family, name)],
            _SIZES.get(attribute(shape, "class"), 18.0),
            "cqw",
            self._scale,
            frame=lambda frame: "",
            light=light or bool(fill),
        )
        grid = child(shape, "table")
        text = child(shape, "text-box")
        if grid is not None:
            inner = table(grid, context)
        else:
            inner = "".join(blocks(shape if text is None else text, context))
        if inner.replace('<p class="gap"></p>', "") or fill:
            style += f";background:{fill}" if fill else ""
            anchor = self._styles.property(
                family, name, "graphic-properties", "textarea-vertical-align"
            )
            classes = f"box {anchor}" if anchor in ("middle", "bottom") else "box top"
            yield markup.element("div", inner, style=style, classes=classes)

    def _place(self, shape: Element) -> PageBox:
        width, height = self._size
        x, y = (attribute(shape, name) for name in ("x", "y"))
        moved = _TRANSLATE.search(attribute(shape, "transform")[:300])
        if moved and not x:
            x, y = moved[1], moved[2]
        return PageBox(
            points(x) / width,
            points(y) / height,
            points(attribute(shape, "width"), width) / width,
            points(attribute(shape, "height") or attribute(shape, "min-height")) / height,
        )


class OdfText(_Document):
    """The pages of an OpenDocument text."""

    def size(self) -> tuple[float, float]:
        return (1.0, 1.0)

    def blocks(self, page: int) -> list[str]:
        context = Context(
            self._styles(), [], 12.0, "pt", 1.0, frame=lambda one: self._frame(one, 0)
        )
        return list(blocks(self._body("text"), context)) if page == 1 else []

    def _frame(self, frame: Element, depth: int) -> str:
        entry = image(frame)
        if entry:
            width = points(attribute(frame, "width"))
            style = f"width:{min(max(width, 8.0), 900.0):.4g}pt" if width else ""
            return markup.picture(self._pictures.get(entry), alt=alt(frame), style=style)
        box = child(frame, "text-box")
        if box is None or depth > 3:
            return ""
        context = Context(
            self._styles(), [], 12.0, "pt", 1.0,
            frame=lambda one: self._frame(one, depth + 1), depth=depth * 8,
        )  # fmt: skip
        return markup.element("div", "".join(blocks(box, context)))


def _style_of(shape: Element) -> tuple[str, str]:
    """Family and name of a shape's style: one of presentations has it in another namespace."""
    for key, value in shape.attrib.items():
        if str(key).endswith("presentation:1.0}style-name"):
            return "presentation", str(value)
    return "graphic", attribute(shape, "style-name")
