"""Where an open document shows pictures: in shapes, as fills, behind pages, in its text.

A program forgets which part of the file a picture came from, so pictures are found by what they
look like (`marks.py`). Must not know: who wants to change them.

Source: LibreOffice API, com.sun.star.drawing (shapes, pages), text (text graphics), style.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Union

from com.sun.star.drawing.FillStyle import BITMAP
from com.sun.star.uno import Exception as UnoException

_PICTURES = (
    "com.sun.star.drawing.GraphicObjectShape",
    "com.sun.star.presentation.GraphicObjectShape",
)
_GROUP = "com.sun.star.drawing.GroupShape"
_TABLES = ("com.sun.star.drawing.TableShape", "com.sun.star.presentation.TableShape")
_CELLS = 4096
"""Of one table; what has more is no table that shows pictures."""
_DEPTH = 16
"""Of groups in groups."""
_ROUNDING = 3
"""1/100 mm; a twip is 1.8."""
EVERYWHERE = 0
"""The page of what is on a master, in a style, or anywhere in a text."""


@dataclass(frozen=True)
class PlacedDocument:
    """What all places of one have in common."""

    bitmaps: Any
    """Its table of bitmaps, by name."""
    pixel: float
    """1/100 mm, on this screen: the extent of pictures that claim none follows from it."""


@dataclass
class PlacedPicture:
    """A shape, or an object in a text, that is a picture."""

    owner: Any
    page: int
    document: PlacedDocument
    loaded: Any = None
    """The cut-out that the file has."""
    set_to: Any = None
    """The cut-out that was set last, for a person may have chosen another."""

    def graphic(self) -> Any:
        return self.owner.getPropertyValue("Graphic")

    def show(self, graphic: Any, *, final: bool, absolute: bool) -> None:
        """The cut-out stays the same part of the picture, whatever extent this one claims.

        ODF gives cut-outs as lengths on the original (`absolute`): they are right for it as they
        were loaded.
        """
        cut = self.owner.getPropertyValue("GraphicCrop")
        sides = _sides(cut)
        before = self._extent(self.graphic()) if any(sides) else None
        self.owner.setPropertyValue("Graphic", graphic)
        if before is None:
            return
        self.loaded = self.loaded or sides
        if final and absolute and _same(sides, self.set_to or sides):
            wanted = self.loaded
        else:
            wanted = _scaled(sides, before, self._extent(graphic))
        cut.Top, cut.Bottom, cut.Left, cut.Right = self.set_to = wanted
        self.owner.setPropertyValue("GraphicCrop", cut)

    def _extent(self, graphic: Any) -> tuple[float, float]:
        """Width and height in 1/100 mm, as the program reckons them."""
        size = graphic.getPropertyValue("Size100thMM")
        if size.Width and size.Height:
            return size.Width, size.Height
        size = graphic.getPropertyValue("SizePixel")
        return size.Width * self.document.pixel, size.Height * self.document.pixel


@dataclass
class Fill:
    """Something that is filled with a picture of the document's table of bitmaps."""

    owner: Any
    page: int
    document: PlacedDocument
    behind: Any = None
    """The page of which `owner` is the background: it has to be told again."""

    def graphic(self) -> Any:
        return self.document.bitmaps.getByName(self._name())

    def show(self, graphic: Any, *, final: bool, absolute: bool) -> None:
        """Others of the same name get the same picture, which is the same part of the file."""
        del final, absolute
        name = self._name()
        self.document.bitmaps.replaceByName(name, graphic)
        # By the name alone a background may find the old one again, under the same name.
        self.owner.setPropertyValue("FillBitmapName", name)
        self.owner.setPropertyValue("FillBitmap", graphic)
        if self.behind is not None:
            self.behind.setPropertyValue("Background", self.owner)

    def _name(self) -> Any:
        return self.owner.getPropertyValue("FillBitmapName")


Place = Union[PlacedPicture, Fill]  # noqa: UP007  (evaluated, and 3.9 can't)


