"""Where the pages of a bench are, and how a browser gets there.

Knows nothing of browsers or of what an endpoint consists of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from emulation.worlds.hosts import HERE, EmulatedHost


class LinkCount(Protocol):
    """What crossed the slow link so far, as emulation.relay.relay counts it."""

    @property
    def bytes_up(self) -> int: ...
    @property
    def bytes_down(self) -> int: ...
    @property
    def connections(self) -> int: ...


@dataclass(frozen=True, slots=True)
class _NoLink:
    bytes_up: int = 0
    bytes_down: int = 0
    connections: int = 0


def no_link() -> LinkCount:
    """The count where there is no slow link."""
    return _NoLink()


@dataclass(frozen=True, slots=True)
class PageAccess:
    """How a browser gets at the pages."""

    base: str
    """URL of the origin's root, with its final slash."""
    statistics: Callable[[], LinkCount]
    proxy: str | None = None
    resolve: Mapping[str, str] = field(default_factory=dict)
    browser_flags: Sequence[str] = ()
    """Chromium's."""
    authority: bytes | None = None
    """PEM of the one that vouches for https, if the system knows it not; see
    bench/browsers/windows.py."""
    host: EmulatedHost = HERE
    """Where the browser runs."""
    backend: str = "relay"
    """What emulates the link."""
    rewind: Callable[[], None] = lambda: None
    """Called when a load begins: a link's trace starts there too."""
