"""LibreOffice on this machine, and a Python that can talk to it.

`uno` is a compiled module of the system's Python, or of the one that LibreOffice brings along; our
own environment need not have it. Must not know: documents.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROGRAMS: Final = ("soffice", "libreoffice")
FOLDERS: Final = (
    "/usr/lib/libreoffice/program",
    "/opt/libreoffice/program",
    "/snap/libreoffice/current/lib/libreoffice/program",
    "/Applications/LibreOffice.app/Contents/MacOS",
)
_PATIENCE: Final = 20.0
"""Seconds for a Python to import `uno`; a cold disk takes some."""


class NoOffice(Exception):
    """What is missing; the text says how to get it."""


@dataclass(frozen=True, slots=True)
class Office:
    """What a session is started with."""

    soffice: str
    python: str


def find(wanted: str | None = None) -> Office:
    """The program `wanted`, or the one of this machine. Blocks for up to some seconds.

    Raises NoOffice.
    """
    soffice = _soffice(wanted)
    for python in _pythons(soffice):
        if _has_uno(python):
            return Office(soffice, python)
    raise NoOffice(
        "No Python here can talk to LibreOffice: install its bridge (apt-get install python3-uno)."
    )


def _soffice(wanted: str | None) -> str:
    if wanted is not None:
        if path := shutil.which(wanted):
            return path
        raise NoOffice(f"There is no program {wanted!r}.")
    for name in _PROGRAMS:
        if path := shutil.which(name):
            return path
    for folder in FOLDERS:
        if path := shutil.which("soffice", path=folder):
            return path
    raise NoOffice("LibreOffice is not here (apt-get install libreoffice-impress).")


def _pythons(soffice: str) -> Iterable[str]:
    beside = Path(soffice).resolve().parent
    for path in (beside / "python", beside / "python3", beside.parent / "Resources" / "python"):
        if path.is_file():
            yield str(path)
    yield "/usr/bin/python3"
    if path_python := shutil.which("python3"):
        yield path_python
    yield sys.executable


def _has_uno(python: str) -> bool:
    try:
        done = subprocess.run(
            [python, "-c", "import uno"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
