"""A person at LibreOffice, run by the Python that has `uno`: one action, its result as JSON."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import Any

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.lang import DisposedException
from com.sun.star.uno import Exception as UnoException


def properties(**values: Any) -> tuple[Any, ...]:
    return tuple(PropertyValue(Name=key, Value=value) for key, value in values.items())


PDF = {
    "com.sun.star.presentation.PresentationDocument": "impress_pdf_Export",
    "com.sun.star.text.TextDocument": "writer_pdf_Export",
    "com.sun.star.sheet.SpreadsheetDocument": "calc_pdf_Export",
}


PATIENCE = 1.0
"""Seconds for which a reader waits while one document takes another's place in the window."""


class Person:
    def __init__(self, pipe: str) -> None:
        local = uno.getComponentContext()
        resolver = local.ServiceManager.createInstanceWithContext(
            "com.sun.star.bridge.UnoUrlResolver", local
        )
        self.context = resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
        self.manager = self.context.ServiceManager
        self.desktop = self.create("com.sun.star.frame.Desktop")

    def create(self, service: str) -> Any:
        return self.manager.createInstanceWithContext(service, self.context)

    @property
    def model(self) -> Any:
        frame = self.desktop.getFrames().getByIndex(0)
        return frame.getController().getModel()

    @property
    def frame(self) -> Any:
        return self.model.getCurrentController().getFrame()

    def patiently(self, what: str, **arguments: Any) -> Any:
        """As `what`, once there is a document in the window that stays for it."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return getattr(self, what)(**arguments)
            except (AttributeError, DisposedException):  # there is none, or it is leaving
                if time.monotonic() > until:
                    raise
            time.sleep(0.02)

    def state(self) -> dict[str, Any]:
        model = self.model
        undo = model.getUndoManager()
        return {
            "title": model.getTitle(),
            "modified": model.isModified(),
            "readonly": model.isReadonly(),
            "undo": list(undo.getAllUndoActionTitles()),
            "frames": self.desktop.getFrames().getCount(),
        }

    def pdf(self, path: str) -> None:
        """A PDF of what is shown."""
        _export(self.model, path)

    def reference(self, original: str, path: str) -> None:
        """A PDF of a file on its own."""
        shown = self.desktop.loadComponentFromURL(
            "file://" + original, "_blank", 0, properties(Hidden=True, ReadOnly=True)
        )
        _export(shown, path)
        shown.close(True)

    def type_on(self, page: int, text: str) -> None:
        """Into the first text of a slide."""
        self._texts(page)[0].setString(text)
        self.model.setModified(True)

    def delete_pictures_on(self, page: int) -> None:
        self.go(page)
        for shape in self._pictures(page):
            self.model.getCurrentController().select(shape)
            self.dispatch(".uno:Delete")

    def page(self) -> int:
        """The slide that is shown."""
        return int(self.model.getCurrentController().getCurrentPage().getPropertyValue("Number"))

    def text_on(self, page: int) -> str:
        return "\n".join(shape.getString() for shape in self._texts(page))

    def _texts(self, page: int) -> list[Any]:
        shapes = self.model.getDrawPages().getByIndex(page - 1)
        found = [shapes.getByIndex(number) for number in range(shapes.getCount())]
        return [shape for shape in found if shape.supportsService("com.sun.star.drawing.Text")]

    def undo(self) -> None:
        self.model.getUndoManager().undo()

    def go(self, page: int) -> None:
        model = self.model
        model.getCurrentController().setCurrentPage(model.getDrawPages().getByIndex(page - 1))

    def prose(self) -> str:
        """All of a text, as it is shown."""
        return str(self.model.getText().getString())

    def read_to_the_end(self) -> None:
        self.model.getCurrentController().getViewCursor().gotoEnd(False)

    def present(self) -> None:
        """Returns when the slide show runs."""
        presentation = self.model.getPresentation()
        presentation.start()
        while not presentation.isRunning():
            time.sleep(0.05)

    def end_presenting(self) -> None:
        self.model.getPresentation().end()

    def save_as(self, path: str, kind: str) -> None:
        self.model.storeAsURL("file://" + path, properties(FilterName=kind))

    def copy_slide(self, page: int) -> None:
        model = self.model
        model.duplicate(model.getDrawPages().getByIndex(page - 1))
        model.setModified(True)

    def pictures_on(self, page: int) -> list[Any]:
        """Extents, in pixels."""
        graphics = [shape.getPropertyValue("Graphic") for shape in self._pictures(page)]
        extents = [graphic.getPropertyValue("SizePixel") for graphic in graphics]
        return [(extent.Width, extent.Height) for extent in extents]

    def _pictures(self, page: int) -> list[Any]:
        shapes = self.model.getDrawPages().getByIndex(page - 1)
        found = [shapes.getByIndex(number) for number in range(shapes.getCount())]
        return [s for s in found if s.getShapeType().endswith("GraphicObjectShape")]

    def store(self, path: str, kind: str) -> None:
        """A copy, as programs ask for it: not by a command."""
        self.model.storeToURL("file://" + path, properties(FilterName=kind))

    def convert(self, original: str, to: str, kind: str) -> None:
        """A file, as LibreOffice saves it when it is opened on its own."""
        shown = self.desktop.loadComponentFromURL(
            "file://" + original, "_blank", 0, properties(Hidden=True, ReadOnly=True)
        )
        shown.storeToURL("file://" + to, properties(FilterName=kind))
        shown.close(True)

    def dispatch(self, command: str, **arguments: Any) -> None:
        helper = self.create("com.sun.star.frame.DispatchHelper")
        helper.executeDispatch(self.frame, command, "", 0, properties(**arguments))

    def close(self) -> None:
        self.model.setModified(False)
        with contextlib.suppress(UnoException):  # it may end before it answers
            self.dispatch(".uno:CloseWin")


def _export(model: Any, path: str) -> None:
    kind = next(kind for kind in PDF if model.supportsService(kind))
    model.storeToURL("file://" + path, properties(FilterName=PDF[kind]))


def main() -> None:
    person = Person(sys.argv[1])
    for line in sys.stdin:
        name, arguments = json.loads(line)
        began = time.monotonic()
        try:
            result: Any = getattr(person, name)(**arguments)
            print(json.dumps({"result": result, "took": time.monotonic() - began}), flush=True)
        except Exception as error:
            print(json.dumps({"error": repr(error)}), flush=True)


if __name__ == "__main__":
    main()
