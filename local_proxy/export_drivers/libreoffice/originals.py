"""Where the original of a document is kept that a person edited before all of it was here."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from office.source import Source

_TRIES: Final = 1000


def folder() -> Path:
    """Where people look for what has come over the network."""
    for place in (os.environ.get("XDG_DOWNLOAD_DIR"), str(Path.home() / "Downloads")):
        if place and Path(place).is_dir():
            return Path(place)
    return Path.home()


def keep(source: Source, to: Path) -> Path:
    """Copy the complete file there, in nobody's place; where it is now. Raises OSError."""
    name = Path(source.name)
    for number in range(1, _TRIES):
        more = f" {number}" if number > 1 else ""
        path = to / f"{name.stem} (original{more}){name.suffix}"
        try:
            with path.open("xb") as copy, source.path.open("rb") as original:
                shutil.copyfileobj(original, copy)
        except FileExistsError:
            continue
        return path
    raise OSError(f"{to} has {_TRIES} copies of {name} already")
