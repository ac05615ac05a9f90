"""The pictures of one open document: where each is shown, and better versions put there.

Must not know: windows, the standard streams.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.uno import Exception as UnoException

from .marks import Marks
from .places import Place, PlacedPicture, walk


class Album:
    """Places are kept: what a person moves or edits stays the same place."""

    def __init__(self, model: Any, context: Any, *, absolute: bool) -> None:
        self._model = model
        self._context = context
        self._absolute = absolute
        self._marks = Marks()
        self._places: dict[int, list[Place]] = {}

    def find(self) -> dict[int, list[int]]:
        """Pictures that are not final, and the pages that show them (0: masters, any)."""
        found: dict[int, list[Place]] = {}
        for place in walk(self._model):
            try:
                number = self._marks.number(place.graphic())
            except UnoException:
                continue  # removed while we look
            if number:
                found.setdefault(number, []).append(place)
        self._places = found
        return {number: sorted({place.page for place in found[number]}) for number in found}

    def names(self) -> dict[str, int]:
        """The names of pictures in a text: what they are called there, and their numbers."""
        return {
            place.owner.getName(): number
            for number, places in list(self._places.items())
            for place in places
            if isinstance(place, PlacedPicture)
        }

    def show(self, number: int, file: Path, *, final: bool) -> int:
        """Put the picture in `file` wherever `number` is; how many places that were.

        Raises ValueError where it is no picture that this program knows.
        """
        places = self._places.get(number, [])
        if not places:
            return 0
        graphic = self._graphic(file)
        if not final:
            self._marks.shown(number, graphic)
        undo = self._model.getUndoManager()
        undo.lock()
        self._model.disableSetModified()  # a person did not do this
        try:
            return sum(self._put(place, graphic, final) for place in places)
        finally:
            self._model.enableSetModified()
            undo.unlock()

    def _put(self, place: Place, graphic: Any, final: bool) -> bool:
        try:
            place.show(graphic, final=final, absolute=self._absolute)
        except UnoException:
            return False  # a person has removed it
        return True

    def _graphic(self, file: Path) -> Any:
        services = self._context.ServiceManager
        stream = services.createInstanceWithArgumentsAndContext(
            "com.sun.star.io.SequenceInputStream",
            (uno.ByteSequence(file.read_bytes()),),
            self._context,
        )
        provider = services.createInstanceWithContext(
            "com.sun.star.graphic.GraphicProvider", self._context
        )
        try:
            graphic = provider.queryGraphic((PropertyValue(Name="InputStream", Value=stream),))
        except UnoException:
            graphic = None
        if graphic is None:
            raise ValueError("no picture that LibreOffice knows")
        return graphic
