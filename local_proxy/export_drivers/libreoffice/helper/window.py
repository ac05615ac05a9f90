"""The window in which the document is shown, and what a person reads about it there.

Versions of the file replace each other in the same window for as long as nobody has edited it.
Must not know: the standard streams, where versions come from.

Source: LibreOffice API, com.sun.star.document.MediaDescriptor, frame.XInfobarProvider.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.uno import Exception as UnoException

from .album import Album
from .program import Program

_INFO, _WARNING = 0, 1
"""com.sun.star.frame.InfobarType."""
_OPEN_DOCUMENT = (".odp", ".odt", ".ods")
_NEVER = 0
"""com.sun.star.document.MacroExecMode and UpdateDocMode: no macros, no updates of links."""


class WindowBusy(Exception):
    """The document can't be replaced now; later it can."""


class OfficeWindow:
    """Nothing here lasts longer than one version of the document, but the frame."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.name = ""
        """Of the document's file, for people."""
        self.frame: Any = None
        self.model: Any = None
        self.album: Album | None = None
        self.opening = False
        """One version of the document makes way for the next."""
        self.saved = False
        """By the person, as a file of his own, which has a name of its own."""

    def open(self, file: Path, name: str, *, editable: bool) -> dict[int, list[int]]:
        """Show `file`, in place of what is shown; where pictures are that are not final.

        A person is left at the page where he was. Raises Busy during a slide show, UnoException.
        """
        where = self._position()
        self.name = name
        target = "_blank" if self.frame is None else "_self"
        loader = self._program.desktop if self.frame is None else self.frame
        self.opening = True
        try:
            model = loader.loadComponentFromURL(
                file.as_uri(), target, 0, self._descriptor(editable)
            )
        finally:
            self.opening = False
        if model is None:
            raise OSError(f"LibreOffice could not open {file.name}")
        self.model = model
        self.frame = model.getCurrentController().getFrame()
        absolute = self.name.lower().endswith(_OPEN_DOCUMENT)
        self.album = Album(model, self._program.context, absolute=absolute)
        self._go(where)
        self.say("")
        if editable:
            model.setModified(False)
        return self.album.find()

    def say(self, status: str) -> None:
        """In the title, behind the name."""
        if self.model is not None and not self.saved:
            self.model.setTitle(f"{self.name} ({status})" if status else self.name)

    def tell(self, title: str, text: str, *, warn: bool) -> None:
        """A bar above the document, which stays until it is closed. It replaces the last one."""
        controller = self.model.getCurrentController()
        try:
            if controller.hasInfobar("sluice"):
                controller.removeInfobar("sluice")
            controller.appendInfobar("sluice", title, text, _WARNING if warn else _INFO, (), True)
        except UnoException:
            pass  # it is closing

    def ask(self, title: str, text: str) -> bool:
        """Yes or no, in a box before the window."""
        toolkit = self._program.create("com.sun.star.awt.Toolkit")
        kind = uno.Enum("com.sun.star.awt.MessageBoxType", "QUERYBOX")
        yes_no = 3
        box = toolkit.createMessageBox(self.frame.getContainerWindow(), kind, yes_no, title, text)
        return bool(box.execute() == 2)

    def page(self) -> int:
        """The page, slide or sheet a person is at, from 1."""
        controller = self.model.getCurrentController()
        if self.is_text():
            return int(controller.getViewCursor().getPage())
        if self.model.supportsService("com.sun.star.sheet.SpreadsheetDocument"):
            return int(controller.getActiveSheet().getRangeAddress().Sheet) + 1
        return int(controller.getCurrentPage().getPropertyValue("Number"))

    def pages(self) -> int:
        """How many; 1 of a text."""
        if self.is_text():
            return 1
        if self.model.supportsService("com.sun.star.sheet.SpreadsheetDocument"):
            return int(self.model.getSheets().getCount())
        return int(self.model.getDrawPages().getCount())

    def _descriptor(self, editable: bool) -> tuple[Any, ...]:
        """A copy without a place of its own, so that nobody saves to a file that goes away."""
        wanted = {
            "MacroExecutionMode": _NEVER,
            "UpdateDocMode": _NEVER,
            "Silent": True,
            "AsTemplate": editable,
            "ReadOnly": not editable,
            "LockEditDoc": not editable,
            "SuggestedSaveAsName": self.name,
        }
        return tuple(PropertyValue(Name=key, Value=value) for key, value in wanted.items())

    def _position(self) -> Any:
        if self.model is None:
            return None
        if self._is_slides():
            if self.model.getPresentation().isRunning():
                raise WindowBusy
            return self.page()
        return self.model.getCurrentController().getViewData()

    def _go(self, where: Any) -> None:
        controller = self.model.getCurrentController()
        if where is None:
            return
        if self._is_slides():
            pages = self.model.getDrawPages()
            controller.setCurrentPage(pages.getByIndex(min(where, pages.getCount()) - 1))
        else:
            controller.restoreViewData(where)

    def is_text(self) -> bool:
        return bool(self.model.supportsService("com.sun.star.text.TextDocument"))

    def _is_slides(self) -> bool:
        return bool(self.model.supportsService("com.sun.star.presentation.PresentationDocument"))
