"""Credit: how much of one component its receiver will take (per-component flow control).

Both sides count bytes of a component as they stand in DATA frames. A component begins with
INITIAL bytes of credit; `Credit` messages add to it. A reader that stalls stops its own component
and nobody else's.

Credit is given anew a round trip after it was spent, so who keeps so much ahead has no more than
that in each: over a satellite of .6 s, 1 MB of it is 14 Mbit/s, whatever the link carries. So the
receiver doubles it while it comes that fast, as other receivers do theirs (RFC 9000, 4.2; Fisk and
Feng, Dynamic right-sizing in TCP, 2001).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from weakref import WeakSet

from wire.errors import LocalError, PeerError

INITIAL: Final = 1 << 20
"""Bytes that may be sent of a component before any Credit message has come. Larger than nearly
every part of a page, so that on a slow link credit never costs a round trip."""
MAXIMUM: Final = 1 << 32
"""Bytes of outstanding credit at most; a peer that gives more is in error."""
BATCH: Final = INITIAL // 4
"""Bytes of consumption worth a Credit message, of a window of INITIAL: 0.005 % of overhead."""
LARGEST: Final = 16 << 20
"""Bytes of a window at most: 200 Mbit/s over a satellite. So much waits for a reader that stalls
when it has read as fast as that;"""
ALL: Final = 2 * LARGEST
"""and so much for all of one link's together whose windows are wider than INITIAL: who has many
that read fast and then stall has no more wait than that."""
_TRIPS: Final = 2.0
"""Round trips in which a whole window is read where it may be what limits: in one, if it does."""


class CreditWindows:
    """Widens those of one link's components."""

    def __init__(self, now: Callable[[], float], round_trip: Callable[[], float]) -> None:
        """Both in seconds; 0 for a round trip that is not known."""
        self.now = now
        self._round_trip = round_trip
        self._wide: WeakSet[ReceiveCredit] = WeakSet()

    def widen(self, credit: ReceiveCredit, took: float) -> None:
        """A whole window of it was read in `took` seconds."""
        if took >= _TRIPS * self._round_trip() or credit.window >= LARGEST:
            return
        others = sum(one.window for one in self._wide if one is not credit)
        if others + 2 * credit.window <= ALL:
            credit.window *= 2
            self._wide.add(credit)


class SendCredit:
    """The sender's side: what it may still send."""

    __slots__ = ("available",)

    def __init__(self) -> None:
        self.available = INITIAL

    def grant(self, amount: int) -> None:
        """The receiver gave `amount` bytes more. Raises PeerError beyond MAXIMUM."""
        if amount <= 0 or self.available + amount > MAXIMUM:
            raise PeerError(f"credit of {amount} bytes on top of {self.available}")
        self.available += amount

    def spend(self, amount: int) -> None:
        """`amount` bytes are sent. Raises LocalError if they were not available."""
        if amount > self.available:
            raise LocalError(f"sending {amount} bytes with credit for {self.available}")
        self.available -= amount


class ReceiveCredit:
    """The receiver's side: what it gave, what came, what was consumed."""

    __slots__ = ("__weakref__", "_begun_at", "_then", "consumed", "given", "received", "window")

    def __init__(self) -> None:
        self.given = self.window = INITIAL
        self.received = 0
        self.consumed = 0
        self._then = 0
        """Bytes that had been read when the present window's began to be,"""
        self._begun_at: float | None = None
        """and when that was; None: nothing has been."""

    def arrive(self, amount: int) -> None:
        """`amount` bytes came. Raises PeerError if the peer had no credit for them."""
        self.received += amount
        if self.received > self.given:
            raise PeerError(f"{self.received - self.given} bytes beyond the credit given")

    def consume(self, amount: int, windows: CreditWindows | None = None) -> int:
        """`amount` bytes were used; the credit to give now, bytes, 0 while it's not worth it.

        `windows`: those of its link; None: it keeps its size.
        """
        self.consumed = min(self.consumed + amount, self.received)
        if windows is not None:
            self._time(windows)
        more = self.consumed + self.window - self.given
        if more < self.window // 4:
            return 0
        self.given += more
        return more

    def _time(self, windows: CreditWindows) -> None:
        """How long it takes until a whole window has come and was read."""
        if self._begun_at is None:
            self._begun_at = windows.now()
        elif self.consumed - self._then >= self.window:
            now = windows.now()
            windows.widen(self, now - self._begun_at)
            self._then, self._begun_at = self.consumed, now
