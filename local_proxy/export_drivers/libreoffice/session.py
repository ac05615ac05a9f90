"""The helper process beside LibreOffice: commands to it, reports from it.

Whatever ends first, nothing is left behind: the helper ends with its standard input, LibreOffice
with the helper, and where the helper was killed, LibreOffice is ended here. The one exception is a
document that a person has edited: its window stays until it is closed. Must not know: pictures,
sources.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from local_proxy.export_drivers.libreoffice.find import Office
from local_proxy.kept.threads import PROGRAMS

PREFIX: Final = "sluice-open-"
FAREWELL: Final = 12.0
"""Seconds that the helper gets to end LibreOffice."""
_TRIES: Final = 50
_MOMENT: Final = 0.1
"""Seconds between tries to remove what the killed may still write into."""
_LONGEST: Final = 1 << 22
"""Bytes of a report: the places of a document's pictures."""

Report = Mapping[str, Any]


class OfficeFailed(Exception):
    """LibreOffice or its helper is gone; the text is for people."""


class OfficeSession:
    """A LibreOffice with one window."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self._process = process
        self._heard: Callable[[Report], None] | None = None
        self._unheard: list[Report] = []
        """Reports that came before anybody wanted them."""
        self._ready = False
        """LibreOffice answers."""
        self._answers: asyncio.Queue[Report | None] = asyncio.Queue()
        self._one = asyncio.Lock()
        self.folder = folder
        self.group: int | None = None
        """Process group of LibreOffice."""
        self._begun = asyncio.Event()
        """The group is known, or there will be none."""
        self.edited = False
        self.over = asyncio.Event()
        """The helper is gone, with the window or before it."""
        self._listening = asyncio.create_task(self._listen())

    def tell(self, heard: Callable[[Report], None]) -> None:
        """Have `heard` called with each report, those that have come among them."""
        self._heard = heard
        for report in self._unheard:
            heard(report)
        self._unheard.clear()

    async def ask(self, do: str, **fields: object) -> Report:
        """One command, and its answer, which may have `error`. Raises OfficeFailed."""
        async with self._one:
            stdin = self._process.stdin
            if stdin is None or self.over.is_set():
                raise OfficeFailed("The window is closed.")
            try:
                stdin.write(json.dumps({"do": do, **fields}).encode() + b"\n")
                await stdin.drain()
            except OSError as error:
                raise OfficeFailed("LibreOffice's helper has ended.") from error
            answer = await self._answers.get()
            if answer is None:
                self._answers.put_nowait(None)
                raise OfficeFailed("LibreOffice has ended.")
            return answer

    async def _listen(self) -> None:
        """Read reports until the helper ends."""
        stdout = self._process.stdout
        try:
            while stdout is not None and (line := await stdout.readline()):
                report = json.loads(line)
                if "did" in report:
                    self._answers.put_nowait(report)
                else:
                    self._note(report)
        finally:
            self.over.set()
            self._begun.set()
            self._answers.put_nowait(None)

    def _note(self, report: Report) -> None:
        if report["event"] == "started":
            self.group = report["group"]
            self._begun.set()
        elif report["event"] == "ready":
            self._ready = True
        elif report["event"] == "edited":
            self.edited = True
        if self._heard is not None:
            self._heard(report)
        else:
            self._unheard.append(report)

    async def end(self) -> None:
        """No process and no file is left. What a person has edited he closes himself."""
        await self._leave()
        if self._process.returncode is None:
            self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError, ValueError):
            await self._listening

    async def _leave(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if self.edited else FAREWELL):
                await self._begun.wait()
                if not self._ready:
                    self._kill_office()  # has nothing to lose; the helper ends with it
                await self._process.wait()
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        if self.group is not None and self.edited and self._process.returncode != 0:
            return  # the helper was killed: the person goes on without it
        self._kill_office()
        await PROGRAMS.run(remove, self.folder)

    def _kill_office(self) -> None:
        if self.group is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.group, signal.SIGKILL)


def remove(folder: Path) -> None:
    """Remove it. The killed write a moment longer, and into a folder that is being emptied."""
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_MOMENT)


@contextlib.asynccontextmanager
async def started(office: Office, *, like: str) -> AsyncIterator[OfficeSession]:
    """Start the helper, which starts LibreOffice and in it what shows a file of a name `like` this.

    Raises OfficeFailed.
    """
    starting = asyncio.create_task(_start(office, like))
    try:
        yield await asyncio.shield(starting)  # cancelled, it is awaited all the same, to be ended
    finally:
        await asyncio.shield(_end(starting))


async def _start(office: Office, like: str) -> OfficeSession:
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    here = Path(__file__).parent
    try:
        process = await asyncio.create_subprocess_exec(
            office.python, "-m", "helper",
            "--soffice", office.soffice, "--folder", str(folder), "--like", like,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST,
            cwd=folder,
            start_new_session=True,  # a Ctrl-C on the terminal is ours to handle
            env={**os.environ, "PYTHONPATH": str(here), "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise OfficeFailed(f"{office.python}: {error.strerror or error}") from error
    return OfficeSession(process, folder)


async def _end(starting: asyncio.Task[OfficeSession]) -> None:
    with contextlib.suppress(OfficeFailed):  # told to who started it
        await (await starting).end()
