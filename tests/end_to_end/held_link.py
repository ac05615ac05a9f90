"""A link that is held from one request to the next: what its origin is asked meanwhile, nobody
asks who has heard of the first one's answer."""

from __future__ import annotations

import time

from emulation.relay.relay import Relay

RATE = 200_000
"""Bytes/second of it."""


class HeldLink:
    """Origins tell it what they are asked; it lets nothing down the link meanwhile."""

    def __init__(self, link: Relay) -> None:
        self.at: dict[str, float] = {}
        """When each was asked for last, seconds."""
        self.early: list[str] = []
        """What was asked for while the link was held for it."""
        self._link = link
        self._first = self._last = ""
        self._held = False

    def hold(self, first: str, last: str) -> None:
        """From when `first` is asked for next, until `last` is."""
        self._first, self._last = first, last

    def asked(self, name: str) -> None:
        """To be called before it is answered."""
        self.at[name] = time.monotonic()
        if self._held and name == self._last:
            self.early.append(name)
            self._held = False
            self._link.set_rate(down=RATE)
        elif name == self._first:
            self._first, self._held = "", True
            self._link.set_rate(down=0)
