"""The emulated links that runs are named by (profiles.toml). Pure but for reading that file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

import msgspec

from bench.links.impairments import Impairments

PATH: Final = Path(__file__).with_name("profiles.toml")


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One emulated link."""

    name: str
    about: str
    rate_down: float
    """Bytes/second towards the browser."""
    rate_up: float
    """Bytes/second from it."""
    delay: float
    """Seconds one way."""
    queue: int
    """Bytes each direction's droptail queue holds."""
    jitter: float = 0.0
    """Seconds, loss as a share and outages: see bench/links/impairments.py."""
    loss: float = 0.0
    outage_every: float = 0.0
    outage: float = 0.0

    def impairments(self, *, seed: int = 1) -> Impairments:
        """What goes wrong on it, by the chances of this seed."""
        return Impairments(self.jitter, self.loss, self.outage_every, self.outage, seed)


def profiles(path: Path = PATH) -> dict[str, Profile]:
    """All profiles by name. Raises ValueError naming the file when one is malformed."""
    try:
        table = tomllib.loads(path.read_text())
        return {
            name: msgspec.convert({"name": name, **row}, Profile) for name, row in table.items()
        }
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def profile(name: str) -> Profile:
    """One profile. Raises ValueError that lists the names there are."""
    known = profiles()
    if name not in known:
        raise ValueError(f"no profile {name!r}; there are {', '.join(known)}")
    return known[name]
