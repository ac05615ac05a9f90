"""Reports what a person does with the document as it happens (HATS, section 2: tracking driver).

Listeners are called in the program's own thread while it waits, so they return at once. Must not
know: commands, pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import unohelper
from com.sun.star.beans import XPropertyChangeListener
from com.sun.star.document import XDocumentEventListener, XUndoManagerListener
from com.sun.star.lang import XEventListener
from com.sun.star.uno import Exception as UnoException
from com.sun.star.view import XSelectionChangeListener

Report = Callable[..., None]
_STORED = ("OnSaveDone", "OnSaveAsDone", "OnSaveToDone", "OnCopyToDone")


class Watcher(
    unohelper.Base,
    XDocumentEventListener,
    XPropertyChangeListener,
    XSelectionChangeListener,
    XUndoManagerListener,
    XEventListener,
):
    """Watches one version of the document."""

    def __init__(self, window: Any, report: Report) -> None:
        self._window = window
        self._report = report
        self._model = window.model
        self._page = 0
        self.edited = False
        self._model.addDocumentEventListener(self)
        controller = self._model.getCurrentController()
        if self._model.supportsService("com.sun.star.presentation.PresentationDocument"):
            controller.addPropertyChangeListener("CurrentPage", self)
        elif not window.is_text():  # of a text more is known: graphics_on_screen.py
            controller.addSelectionChangeListener(self)
        self._model.getUndoManager().addUndoManagerListener(self)
        window.frame.addEventListener(self)
        if not window.is_text():
            self._at()

    def documentEventOccured(self, event: Any) -> None:
        """What has been stored is the person's as well, whether edited or not."""
        name = event.EventName
        if name == "OnFocus":
            self._report("focus", on=True)
        elif name == "OnUnfocus":
            self._report("focus", on=False)
        elif name == "OnModifyChanged" and self._model.isModified():
            self._edit()
        elif name in _STORED:
            self._report("stored", how=name, url=self._model.getURL())
            if name == "OnSaveAsDone":
                self._window.saved = True
                self._edit()

    def propertyChange(self, event: Any) -> None:
        self._at()

    def selectionChanged(self, event: Any) -> None:
        self._at()

    def actionUndone(self, event: Any) -> None:
        """It may bring a picture back as it was, coarse."""
        self._report("undone")

    actionRedone = actionUndone

    def undoActionAdded(self, event: Any) -> None:
        pass

    allActionsCleared = redoActionsCleared = resetAll = undoActionAdded
    enteredContext = enteredHiddenContext = undoActionAdded
    leftContext = leftHiddenContext = cancelledContext = undoActionAdded

    def disposing(self, source: Any) -> None:
        """The frame is disposed of, or the document alone, which leaves an empty window."""
        if source.Source in (self._window.frame, self._model) and not self._window.opening:
            self._report("closed")

    def _edit(self) -> None:
        if not self.edited:
            self.edited = True
            self._report("edited")

    def _at(self) -> None:
        try:
            page = self._window.page()
        except (UnoException, AttributeError):
            return  # between two versions of the document
        if page != self._page:
            self._page = page
            self._report("page", page=page)
