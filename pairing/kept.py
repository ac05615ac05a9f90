"""Keeps the pairing string that a device was started with, so that later starts need none."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pairing.errors import PairingError
from pairing.files import read_private, write_private
from pairing.invitation import Invitation, parse

_FILE: Final = "pairing"


def keep(folder: Path, invitation: Invitation) -> None:
    """Store it, readable by its owner only, in the place of any other. Raises PairingError."""
    write_private(folder / _FILE, f"{invitation}\n".encode())


def kept(folder: Path) -> Invitation | None:
    """What was stored; None if nothing was. Raises PairingError."""
    path = folder / _FILE
    content = read_private(path)
    if content is None:
        return None
    try:
        return parse(content.decode("ascii", "replace"))
    except PairingError as error:
        raise PairingError(f"{path}: {error}") from error
