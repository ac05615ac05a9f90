"""Finds the commit of the release before this one, by the changelog and git's history."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

CHANGELOG: Final = "CHANGELOG.md"
_HEADING: Final = re.compile(r"^## (\d+(?:\.\d+)+)\s*$", re.M)


class NoRelease(OSError):
    """The history does not say; the message says what was looked for."""


def previous(changelog: str) -> str:
    """Name the newest release that has a heading of its own. Raises NoRelease."""
    found = _HEADING.search(changelog)
    if found is None:
        raise NoRelease(f"{CHANGELOG} has no heading of a release, such as ## 1.2.0")
    return found[1]


def commit(repository: Path, given: str = "") -> str:
    """Resolve what --from names; nothing named: the commit that wrote the newest release's heading.

    Raises NoRelease.
    """
    if given:
        return _git(repository, "rev-parse", "--verify", "--quiet", f"{given}^{{commit}}")
    heading = f"## {previous((repository / CHANGELOG).read_text())}"
    written = _git(repository, "log", "--format=%H", "--reverse", f"-S{heading}", "--", CHANGELOG)
    if not written:
        raise NoRelease(f"no commit wrote the heading {heading!r}: is this a shallow clone?")
    return written.splitlines()[0]


def _git(repository: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), *words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise NoRelease(
            f"git {' '.join(words)}: {done.stderr.strip() or 'there is no such commit'}"
        )
    return done.stdout.strip()