def walk(model: Any) -> Iterator[Place]:
    """All places, those on pages first, in order."""
    screen = model.getCurrentController().getFrame().getContainerWindow().getInfo()
    bitmaps = model.createInstance("com.sun.star.drawing.BitmapTable")
    document = PlacedDocument(bitmaps, 100_000 / screen.PixelPerMeterX)
    if model.supportsService("com.sun.star.text.TextDocument"):
        yield from _of_text(model, document)
        return
    pages = model.DrawPages
    for number in range(pages.Count):
        page = pages.getByIndex(number)
        yield from _of_page(page, number + 1, document)
    if model.supportsService("com.sun.star.sheet.SpreadsheetDocument"):
        return
    for masters in (model.MasterPages,):
        for number in range(masters.Count):
            yield from _of_page(masters.getByIndex(number), EVERYWHERE, document)
    for number in range(pages.Count):
        yield from _of_shapes(pages.getByIndex(number).NotesPage, number + 1, document)


def _of_page(page: Any, number: int, document: PlacedDocument) -> Iterator[Place]:
    yield from _background(page, number, document)
    yield from _of_shapes(page, number, document)


def _background(page: Any, number: int, document: PlacedDocument) -> Iterator[Fill]:
    background = getattr(page, "Background", None)  # sheets have none
    if background is not None and background.getPropertyValue("FillStyle") == BITMAP:
        yield Fill(background, number, document, behind=page)


def _of_shapes(shapes: Any, page: int, document: PlacedDocument, depth: int = 0) -> Iterator[Place]:
    for number in range(shapes.getCount()):
        shape = shapes.getByIndex(number)
        kind = shape.getShapeType()
        if kind in _PICTURES:
            yield PlacedPicture(shape, page, document)
        elif kind == _GROUP and depth < _DEPTH:
            yield from _of_shapes(shape, page, document, depth + 1)
        elif kind in _TABLES:
            yield from _of_cells(shape.getPropertyValue("Model"), page, document)
        else:
            yield from _fill(shape, page, document)


def _of_cells(table: Any, page: int, document: PlacedDocument) -> Iterator[Fill]:
    columns, rows = table.getColumns().getCount(), table.getRows().getCount()
    if columns * rows > _CELLS:
        return
    for row in range(rows):
        for column in range(columns):
            yield from _fill(table.getCellByPosition(column, row), page, document)


def _fill(owner: Any, page: int, document: PlacedDocument) -> Iterator[Fill]:
    try:
        filled = owner.getPropertyValue("FillStyle") == BITMAP
    except UnoException:
        return  # lines, controls, embedded objects: they have no area
    if filled:
        yield Fill(owner, page, document)


def _of_text(model: Any, document: PlacedDocument) -> Iterator[Place]:
    graphics = model.getGraphicObjects()
    for name in graphics.getElementNames():
        yield PlacedPicture(graphics.getByName(name), EVERYWHERE, document)
    shapes = model.getDrawPage()
    for number in range(shapes.getCount()):
        shape = shapes.getByIndex(number)
        kind = shape.getShapeType()
        if kind in _PICTURES:
            yield PlacedPicture(shape, EVERYWHERE, document)
        elif kind == _GROUP:
            yield from _of_shapes(shape, EVERYWHERE, document)
        else:
            yield from _fill(shape, EVERYWHERE, document)
    families = model.getStyleFamilies()
    styles = families.getByName("PageStyles")
    for name in styles.getElementNames():
        yield from _fill(styles.getByName(name), EVERYWHERE, document)


def _sides(cut: Any) -> tuple[int, int, int, int]:
    return cut.Top, cut.Bottom, cut.Left, cut.Right


def _same(some: tuple[int, ...], others: tuple[int, ...]) -> bool:
    """But for rounding: a text has twips inside."""
    return all(abs(one - other) <= _ROUNDING for one, other in zip(some, others))  # noqa: B905


def _scaled(
    sides: tuple[int, int, int, int], before: tuple[float, float], after: tuple[float, float]
) -> tuple[int, int, int, int]:
    """1/100 mm of a picture of another extent."""
    if not all((*before, *after)):
        return sides
    across, down = after[0] / before[0], after[1] / before[1]
    top, bottom, left, right = sides
    return round(top * down), round(bottom * down), round(left * across), round(right * across)
