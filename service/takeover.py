"""Finds the pairings of a remote that ran by hand before it became the machine's service.

The service begins with none, so devices that were paired before would be turned away.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from service.units import HOME, USER

REMOTE = "remote"
"""The folder with a remote's state, in that of whoever runs it."""


def by_hand(states: Iterable[Path], service: Path = HOME) -> Path | None:
    """The first of these state folders with paired devices, if the service has none."""
    if _devices(service):
        return None
    return next((state / REMOTE for state in states if _devices(state)), None)


def _devices(state: Path) -> bool:
    try:
        return any((state / REMOTE / "devices").glob("*.pem"))
    except OSError:
        return False  # nobody's business


def line(folder: Path) -> str:
    """What root types to have the service go on with these pairings."""
    there = HOME / REMOTE
    return (
        f"systemctl stop sluice-remote && rm -r {there} && mv {folder} {HOME}/ && "
        f"chown -R {USER}: {there} && systemctl start sluice-remote"
    )
