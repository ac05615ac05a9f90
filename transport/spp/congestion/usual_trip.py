"""Finds what a round trip usually takes without our own queue, where that is not the least. Pure.

Radios make all wait that is sent closely (retransmissions of the air, turns at a mast), and what
comes once in a while does not: a window of what the path holds for the least round trip has half of
such a line. So it is looked at a round in which less is under way. What comes so unevenly comes
faster now and then, too: with such a round trip goes the rate of whole rounds (Little's law).
"""

from __future__ import annotations

from collections import deque
from typing import Final

_ROUNDS: Final = 5
"""For which what was delivered counts."""
_SETTLED: Final = 4
"""Rounds after a search, whose queue is gone by then;"""
_SOON: Final = 8
"""until then it is looked at what is usual."""
_GRAIN: Final = 0.004
"""Seconds; timers make as much."""
_NOTHING: Final = 0.003
"""Seconds; a round with so little has been as quick as can be."""
_LITTLE: Final = 0.1
"""Of the least round trip."""
_PACED: Final = 0.2
"""Of the least round trip: so long waits the last of a window that stood, for it is given to its
path faster than that carries it (transport/multipath/cell_sender.py);"""
_STOOD: Final = 2
"""in its round and in the next."""
_MATTERS: Final = 2.5
"""Times what is always let be under way, which makes up for less;"""
_MOST: Final = 2.0
"""Least round trips that a usual one takes at most."""


class UsualTrip:
    """Counts by rounds what comes over one path."""

    def __init__(self) -> None:
        self.more = 0.0
        """Seconds by which a usual round trip is longer than the least; 0: it is not, or nobody
        knows."""
        self._rates: deque[float] = deque([0.0], maxlen=_ROUNDS)
        self._sum, self._count = 0.0, 0
        """Seconds of this round's trips, and how many there were."""
        self._begun_at = float("-inf")
        self._delivered = 0
        """Bytes that had been when the round began."""
        self._settled = 0
        """Rounds since a search."""
        self._stood = 0
        """Rounds for which the queue lasts that what stood has made."""

    @property
    def rate(self) -> float:
        """Bytes/second of the fastest of the latest whole rounds."""
        return max(self._rates)

    def base(self, least: float) -> float:
        """Seconds of a round trip without our own queue, by the least one."""
        return min(least + self.more, _MOST * least) if self.more else least

    def stood(self) -> None:
        """Something came that was asked for before it was there."""
        self._stood = _STOOD

    def came(self, trip: float) -> None:
        """Something came after so many seconds."""
        self._sum, self._count = self._sum + trip, self._count + 1

    def end_round(self, now: float, delivered: int, *, searching: bool, less: bool) -> None:
        """So many bytes have been delivered by now. `less`: it was asked for less than the path
        holds; `searching`: how much that is, is not known."""
        if now > self._begun_at > float("-inf"):
            rate = (delivered - self._delivered) / (now - self._begun_at)
            self._rates.append(max(rate, self._rates[-1]) if less else rate)
        self._begun_at, self._delivered = now, delivered
        self._sum, self._count = 0.0, 0
        self._settled = 0 if searching else self._settled + 1
        self._stood = max(0, self._stood - 1)

    def see(self, least: float, *, own: float) -> None:
        """In this round there was no queue of ours. `own`: seconds that what is always let be under
        way waits: where the rest is little beside that, it does not matter."""
        more = self._longer(least)
        self.more = more if more > _MATTERS * own else 0.0
        if not self._count or self._sum / self._count - least <= _NOTHING:
            self._settled = max(self._settled, _SOON)  # else one round may have been a lucky one

    def unexplained(self, least: float, *, own: float) -> bool:
        """Soon after a search, this round's trips took longer than our own queue explains: a look
        is due. Later it is others' queue."""
        soon = _SETTLED <= self._settled < _SOON
        own += _PACED * least if self._stood else 0.0
        return soon and not self.more and self._longer(least) > own

    def forget(self, rate: float = 0.0) -> None:
        """It is another path, or others fill the queue. `rate`: bytes/second, if it is known."""
        self.more = 0.0
        if rate:
            self._rates.clear()
            self._rates.append(rate)
            self._settled = 0

    def _longer(self, least: float) -> float:
        """Seconds by which this round's trips were, on average; 0: by little."""
        more = self._sum / self._count - least if self._count else 0.0
        return more if more > max(_GRAIN, _LITTLE * least) else 0.0
