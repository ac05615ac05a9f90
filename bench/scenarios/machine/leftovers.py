"""Compares a machine's files before Sluice and after it: what is left is named.

Files of the system that change by themselves (logs, caches, its own clocks) are no trace.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OWN_LIFE: Final = re.compile(
    r"(proc|sys|dev|run|tmp|var/tmp|var/log|var/cache|var/lib/systemd|var/lib/apt"
    r"|root/\.cache/pip|home/[^/]+/\.cache/pip)(/|$)"
    r"|etc/(passwd|group|shadow|gshadow|subuid|subgid)-$"
)
"""Places that change while any machine runs, caches of pip and apt, and what useradd(8) was before
its latest change."""
CONTENT: Final = "etc"
"""Below this the contents are compared, too."""
NAME: Final = b"sluice"


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Names what differs between two lists of files."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    """Files of the system's settings with other contents, and any with other rights."""
    lost: tuple[str, ...]

    @property
    def none(self) -> bool:
        return not (self.added or self.changed or self.lost)

    def __str__(self) -> str:
        changed = [f"{name} (changed)" for name in self.changed]
        return "\n".join([*self.added, *changed, *(f"{name} (lost)" for name in self.lost)])


def files(root: Path, *, without: str) -> dict[str, str]:
    """Each file and folder below `root`, with its rights, and its digest where that counts.

    `without`: a folder that is left out, with all that is in it.
    """
    found = {}
    for folder, folders, names in os.walk(root):
        place = Path(folder).relative_to(root)
        folders[:] = [name for name in folders if not _skipped(str(place / name), without)]
        for name in (*folders, *names):
            path = str(place / name)
            if not _skipped(path, without):
                found[path] = _looks(root / path, content=place.parts[:1] == (CONTENT,))
    return found


def _skipped(path: str, without: str) -> bool:
    return path == without or OWN_LIFE.match(path) is not None


def _looks(path: Path, *, content: bool) -> str:
    facts = path.lstat()
    looks = f"{facts.st_uid}:{facts.st_gid}:{stat.filemode(facts.st_mode)}"
    if stat.S_ISLNK(facts.st_mode):
        return f"{looks} -> {path.readlink()}"
    if content and stat.S_ISREG(facts.st_mode):
        return f"{looks} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return looks


def leftovers(before: Mapping[str, str], after: Mapping[str, str]) -> Leftovers:
    """Compare two lists of `files`."""
    return Leftovers(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(name for name in after.keys() & before.keys() if after[name] != before[name])),
        tuple(sorted(before.keys() - after.keys())),
    )


def naming(root: Path, *, without: str) -> list[str]:
    """Name the files of the system's settings that have Sluice's name in them."""
    return sorted(
        name
        for name in files(root, without=without)
        if name.startswith(f"{CONTENT}/")
        and (root / name).is_file()
        and not (root / name).is_symlink()
        and NAME in (root / name).read_bytes().lower()
    )
