"""A slide (Office Open XML): boxes where the slide, its layout or its master says.

Pure. Source: ECMA-376-1, 19.3 (slides, placeholders), 20.1.7 (transforms), 21.1.3 (tables).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from office.preview import markup
from office.preview.markup import PageBox, Pictures
from office.preview.parts import Parts, Relation
from office.preview.slide_text import Heritage, paragraphs
from office.preview.theme import Theme
from office.preview.tree import attribute, child, children, descendants, inside, number
from office.preview.xml import Element, local

EMU_PER_POINT: Final = 12_700
DEFAULT_SIZE: Final = (9_144_000.0, 6_858_000.0)
"""EMU: 10 by 7.5 inches."""
_PLACES: Final = {
    "title": PageBox(0.06, 0.05, 0.88, 0.17),
    "ctrTitle": PageBox(0.08, 0.3, 0.84, 0.22),
    "subTitle": PageBox(0.15, 0.56, 0.7, 0.25),
    "dt": PageBox(0.05, 0.93, 0.25, 0.05),
    "ftr": PageBox(0.34, 0.93, 0.32, 0.05),
    "sldNum": PageBox(0.72, 0.93, 0.23, 0.05),
}
"""Of placeholders whose place is not known."""
_BODY: Final = PageBox(0.06, 0.25, 0.88, 0.66)
_GREY: Final = "#808080"
"""Behind text that stands on a picture which is not here."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """What a group makes of its members' places."""

    scale_x: float
    scale_y: float
    left: float
    top: float

    def within(self, transform: Element) -> _Frame:
        """Inside a group that lies in this."""
        x, y, cx, cy = _numbers(transform, "off", "ext")
        in_x, in_y, in_cx, in_cy = _numbers(transform, "chOff", "chExt")
        scale_x = self.scale_x * (cx / in_cx if in_cx else 1.0)
        scale_y = self.scale_y * (cy / in_cy if in_cy else 1.0)
        left = self.left + x * self.scale_x - in_x * scale_x
        return _Frame(scale_x, scale_y, left, self.top + y * self.scale_y - in_y * scale_y)

    def box(self, transform: Element | None) -> PageBox | None:
        if child(transform, "ext") is None:
            return None
        assert transform is not None
        x, y, cx, cy = _numbers(transform, "off", "ext")
        return PageBox(
            self.left + x * self.scale_x,
            self.top + y * self.scale_y,
            cx * self.scale_x,
            cy * self.scale_y,
        )


