"""Somebody who sits before the LibreOffice of a bench: reads it, and does things in it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Final

from local_proxy.export_drivers.libreoffice.find import Office

SCRIPT: Final = Path(__file__).resolve().parents[2] / "tests" / "local_proxy" / "office_person.py"

Does = Callable[..., Coroutine[Any, Any, Any]]
"""`await does("go", page=3)`. Raises OSError."""


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """Where all temporary files lie meanwhile, those of a LibreOffice that is started among them:
    it is known by that."""
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir, before = folder, tempfile.tempdir
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = before


@contextlib.asynccontextmanager
async def person(office: Office, folder: Path) -> AsyncIterator[Does]:
    """Somebody before the LibreOffice whose files are in `folder`. Raises OSError."""
    process = await asyncio.create_subprocess_exec(
        office.python,
        str(SCRIPT),
        _pipe(folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None

    async def does(name: str, **arguments: object) -> Any:
        stdin.write(json.dumps([name, arguments]).encode() + b"\n")
        line = await stdout.readline()
        if not line:
            raise OSError("LibreOffice has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise OSError(answer["error"])
        return answer["result"]

    try:
        yield does
    finally:
        stdin.close()
        await process.wait()


def _pipe(folder: Path) -> str:
    """The name of the pipe on which the LibreOffice whose files are in `folder` listens."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (process / "cmdline").read_bytes().decode(errors="replace")
            if str(folder) in line and (found := re.search(r"--accept=pipe,name=([^;]+);", line)):
                return found[1]
    raise OSError("LibreOffice does not run")
