"""Finds what Sluice has left in its folders, so that it can go without a trace.

A folder may be anybody's: a setting names it. So what goes is what Sluice gives these names, and
the folder itself only if nothing else is in it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

OWN: Final = (
    *("authority.pem", "ca.pem", "key", "pairing", "documents", "remote"),
    *("sluice.sqlite3*", "texts.sqlite3*", ".new-*"),
    *("identity.pem", "devices", "listening", "revoked"),
    "sluice.toml",
)
"""Names in the folders of state and settings."""
FOLDER: Final = "sluice"
"""Their own name, unless a setting gives them another."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One folder."""

    folder: Path
    what: str
    own: tuple[Path, ...]
    others: tuple[Path, ...]
    """In it, and not of Sluice."""

    def __str__(self) -> str:
        size = sum(_size(one) for one in self.own)
        kept = "" if not self.others else f"; {len(self.others)} other files in it stay"
        return f"{self.folder} ({self.what}, {size / 1e6:.1f} MB{kept})"

    def remove(self) -> None:
        """Raises OSError."""
        for one in self.own:
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one)
            else:
                one.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()


def prune(folder: Path, *, below: Path) -> None:
    """Remove a folder and those around it, up to `below`, as far as nothing is in them."""
    while folder != below and folder.is_relative_to(below):
        try:
            folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            return  # something is in it, or it is not ours to remove
        folder = folder.parent


def traces(places: Iterable[tuple[Path, str]]) -> list[Trace]:
    """What is there of it: folders, and what each holds. Raises OSError."""
    found = []
    for folder, what in places:
        if not folder.is_dir():
            continue
        here = sorted(folder.iterdir())
        own = tuple(one for one in here if any(fnmatch(one.name, name) for name in OWN))
        found.append(Trace(folder, what, own, tuple(one for one in here if one not in own)))
    return [one for one in found if one.own or (not one.others and one.folder.name == FOLDER)]


def _size(path: Path) -> int:
    if path.is_dir() and not path.is_symlink():
        return sum(_size(one) for one in path.iterdir())
    return path.lstat().st_size
