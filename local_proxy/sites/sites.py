"""Which sites are adapted, how far, and in what time: the configuration's rules, and people's
choices above them.

A site is the host of the page in front, whose switch holds for all that the page loads; where that
is not known, or is not set, it is the host that is asked. Pure. Must not know: HTTP, files, pages.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, Generic, TypeVar

MAX_SEEN: Final = 40
"""Sites remembered for the status page."""
MAX_CHOICES: Final = 1000
"""Far above what a person sets by hand."""
MAX_WITHIN: Final = 3600.0
"""Seconds, as in a plan's rule."""
_PATTERN: Final = re.compile(r"(\*|(\*\.)?[0-9a-z_:-]+(\.[0-9a-z_:-]+)*)")


class Mode(StrEnum):
    """What becomes of a site."""

    ADAPT = "adapt"
    """Pictures coarse first; the script that refines them in the page."""
    SAVER = "saver"
    """Pictures that look the same in few bytes, for good, and no fonts."""
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
    within: float = 0.0
    """Seconds in which a page's pictures are to be there; 0: when they are."""


_V = TypeVar("_V")


class PatternTable(Generic[_V]):
    """Values by host or pattern, configured or chosen."""

    def __init__(self, configured: Mapping[str, _V]) -> None:
        self.configured = {normal(pattern): value for pattern, value in configured.items()}
        self.choices: dict[str, _V] = {}

    def choose(self, pattern: str, value: _V | None) -> str:
        """A choice from now on; None: none any more. The pattern as it is compared.

        Raises ValueError.
        """
        name = normal(pattern)
        if value is None:
            self.choices.pop(name, None)
            return name
        if not _PATTERN.fullmatch(name) or len(name) > 255:
            raise ValueError(f"{pattern!r} is not a host or *.host")
        if name not in self.choices and len(self.choices) >= MAX_CHOICES:
            raise ValueError(f"there are {MAX_CHOICES} choices already")
        self.choices[name] = value
        return name

    def find(self, host: str) -> _V | None:
        """A choice before the configuration, a host before a pattern, a longer pattern before."""
        names = patterns_of(normal(host))
        for table in (self.choices, self.configured):
            for name in names if table else ():
                if (value := table.get(name)) is not None:
                    return value
        return None

    def of(self, name: str) -> _V | None:
        """What is set for just this pattern, or holds for it by another one."""
        for table in (self.choices, self.configured):
            if name in table:
                return table[name]
        return self.find(name.removeprefix("*."))


class Sites:
    """The switches of one local proxy."""

    def __init__(
        self,
        configured: Mapping[str, str],
        *,
        tunnel: Iterable[str] = (),
        within: Mapping[str, float] | None = None,
    ) -> None:
        """`configured`: modes by pattern. `tunnel`: more patterns with that mode. `within`: seconds
        for pictures, by pattern; 0: when they are there."""
        given = {**dict.fromkeys(tunnel, Mode.TUNNEL), **configured}
        self._modes = PatternTable({pattern: Mode(mode) for pattern, mode in given.items()})
        self._times = PatternTable(within or {})
        self._seen: OrderedDict[str, None] = OrderedDict()

    def mode(self, host: str, *, page: str = "") -> Mode:
        """What holds for something at `host` that the page at the host `page` loads."""
        if page and (found := self._modes.find(page)) is not None and found is not Mode.TUNNEL:
            return found
        return self._modes.find(host) or Mode.ADAPT

    def tunnelled(self, host: str) -> bool:
        """Whether TLS to this host stays as it is."""
        return self._modes.find(host) is Mode.TUNNEL

    def within(self, site: str) -> float | None:
        """Seconds in which all pictures of a page of this site are to be there; None: when they
        are."""
        return self._times.find(site) or None

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
        return self._modes.choose(pattern, mode)

    def choose_time(self, pattern: str, seconds: float | None) -> str:
        """The same of the time for a page's pictures; 0: when they are there."""
        if seconds is not None and not 0 <= seconds <= MAX_WITHIN:
            raise ValueError(f"{seconds:g} seconds: must be 0 to {MAX_WITHIN:g}")
        return self._times.choose(pattern, seconds)

    def recall(self, modes: Mapping[str, str], times: Mapping[str, float]) -> list[str]:
        """Choices of an earlier run; why some of them make no sense, for people."""
        wrong = []
        choices = [partial(self._choose_named, *one) for one in modes.items()]
        for choose in (*choices, *(partial(self.choose_time, *one) for one in times.items())):
            try:
                choose()
            except ValueError as error:
                wrong.append(str(error))
        return wrong

    def _choose_named(self, pattern: str, mode: str) -> str:
        return self.choose(pattern, Mode(mode))

    def listed(self) -> list[Site]:
        """Sites seen lately, the last one first, and the patterns that are set."""
        tables = (self._modes, self._times)
        chosen = {name for table in tables for name in table.choices}
        known = chosen | {name for table in tables for name in table.configured}
        names = dict.fromkeys([*reversed(self._seen), *sorted(known)])
        return [
            Site(
                name,
                self._modes.of(name) or Mode.ADAPT,
                name in chosen,
                self._times.of(name) or 0.0,
            )
            for name in names
        ]


def normal(host: str) -> str:
    """As hosts are compared: lower case, no brackets, no final dot."""
    return host.strip().strip("[]").rstrip(".").lower()


def patterns_of(host: str) -> list[str]:
    """All that may stand for a host, the closest first: a.b, *.a.b, *.b, *"""
    labels = host.split(".")
    return [host, *("*." + ".".join(labels[at:]) for at in range(len(labels))), "*"]