class Slide:
    """One slide, with what is here of its layout and its master."""

    def __init__(
        self, parts: Parts, name: str, *, size: tuple[float, float], pictures: Pictures
    ) -> None:
        """Begins a slide of that `size`, EMU."""
        self._parts = parts
        self._name = name
        self._pictures = pictures
        self._frame = _Frame(1 / size[0], 1 / size[1], 0.0, 0.0)
        self._scale = 100 * EMU_PER_POINT / size[0]
        self._layout = parts.related(name, "slideLayout")
        self._master = parts.related(self._layout, "slideMaster") if self._layout else ""
        theme = parts.related(self._master, "theme") if self._master else ""
        self._trees = {
            part: parts.tree(part) for part in (name, self._layout, self._master) if part
        }
        master = self._trees.get(self._master)
        self._theme = Theme(parts.tree(theme) if theme else None, master)
        self._styles = child(master, "txStyles")
        self._light_text = False
        """What is behind text is known, so that light text can be read."""

    def blocks(self) -> list[str]:
        """HTML, from the lowest to the uppermost. Empty: it can't be read."""
        if self._trees.get(self._name) is None:
            return []
        found = self._background()
        if self._shows_master(self._name):
            if self._layout and self._shows_master(self._layout):
                found += self._drawn(self._master, own=False)
            found += self._drawn(self._layout, own=False)
        return [*found, *self._drawn(self._name, own=True)]

    def _shows_master(self, part: str) -> bool:
        return attribute(self._trees.get(part), "showMasterSp") not in ("0", "false")

    def _background(self) -> list[str]:
        for part in (self._name, self._layout, self._master):
            background = child(self._trees.get(part), "cSld", "bg")
            if background is None:
                continue
            properties = child(background, "bgPr")
            blip = child(properties, "blipFill", "blip")
            style = PageBox(0, 0, 1, 1).style
            if blip is not None:
                self._light_text = True
                under = markup.element(
                    "div", "", classes="box", style=f"{style};background:{_GREY}"
                )
                return [under, self._blip(blip, part, style=style)]
            colour = self._theme.fill(properties) or self._theme.of(child(background, "bgRef"))
            if colour:
                self._light_text = True
                return [_under(style, colour)]
        return []

    def _drawn(self, part: str, *, own: bool) -> list[str]:
        """The shapes of a part; of layouts and masters all but placeholders."""
        tree = child(self._trees.get(part), "cSld", "spTree")
        if tree is None:
            return []
        relations = self._parts.relations(part)
        return list(self._shapes(tree, self._frame, part, relations, own=own, depth=0))

    def _shapes(
        self,
        tree: Element,
        frame: _Frame,
        part: str,
        relations: dict[str, Relation],
        *,
        own: bool,
        depth: int,
    ) -> Iterator[str]:
        if depth > markup.MAX_DEPTH:
            return
        for shape in tree:
            kind = local(shape.tag)
            placeholder = _placeholder(shape)
            if placeholder is not None and not own:
                continue
            if kind == "grpSp":
                transform = child(shape, "grpSpPr", "xfrm")
                inner = frame.within(transform) if transform is not None else frame
                yield from self._shapes(shape, inner, part, relations, own=own, depth=depth + 1)
            elif kind == "AlternateContent":
                for choice in (child(shape, "Choice"), child(shape, "Fallback")):
                    drawn = list(
                        self._shapes(choice, frame, part, relations, own=own, depth=depth + 1)
                        if choice is not None
                        else ()
                    )
                    yield from drawn
                    if drawn:
                        break
            elif kind in ("sp", "pic", "graphicFrame"):
                yield from self._shape(shape, frame, part, relations, placeholder)

    def _shape(
        self,
        shape: Element,
        frame: _Frame,
        part: str,
        relations: dict[str, Relation],
        placeholder: Element | None,
    ) -> Iterator[str]:
        family = self._family(shape, placeholder)
        box, turn = self._place(family, frame, placeholder)
        if box is None:
            return
        style = box.style + turn
        if local(shape.tag) == "pic":
            yield self._blip(
                child(shape, "blipFill", "blip"),
                part,
                style=style,
                alt=attribute(child(shape, "nvPicPr", "cNvPr"), "descr"),
            )
        elif local(shape.tag) == "graphicFrame":
            yield from self._graphic(shape, style, relations)
        else:
            yield from self._text_box(family, style, part, relations, placeholder)

    # -- places ------------------------------------------------------------------------------------

    def _family(self, shape: Element, placeholder: Element | None) -> list[Element]:
        """The shape, and the placeholders of the layout and the master that it fills."""
        family = [shape]
        kind = attribute(placeholder, "type") or "body"
        for part in (self._layout, self._master) if placeholder is not None else ():
            index = attribute(placeholder, "idx") if part == self._layout else ""
            found = _counterpart(self._trees.get(part), kind, index)
            if found is not None:
                family.append(found)
                kind = attribute(_placeholder(found), "type") or kind
        return family

    def _place(
        self, family: list[Element], frame: _Frame, placeholder: Element | None
    ) -> tuple[PageBox | None, str]:
        for at, one in enumerate(family):
            transform = _transform(one)
            box = (frame if not at else self._frame).box(transform)
            if box is not None:
                degrees = number(attribute(transform, "rot")) / 60_000
                turn = f";transform:rotate({degrees:.4g}deg)" if degrees else ""
                return box, turn
        if placeholder is None:
            return None, ""
        return _PLACES.get(attribute(placeholder, "type"), _BODY), ""

    # -- what is there -----------------------------------------------------------------------------

    def _text_box(
        self,
        family: list[Element],
        style: str,
        part: str,
        relations: dict[str, Relation],
        placeholder: Element | None,
    ) -> Iterator[str]:
        shape = family[0]
        properties = child(shape, "spPr")
        blip = child(properties, "blipFill", "blip")
        if blip is not None:
            yield self._blip(blip, part, style=style)
        fill = self._theme.fill(properties)
        if child(properties, "noFill") is None and not fill:
            fill = self._theme.of(child(shape, "style", "fillRef")) if blip is None else ""
        heritage = Heritage(
            [child(one, "txBody") for one in family],
            self._styles_of(placeholder),
            theme=self._theme,
            light=self._light_text or bool(fill),
        )
        inner = paragraphs(
            child(shape, "txBody"), heritage, relations, unit="cqw", scale=self._scale
        )
        line = self._theme.fill(child(properties, "ln"))
        if not inner and not fill and not line:
            return
        style += f";background:{fill}" if fill else ""
        style += f";outline:1px solid {line}" if line else ""
        if attribute(child(properties, "prstGeom"), "prst") == "ellipse":
            style += ";border-radius:50%"
        yield markup.element("div", inner, style=style, classes=f"box {heritage.anchor}")

    def _styles_of(self, placeholder: Element | None) -> Element | None:
        if placeholder is None:
            return child(self._styles, "otherStyle")
        kind = attribute(placeholder, "type")
        if kind in ("title", "ctrTitle"):
            return child(self._styles, "titleStyle")
        return child(self._styles, "otherStyle" if kind in ("dt", "ftr", "sldNum") else "bodyStyle")

    def _graphic(self, shape: Element, style: str, relations: dict[str, Relation]) -> Iterator[str]:
        data = child(shape, "graphic", "graphicData")
        table = child(data, "tbl")
        if table is not None:
            yield markup.element("div", self._table(table, relations), style=style, classes="box")
            return
        uri = attribute(data, "uri")
        named = {attribute(one, "dm") or attribute(one, "id") for one in inside(data)}
        target = next((relations[id_].target for id_ in named if id_ in relations), "")
        if not target or not ("diagram" in uri or "chart" in uri):
            return
        words = descendants(self._parts.tree(target), "p")
        lines = ["".join(one.text or "" for one in descendants(p, "t")) for p in words]
        inner = "".join(markup.element("p", markup.text(line)) for line in lines if line.strip())
        size = markup.size(14, unit="cqw", scale=self._scale)
        yield markup.element("div", inner, style=f"{style};{size}", classes="box drawing")

    def _table(self, table: Element, relations: dict[str, Relation]) -> str:
        heritage = Heritage(
            [], child(self._styles, "otherStyle"), theme=self._theme, light=self._light_text
        )
        rows = []
        for row in children(table, "tr"):
            cells = []
            for cell in children(row, "tc"):
                if attribute(cell, "hMerge") in ("1", "true") or attribute(cell, "vMerge") in (
                    "1",
                    "true",
                ):
                    continue
                inner = paragraphs(
                    child(cell, "txBody"), heritage, relations, unit="cqw", scale=self._scale
                )
                fill = self._theme.fill(child(cell, "tcPr"))
                spans = "".join(
                    f' {name.lower()}="{min(max(int(number(attribute(cell, key), 1)), 1), 100)}"'
                    for name, key in (("colspan", "gridSpan"), ("rowspan", "rowSpan"))
                    if attribute(cell, key)
                )
                style = f' style="background:{fill}"' if fill else ""
                cells.append(f"<td{spans}{style}>{inner}</td>")
            rows.append(markup.element("tr", "".join(cells)))
        return markup.element("table", "".join(rows))

    def _blip(self, blip: Element | None, part: str, *, style: str, alt: str = "") -> str:
        """A picture's box."""
        relation = self._parts.relations(part).get(attribute(blip, "embed"))
        entry = relation.target if relation is not None and not relation.external else ""
        return markup.picture(self._pictures.get(entry), alt=alt, style=style, classes="box pic")


