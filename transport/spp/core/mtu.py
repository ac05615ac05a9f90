"""How large datagrams may be: a search that asks the path itself (RFC 8899). Pure.

Sizes are of UDP payloads. It begins with a size that works nearly everywhere, tries the largest,
and then halves what is between. A probe is an ordinary datagram of padding: its loss is no sign of
congestion and costs no data. When all large datagrams get lost while a smaller one arrives, the
path has become narrower (a black hole: 4.3), and the search begins anew from below.
"""

from __future__ import annotations

from typing import Final

FLOOR: Final = 512
"""Bytes; what fits 576 (RFC 791) with the headers of IP and UDP and a tunnel's."""
BASE: Final = 1200
"""RFC 8899, 5.1.2; RFC 9000, 14."""
CEILING: Final = 1452
"""1500 less IPv6's and UDP's headers."""
CLOSE_ENOUGH: Final = 16
"""Bytes that are not worth another probe."""
MOST_PROBES: Final = 3
"""Of one size (RFC 8899, 5.1.2)."""
BLACK_HOLE: Final = 8
"""Datagrams above a smaller size that are lost in a row."""
SEARCH_AGAIN: Final = 600.0
"""Seconds after a search (RFC 8899, 5.1.1)."""
HOLE_LASTS: Final = 1.0
"""Seconds in which they are found to be lost: a queue that overflows does not last that long."""
AFTER_BLACK_HOLE: Final = 60.0


class MtuSearch:
    """Searches one path for the largest datagram that it carries."""

    def __init__(self, *, base: int = BASE, ceiling: int = CEILING) -> None:
        self._base = base
        self._ceiling = max(base, ceiling)
        self._floor = min(FLOOR, base)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Begins anew: the path is another one."""
        self.size = self._base
        """Bytes of the largest datagram to send."""
        self._high = self._ceiling
        """Larger ones have failed."""
        self._probing = False
        self._failures = 0
        """Of the size that is being tried."""
        self._lost = 0
        """Large datagrams, while none as large arrives."""
        self._lost_since = float("-inf")
        self._smallest_lost = self._ceiling
        """Bytes, of those."""
        self._next_at = float("-inf")

    def probe(self, now: float) -> int | None:
        """The size to try now; it counts as under way. None: there is nothing to try."""
        if self._probing or now < self._next_at or self._ceiling - self.size < CLOSE_ENOUGH:
            return None
        if self._high - self.size < CLOSE_ENOUGH:
            self._high = self._ceiling  # time has come to see whether the path got wider
        self._probing = True
        return self._high if self._high == self._ceiling else (self.size + self._high + 1) // 2

    def acknowledged(self, size: int, *, probe: int, now: float) -> None:
        """A datagram of that size arrived; `probe`: its size if it was one."""
        if size >= self._smallest_lost:
            self._lost, self._smallest_lost = 0, self._ceiling
        if probe and probe > self.size:
            self.size, self._probing, self._failures = probe, False, 0
            self._settle(now, SEARCH_AGAIN)
        elif probe:
            self._probing = False

    def lost(self, size: int, *, probe: int, now: float) -> None:
        """One is lost."""
        if probe:
            self._probe_failed(probe, now)
        elif size > self._floor:
            if not self._lost:
                self._lost_since = now
            self._lost += 1
            self._smallest_lost = min(self._smallest_lost, size)
            if self._lost >= BLACK_HOLE and now - self._lost_since >= HOLE_LASTS:
                self._fall(self._smallest_lost, now)

    def refused(self, size: int, *, now: float) -> None:
        """This machine's own network does not take that many bytes."""
        if size <= self._floor:
            return
        if size <= self.size:
            self._fall(size, now)
        self._high = min(self._high, size - 1)
        self._probing, self._failures = False, 0

    def _probe_failed(self, probe: int, now: float) -> None:
        self._probing = False
        self._failures += 1
        if self._failures >= MOST_PROBES:
            self._failures = 0
            self._high = probe - 1
            self._settle(now, SEARCH_AGAIN)

    def _settle(self, now: float, wait: float) -> None:
        """Is the search over?"""
        if self._high - self.size < CLOSE_ENOUGH:
            self._next_at = now + wait

    def _fall(self, size: int, now: float) -> None:
        """Datagrams of that size vanish."""
        self._lost, self._smallest_lost = 0, self._ceiling
        self.size = self._base if size > self._base else self._floor
        self._high = min(size - 1, self._ceiling)
        self._probing, self._failures = False, 0
        self._next_at = now + AFTER_BLACK_HOLE
