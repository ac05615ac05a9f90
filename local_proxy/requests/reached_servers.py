"""Remembers which servers have been reached by tunnels: the next one there is open at once.

A client says its first words when it is told that its tunnel is open. Told so before the remote has
reached the server once more, it does that a round trip of the link sooner. Where the server can't
be reached this time, the client's connection ends; the one after that is told why. So it is done
at HTTPS's port alone: no browser shows what a CONNECT was answered, all show that a connection has
ended. Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

HTTPS: Final = 443
LATELY: Final = 600.0
"""Seconds for which a server is taken to be there still."""
MOST: Final = 1024
"""Servers that are remembered; those go first that were reached longest ago."""


class ReachedServers:
    """Keeps their names, and when each was reached last."""

    def __init__(self) -> None:
        self._at: OrderedDict[str, float] = OrderedDict()
        """By name, when it was reached, seconds."""

    def __len__(self) -> int:
        return len(self._at)

    def reached(self, host: str, port: int, *, now: float) -> None:
        """A tunnel stands there."""
        if port != HTTPS:
            return
        self._at[host.lower()] = now
        self._at.move_to_end(host.lower())
        while len(self._at) > MOST:
            self._at.popitem(last=False)

    def lost(self, host: str) -> None:
        """It was not reached, or nobody knows whether it was."""
        self._at.pop(host.lower(), None)

    def lately(self, host: str, port: int, *, now: float) -> bool:
        """Whether a tunnel there is to be taken for open before it is."""
        at = self._at.get(host.lower())
        return port == HTTPS and at is not None and now < at + LATELY