def _under(style: str, colour: str) -> str:
    return markup.element("div", "", classes="box", style=f"{style};background:{colour}")


def _placeholder(shape: Element) -> Element | None:
    for one in shape:
        if local(one.tag).startswith("nv"):
            return child(one, "nvPr", "ph")
    return None


def _counterpart(tree: Element | None, kind: str, index: str) -> Element | None:
    """The placeholder of a layout or a master that one of this type and index fills."""
    same_kind: Element | None = None
    kinds = {"ctrTitle": "title", "subTitle": "body", "obj": "body"}
    for shape in inside(child(tree, "cSld", "spTree")):
        placeholder = _placeholder(shape)
        if placeholder is None:
            continue
        found = attribute(placeholder, "type") or "body"
        if index and attribute(placeholder, "idx") == index:
            return shape
        same = found == kind or kinds.get(kind, kind) == kinds.get(found, found)
        if same and same_kind is None:
            same_kind = shape
    return same_kind


def _transform(shape: Element) -> Element | None:
    found = child(shape, "spPr", "xfrm")
    return found if found is not None else child(shape, "xfrm")


def _numbers(transform: Element, *names: str) -> tuple[float, ...]:
    """x, y, cx, cy."""
    values = []
    for name, keys in zip(names, (("x", "y"), ("cx", "cy")), strict=True):
        one = child(transform, name)
        values += [number(attribute(one, key)) for key in keys]
    return tuple(values)


def size_of(presentation: Element | None) -> tuple[float, float]:
    """Width and height of all slides, EMU."""
    one = child(presentation, "sldSz")
    width, height = (number(attribute(one, name)) for name in ("cx", "cy"))
    if not (0 < width < 1e9 and 0 < height < 1e9 and 0.1 < width / height < 10):
        return DEFAULT_SIZE
    return width, height
