"""Saving, exporting and printing wait until every picture is here.

The commands of menus, keys and toolbars are intercepted: what is asked for is done once all is
here, and the person works on meanwhile. Asked a second time, he may have it at once, with coarse
pictures. Must not know: the standard streams, how pictures come.

Source: LibreOffice API, com.sun.star.frame.XDispatchProviderInterceptor.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import unohelper
from com.sun.star.frame import XDispatch, XDispatchProviderInterceptor, XInterceptorInfo
from com.sun.star.uno import Exception as UnoException

COMMANDS = (
    ".uno:Save", ".uno:SaveAs", ".uno:SaveACopy", ".uno:SaveAsTemplate", ".uno:SaveAsRemote",
    ".uno:SaveAll", ".uno:ExportTo", ".uno:ExportToPDF", ".uno:ExportDirectToPDF",
    ".uno:ExportToEPUB", ".uno:ExportDirectToEPUB", ".uno:SendMail", ".uno:SendMailDocAsPDF",
    ".uno:SendMailDocAsOOo", ".uno:SendMailDocAsMS", ".uno:Print", ".uno:PrintDefault",
)  # fmt: skip


class SaveGate(unohelper.Base, XDispatchProviderInterceptor, XInterceptorInfo):
    """Before the commands of one window."""

    def __init__(self, frame: Any, held: Callable[[str], None], ask: Callable[[], bool]) -> None:
        self._held = held
        self._ask = ask
        self._slave: Any = None
        self._master: Any = None
        self._waiting: dict[str, tuple[Any, Any, Any]] = {}
        self.open = False
        frame.registerDispatchProviderInterceptor(self)

    def getInterceptedURLs(self) -> tuple[str, ...]:
        return COMMANDS

    def getSlaveDispatchProvider(self) -> Any:
        return self._slave

    def setSlaveDispatchProvider(self, provider: Any) -> None:
        self._slave = provider

    def getMasterDispatchProvider(self) -> Any:
        return self._master

    def setMasterDispatchProvider(self, provider: Any) -> None:
        self._master = provider

    def queryDispatch(self, url: Any, target: str, flags: int) -> Any:
        dispatch = self._slave.queryDispatch(url, target, flags)
        if dispatch is None or self.open or url.Main not in COMMANDS:
            return dispatch
        return _Waiting(self, dispatch)

    def queryDispatches(self, requests: Any) -> tuple[Any, ...]:
        return tuple(self.queryDispatch(r.FeatureURL, r.FrameName, r.SearchFlags) for r in requests)

    def take(self, dispatch: Any, url: Any, arguments: Any) -> None:
        """Do it now, or once all is here."""
        if self.open:
            dispatch.dispatch(url, arguments)
        elif url.Main in self._waiting:
            threading.Thread(target=self._again, args=(url.Main,), daemon=True).start()
        else:
            self._waiting[url.Main] = (dispatch, url, arguments)
            self._held(url.Main)

    def let_through(self) -> None:
        """All is here, or will not come."""
        self.open = True
        for command in list(self._waiting):
            threading.Thread(target=self._do, args=(command,), daemon=True).start()

    def _again(self, command: str) -> None:
        if self._ask():
            self._do(command)

    def _do(self, command: str) -> None:
        """It may show a dialog, and returns when that is closed."""
        dispatch, url, arguments = self._waiting.pop(command, (None, None, None))
        if dispatch is not None:
            with contextlib.suppress(UnoException):  # the window may have been closed
                dispatch.dispatch(url, arguments)


class _Waiting(unohelper.Base, XDispatch):
    """One command, as toolbars and menus see it."""

    def __init__(self, gate: SaveGate, dispatch: Any) -> None:
        self._gate = gate
        self._dispatch = dispatch

    def dispatch(self, url: Any, arguments: Any) -> None:
        self._gate.take(self._dispatch, url, arguments)

    def addStatusListener(self, listener: Any, url: Any) -> None:
        self._dispatch.addStatusListener(listener, url)

    def removeStatusListener(self, listener: Any, url: Any) -> None:
        self._dispatch.removeStatusListener(listener, url)
