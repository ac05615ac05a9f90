"""Peers by name, ours and others; those that are not installed are left out, and named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from bench.pairs.peers import NAMES, Peer, peers
from bench.rivals.mitmproxy import mitmproxy
from bench.rivals.nginx import DirectHttp2
from bench.rivals.squid import squid
from bench.rivals.ziproxy import ziproxy

ALL: Final = "all"
"""Stands for a direct load, all rivals, and ours."""


class Rival(Peer, Protocol):
    """A peer made of somebody else's program."""

    @property
    def missing(self) -> str:
        """What is not installed; empty: nothing."""


RIVALS: Final[dict[str, Callable[[Path], Rival]]] = {
    "direct-h2": DirectHttp2,
    "ziproxy": lambda _: ziproxy(),
    "squid": lambda _: squid(),
    "mitmproxy": lambda _: mitmproxy(),
}
"""By name, of the folder that the origin serves."""


class LineUp(NamedTuple):
    """The rivals that run."""

    peers: list[Peer]
    absent: list[str]
    """One sentence for each that was asked for and is not installed."""


def line_up(
    names: Sequence[str],
    *,
    site: Path,
    ca_file: Path | None = None,
    rivals: Mapping[str, Callable[[Path], Rival]] = RIVALS,
) -> LineUp:
    """Peers by name, "all" among them. `ca_file`: as bench/pairs/peers.py has it.

    Raises ValueError for a name that nobody has, or when none of them is installed.
    """
    every = ["direct", *rivals, "sluice"]
    wanted = dict.fromkeys(name for word in names for name in (every if word == ALL else [word]))
    unknown = [name for name in wanted if name not in (*NAMES, *rivals)]
    if unknown:
        known = ", ".join((*NAMES, *rivals, ALL))
        raise ValueError(f"no peer {unknown[0]!r}; there are {known}")
    found, absent = [], []
    for name in wanted:
        if name not in rivals:
            found += peers([name], ca_file=ca_file)
            continue
        rival = rivals[name](site)
        if rival.missing:
            absent.append(f"{name} was left out: {rival.missing} is not installed")
        else:
            found.append(rival)
    if not found:
        raise ValueError("; ".join(absent) + "; `make bench-peers` installs it")
    return LineUp(found, absent)
