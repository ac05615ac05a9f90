"""Pads a session's beginning, before anybody asks, to learn what the link carries.

A gate that knows nothing lets little be under way and doubles it each round trip, so that a
session's first answer takes longer than over a connection of its own, which may send ten segments
at once (RFC 6928). But a session opens long before the first request, and the link is idle then.

    first   a short burst: a slow link draws it out and is known (monitor/sensors/dispersion.py)
    then    once that has been reported and told nothing, one of twice the size, and so on: the
            link carries more than it could have been asked to show

What is under way of it is a fifth of a second of a modem, and 30 ms of a link for which the burst
before was too short. A link of 5 Mbit/s is known by the third, one of 16 by the fourth; of a faster
one it is known that it is, which is all that the first page needs. Padding goes only where nothing
else wants to. Rates that an earlier session had measured (draft-ietf-tsvwg-careful-resume) would
have to be validated by such bytes as well.

TCP lets so many segments go at first, whatever is in them. So the later bursts are of few large
ones: the rest of 21 small ones came a round trip behind the others, which looked like a link of
3 Mbit/s where there were 50.

Pure. It knows no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import shake_256
from typing import Final, NamedTuple


class Burst(NamedTuple):
    """Pieces that go together. A report comes for each: they are segments of their own."""

    pieces: int
    size: float
    """Quanta of each piece."""


BURSTS: Final = (Burst(3, 0.5), Burst(7, 0.5), Burst(8, 1.25), Burst(17, 1.25))
"""With quanta of 1 KB, headers of packets included, 5.7 KB of the first two, 11 and 23 KB of the
others, whose pieces are nearly whole segments. Each fits into what the gate lets be under way after
the one before, and into TCP's window by then: 10 segments and 7 more (RFC 6928)."""
RESUMED: Final = BURSTS[:2]
"""The same of a connection that carries a link on: it has bytes of its own, and where networks
break often padding would be most of what they carry."""


class Probe:
    """The padding of one connection's sender."""

    def __init__(self, bursts: Sequence[Burst] = BURSTS) -> None:
        self._later = list(reversed(bursts))
        self._size = 1.0
        """Quanta of a piece of the present burst."""
        self._left = 0
        """Pieces of the present burst to be sent."""

    @property
    def ends_burst(self) -> bool:
        """Whether the newest piece was the last one of its burst."""
        return not self._left

    def next_piece(self, *, under_way: int, quantum: int, comes: bool = False) -> bytes:
        """Padding to send now; b"": none. Asked only when nothing else wants to be sent.

        `under_way`: bytes of any kind; a burst begins when they are less than a piece. `comes`: the
        peer's bytes do, so there are no large bursts any more: reports of those would stand behind
        them, and the peer's gate would take that for the link.
        """
        if not self._left:
            if not self._later or under_way >= quantum * self._later[-1].size:
                return b""
            if comes and self._later[-1].size > 1:
                self._later.clear()
                return b""
            self._left, self._size = self._later.pop()
        self._left -= 1
        return _incompressible(int(quantum * self._size), len(self._later) << 8 | self._left)


def _incompressible(size: int, number: int) -> bytes:
    """A modem that compresses would carry zeros in no time."""
    return shake_256(number.to_bytes(2)).digest(size)
