"""How a connection ends: it says so, and says so again, ever more rarely, to who still sends. Pure.

Source: RFC 9000, section 10.2.
"""

from __future__ import annotations

from transport.spp.core.packets import Close, Reason, encode


class Farewell:
    """Says farewell for one connection."""

    def __init__(self) -> None:
        self._over_at: float | None = None
        self._words = b""
        self._due = False
        self._heard = 0
        self._forgotten = False

    @property
    def begun(self) -> bool:
        """The connection is over."""
        return self._over_at is not None

    def say(self, reason: Reason, text: str, *, until: float) -> None:
        """This end closes; who still sends `until` then is told again."""
        self._words, self._due = encode(Close(reason, text)), True
        self._over_at = until

    def heard(self, now: float) -> None:
        """The peer has closed, so nobody needs to be told."""
        self._over_at, self._words, self._due = now, b"", False

    def still_sent(self) -> None:
        """A datagram came though the connection is over."""
        self._heard += 1
        if self._words and self._heard & (self._heard - 1) == 0:
            self._due = True

    def words(self) -> bytes | None:
        """The frame to send now."""
        due, self._due = self._due, False
        return self._words if due else None

    def finished(self, now: float) -> bool:
        """All is said."""
        return self._over_at is not None and now >= self._over_at and not self._due

    def deadline(self) -> float | None:
        """When it is."""
        return None if self._forgotten else self._over_at

    def forget(self) -> None:
        """There is nothing more to wait for."""
        self._forgotten = True
