"""One LibreOffice of our own: its settings, its process, the connection to it.

It has a user profile of this session alone, so a person's own LibreOffice, running or not, is left
as it is. Macros don't run, and nothing in a document makes it fetch: what a document links to
would go round the proxy (a proxy that isn't there is set for all its connections). Must not know:
documents.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException
from com.sun.star.uno import Exception as UnoException

_FAREWELL = 5.0
"""Seconds that it gets to end by itself."""
_START = 60.0
"""Seconds until it answers: its first start on a slow disk takes 20."""
_FACTORIES = {
    ".pptx": "simpress",
    ".odp": "simpress",
    ".docx": "swriter",
    ".odt": "swriter",
    ".xlsx": "scalc",
    ".ods": "scalc",
}
"""What shows a file, by its suffix (com.sun.star.frame.XDesktop, private:factory)."""
_SETTINGS: dict[str, dict[str, bool | int | str]] = {
    "Office.Common/Security/Scripting": {
        "MacroSecurityLevel": 3,
        "DisableMacrosExecution": True,
        "BlockUntrustedRefererLinks": True,
        "RemovePersonalInfoOnSaving": False,
    },
    "Office.Common/Misc": {"FirstRun": False, "ShowTipOfTheDay": False, "CrashReport": False},
    "Office.Common/Save/Document": {"WarnAlienFormat": False},
    "Office.Writer/Content/Update": {"Link": 2},
    "Office.Calc/Content/Update": {"Link": 2},
    "Office.Impress/Misc": {"TemplateDialogAtStartup": False},
    "Inet/Settings": {
        "ooInetProxyType": 2,
        "ooInetHTTPProxyName": "127.0.0.1",
        "ooInetHTTPProxyPort": 9,
        "ooInetHTTPSProxyName": "127.0.0.1",
        "ooInetHTTPSProxyPort": 9,
        "ooInetFTPProxyName": "127.0.0.1",
        "ooInetFTPProxyPort": 9,
        "ooInetNoProxy": "",
    },
}
"""Below /org.openoffice. Port 9 is discard (RFC 863), where nobody listens."""


class ProgramFailed(Exception):
    """It did not start; the text is for people."""


class Program:
    """LibreOffice and all its processes are one group, which ends as one."""

    def __init__(self, soffice: str, folder: Path) -> None:
        self._folder = folder
        pipe = f"sluice-{os.getpid()}-{os.urandom(4).hex()}"
        profile = folder / "profile"
        _write_settings(profile / "user")
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self.process = subprocess.Popen(
            [
                soffice, "--norestore", "--nologo", "--nodefault", "--nofirststartwizard",
                f"-env:UserInstallation={profile.as_uri()}",
                f"--accept=pipe,name={pipe};urp;StarOffice.ComponentContext",
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env={**environ, "OOX_NO_SMARTART_WARNING": "1"},
        )  # fmt: skip
        self._url = f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext"
        self.context: Any = None
        self.desktop: Any = None

    @property
    def group(self) -> int:
        return self.process.pid

    def connect(self) -> None:
        """Wait until it answers. Raises ProgramFailed."""
        local = uno.getComponentContext()
        resolver = local.ServiceManager.createInstanceWithContext(
            "com.sun.star.bridge.UnoUrlResolver", local
        )
        for _ in range(int(_START / 0.1)):
            try:
                self.context = resolver.resolve(self._url)
                break
            except NoConnectException:
                if self.process.poll() is not None:
                    raise ProgramFailed(
                        f"LibreOffice ended with code {self.process.returncode} as it started"
                    ) from None
                time.sleep(0.1)
        else:
            raise ProgramFailed(f"LibreOffice did not answer within {_START:.0f} s")
        self.desktop = self.create("com.sun.star.frame.Desktop")

    def load(self, name: str) -> None:
        """Have what shows a file of that name in memory: half of what opening it takes."""
        factory = _FACTORIES.get(Path(name).suffix.lower())
        if factory is None:
            return
        hidden = PropertyValue(Name="Hidden", Value=True)
        with contextlib.suppress(UnoException):
            empty = self.desktop.loadComponentFromURL(
                f"private:factory/{factory}", "_blank", 0, (hidden,)
            )
            empty.close(True)

    def create(self, service: str) -> Any:
        return self.context.ServiceManager.createInstanceWithContext(service, self.context)

    def documents(self) -> int:
        """How many it shows: a person may have opened others; its start page is none.

        None, too, where it goes as it is asked: the last window that is closed takes it along.
        """
        try:
            frames = self.desktop.getFrames()
            controllers = (frames.getByIndex(n).getController() for n in range(frames.getCount()))
            return sum(c is not None and c.getModel() is not None for c in controllers)
        except UnoException:
            return 0

    def end(self) -> None:
        """Whatever windows it has. Call it when nobody wants them any more."""
        with contextlib.suppress(UnoException):  # it may be on its way out already
            if self.desktop is not None and self.process.poll() is None:
                self.desktop.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_FAREWELL)
        self.kill()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _write_settings(user: Path) -> None:
    user.mkdir(parents=True, exist_ok=True)
    items = "".join(
        f'<item oor:path="/org.openoffice.{path}"><prop oor:name="{name}" oor:op="fuse">'
        f"<value>{str(value).lower() if isinstance(value, bool) else value}</value></prop></item>"
        for path, props in _SETTINGS.items()
        for name, value in props.items()
    )
    (user / "registrymodifications.xcu").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<oor:items xmlns:oor="http://openoffice.org/2001/registry" '
        'xmlns:xs="http://www.w3.org/2001/XMLSchema" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">{items}</oor:items>',
        "utf-8",
    )
