"""The loop: commands from the proxy, reports to it, one LibreOffice between them.

    {"do": "open", "path": ..., "name": ..., "editable": true} -> {"did": "open", "places": {...}}
    {"do": "show", "number": 3, "path": ..., "final": true} -> {"did": "show", "places": 1}
    {"do": "find"}                                          -> {"did": "find", "places": {...}}
    {"do": "say", "text": ...}   {"do": "tell", "title": ..., "text": ..., "warn": false}
    {"do": "waiting", "done": 3, "of": 17}    {"do": "through"}    {"do": "close"}

Commands are done in order; each is answered, with "error" where it failed. Reports of what a person
does ({"event": "page", "page": 3}) come in between. It ends with the window. When the proxy goes
away first, a document that nobody has edited is closed, an edited one stays until it is closed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import queue
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uno  # noqa: F401  (makes com.sun.star importable)
from com.sun.star.uno import Exception as UnoException

from .album import Album
from .graphics_on_screen import DocumentReader
from .program import Program, ProgramFailed
from .save_gate import SaveGate
from .watcher import Watcher
from .window import OfficeWindow, WindowBusy

_GONE = {"do": "gone"}
_ENDED = {"do": "ended"}
_CLOSED = {"do": "closed"}


class HelperSession:
    """One document from the first view to the closed window."""

    def __init__(self, soffice: str, folder: Path, like: str) -> None:
        self._folder = folder
        self._todo: queue.Queue[dict[str, Any]] = queue.Queue()
        self._writing = threading.Lock()
        self._program = Program(soffice, folder)
        self._window = OfficeWindow(self._program)
        self._like = like
        self._watcher: Watcher | None = None
        self._gate: SaveGate | None = None
        self._reader: DocumentReader | None = None
        self._progress: Any = None
        self._edited = False
        self._left = False
        self._commands: dict[str, Callable[..., dict[str, Any] | None]] = {
            "open": self._open,
            "show": self._show,
            "find": self._find,
            "say": self._say,
            "tell": self._tell,
            "waiting": self._waiting,
            "through": self._through,
        }

    def run(self) -> None:
        """Until nothing is left to be shown."""
        self.report("started", group=self._program.group)
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._await_end, daemon=True).start()
        try:
            self._program.connect()
            self._program.load(self._like)
            self.report("ready")
            while self._do(self._todo.get()):
                pass
        except ProgramFailed as error:
            self.report("failed", text=str(error))
        finally:
            self._program.end()
            if self._left:
                shutil.rmtree(self._folder, ignore_errors=True)
            self.report("ended")

    def report(self, event: str, **fields: Any) -> None:
        self._write({"event": event, **fields})
        if event == "edited":
            self._edited = True
        elif event == "closed":
            self._todo.put(_CLOSED)

    def _write(self, fields: dict[str, Any]) -> None:
        # OSError: the proxy has gone, which the other stream tells as well.
        with self._writing, contextlib.suppress(OSError):
            print(json.dumps(fields), flush=True)

    def _read(self) -> None:
        for line in sys.stdin:
            self._todo.put(json.loads(line))
        self._todo.put(_GONE)

    def _await_end(self) -> None:
        self._program.process.wait()
        self._todo.put(_ENDED)

    def _do(self, command: dict[str, Any]) -> bool:
        """Whether to go on."""
        if command is _ENDED:
            return False
        if command is _CLOSED:
            return self._program.documents() > 0
        if command is _GONE:
            return self._abandoned()
        answer: dict[str, Any] = {"did": command["do"]}
        try:
            answer |= self._commands[command.pop("do")](**command) or {}
        except WindowBusy:
            answer["error"] = "busy"
        except (UnoException, OSError, ValueError, AttributeError) as error:
            answer["error"] = str(getattr(error, "Message", error)) or type(error).__name__
        self._write(answer)
        return True

    def _open(self, path: str, name: str, editable: bool) -> dict[str, Any]:
        """Never in the place of what a person has edited."""
        if self._edited or (self._window.model is not None and self._window.model.isModified()):
            raise ValueError("edited")
        places = self._window.open(Path(path), name, editable=editable)
        self._watcher = Watcher(self._window, self.report)
        if self._gate is None:
            self._gate = SaveGate(self._window.frame, self._held, self._ask)
        if self._reader is None and self._window.is_text():
            self._reader = DocumentReader(self._window, self.report)
        return {"places": places, "pages": self._window.pages()}

    def _show(self, number: int, path: str, final: bool) -> dict[str, Any]:
        return {"places": self._album().show(number, Path(path), final=final)}

    def _find(self) -> dict[str, Any]:
        return {"places": self._album().find()}

    def _say(self, text: str) -> None:
        self._window.say(text)

    def _tell(self, title: str, text: str, warn: bool) -> None:
        self._window.tell(title, text, warn=warn)

    def _waiting(self, done: int, of: int) -> None:
        """Progress of what waits for pictures, in the status bar."""
        if self._progress is None:
            self._progress = self._window.frame.createStatusIndicator()
            self._progress.start("Waiting for pictures before saving", of)
        self._progress.setValue(done)

    def _through(self) -> None:
        if self._progress is not None:
            self._progress.end()
            self._progress = None
        if self._reader is not None:
            self._reader.stop()
        if self._gate is not None:
            self._gate.let_through()

    def _album(self) -> Album:
        if self._window.album is None:
            raise ValueError("nothing is open")
        return self._window.album

    def _held(self, command: str) -> None:
        self.report("held", command=command)

    def _ask(self) -> bool:
        return self._window.ask(
            "Some pictures are not here yet",
            "They are shown coarse, and would be saved so. Go on without waiting for them?",
        )

    def _abandoned(self) -> bool:
        """The proxy has gone: whether to go on, for a person's sake."""
        self._left = True
        if not self._edited:
            return False
        self._window.tell(
            "No more parts of this document will come.",
            "Save what you have edited; pictures that are coarse stay so.",
            warn=True,
        )
        self._through()
        return True


def main() -> None:
    parser = argparse.ArgumentParser(prog="helper")
    parser.add_argument("--soffice", required=True)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--like", default="")
    options = parser.parse_args()
    try:
        session = HelperSession(options.soffice, options.folder, options.like)
    except OSError as error:
        text = f"{options.soffice}: {error.strerror or error}"
        print(json.dumps({"event": "failed", "text": text}), flush=True)
        return
    session.run()


if __name__ == "__main__":
    main()
