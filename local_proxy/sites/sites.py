"""Which sites are adapted, and how far: the configuration's rules, and people's choices above them.

A site is the host of the page in front, whose switch holds for all that the page loads; where that
is not known, or is not set, it is the host that is asked. Pure. Must not know: HTTP, files, pages.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_SEEN: Final = 40
"""Sites remembered for the status page."""
MAX_CHOICES: Final = 1000
"""Far above what a person sets by hand."""
_PATTERN: Final = re.compile(r"(\*|(\*\.)?[0-9a-z_:-]+(\.[0-9a-z_:-]+)*)")


class Mode(StrEnum):
    """What becomes of a site."""

    ADAPT = "adapt"
    """Pictures coarse first; the script that refines them in the page."""
    ORIGINAL = "original"
    """The origin's bytes, coded for the link without loss; no script."""
    TEXT_ONLY = "text-only"
    """Pictures, sound, film and fonts are not fetched."""
    TUNNEL = "tunnel"
    """TLS is not taken off."""


@dataclass(frozen=True, slots=True)
class Site:
    """A line for people."""

    pattern: str
    mode: Mode
    chosen: bool
    """By a person on the status page."""


class Sites:
    """The switches of one local proxy."""

    def __init__(self, configured: Mapping[str, str], *, tunnel: Iterable[str] = ()) -> None:
        """`configured`: modes by pattern. `tunnel`: more patterns with that mode."""
        given = {**dict.fromkeys(tunnel, Mode.TUNNEL), **configured}
        self._configured = {normal(pattern): Mode(mode) for pattern, mode in given.items()}
        self._choices: dict[str, Mode] = {}
        self._seen: OrderedDict[str, None] = OrderedDict()

    def mode(self, host: str, *, page: str = "") -> Mode:
        """What holds for something at `host` that the page at the host `page` loads."""
        if page and (found := self._find(page)) is not None and found is not Mode.TUNNEL:
            return found
        return self._find(host) or Mode.ADAPT

    def tunnelled(self, host: str) -> bool:
        """Whether TLS to this host stays as it is."""
        return self._find(host) is Mode.TUNNEL

    def seen(self, host: str) -> None:
        """A page of this site was opened."""
        if host:
            self._seen[host] = None
            self._seen.move_to_end(host)
            if len(self._seen) > MAX_SEEN:
                self._seen.popitem(last=False)

    def choose(self, pattern: str, mode: Mode | None) -> str:
        """A person's choice from now on; None: none any more. The pattern as it is compared.

        Raises ValueError.
        """
        name = normal(pattern)
        if mode is None:
            self._choices.pop(name, None)
            return name
        if not _PATTERN.fullmatch(name) or len(name) > 255:
            raise ValueError(f"{pattern!r} is not a host or *.host")
        if name not in self._choices and len(self._choices) >= MAX_CHOICES:
            raise ValueError(f"there are {MAX_CHOICES} choices already")
        self._choices[name] = mode
        return name

    def listed(self) -> list[Site]:
        """Sites seen lately, the last one first, and the patterns that are set."""
        names = [*reversed(self._seen), *sorted({**self._choices, **self._configured})]
        return [Site(name, self._of(name), name in self._choices) for name in dict.fromkeys(names)]

    def _of(self, name: str) -> Mode:
        own = self._choices.get(name) or self._configured.get(name)
        return own or self._find(name.removeprefix("*.")) or Mode.ADAPT

    def _find(self, host: str) -> Mode | None:
        """A choice before the configuration, a host before a pattern, a longer pattern before."""
        names = patterns_of(normal(host))
        for table in (self._choices, self._configured):
            for name in names if table else ():
                if (mode := table.get(name)) is not None:
                    return mode
        return None


def normal(host: str) -> str:
    """As hosts are compared: lower case, no brackets, no final dot."""
    return host.strip().strip("[]").rstrip(".").lower()


def patterns_of(host: str) -> list[str]:
    """All that may stand for a host, the closest first: a.b, *.a.b, *.b, *"""
    labels = host.split(".")
    return [host, *("*." + ".".join(labels[at:]) for at in range(len(labels))), "*"]
