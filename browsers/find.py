"""Which browser to start, and where its throw-away profile may be."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from browsers import chromium, firefox

Family = Literal["chromium", "firefox"]
_NAMES: Final[dict[Family, tuple[str, ...]]] = {
    "chromium": chromium.NAMES,
    "firefox": firefox.NAMES,
}
_SNAPS: Final = Path("/snap/bin")


class NoBrowser(Exception):
    """There is none, or not the one that was asked for; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Browser:
    """An executable, and how it is talked to."""

    path: str
    family: Family

    @property
    def profiles(self) -> Path | None:
        """Where it can read a profile; None: anywhere. Snaps see neither /tmp nor hidden files."""
        name = Path(self.path).name
        if (_SNAPS / name).exists():
            return Path.home() / "snap" / name / "common"
        return None


def find(wanted: str | None) -> Browser:
    """The browser asked for: "chromium", "firefox", a path or a name; None: the first there is.

    Raises NoBrowser.
    """
    if wanted is None or wanted in _NAMES:
        for family, names in _NAMES.items():
            path = next(filter(None, map(shutil.which, names)), None)
            if path is not None and wanted in (None, family):
                return Browser(path, family)
        what = "neither Chromium nor Firefox" if wanted is None else f"no {wanted.capitalize()}"
        raise NoBrowser(
            f"{what} is installed. On Debian: apt-get install "
            f"{'firefox-esr' if wanted == 'firefox' else 'chromium'}; or name one with "
            "--browser PATH"
        )
    path = shutil.which(wanted)
    if path is None:
        raise NoBrowser(f"{wanted} is not a program; --browser takes chromium, firefox or a path")
    return Browser(path, _family(path))


def _family(path: str) -> Family:
    """By the names of the file and of what it links to: forks keep their parent's flags."""
    names = f"{Path(path).name} {Path(path).resolve().name}".lower()
    foxes = ("firefox", "librewolf", "waterfox", "floorp", "mullvad")
    return "firefox" if any(name in names for name in foxes) else "chromium"
