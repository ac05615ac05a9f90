"""Credit: how much of one component its receiver will take (per-component flow control).

Both sides count bytes of a component as they stand in DATA frames. A component begins with
INITIAL bytes of credit; `Credit` messages add to it. A reader that stalls stops its own component
and nobody else's.
"""

from __future__ import annotations

from typing import Final

from wire.errors import LocalError, PeerError

INITIAL: Final = 1 << 20
"""Bytes that may be sent of a component before any Credit message has come. Larger than nearly
every part of a page, so that on a slow link credit never costs a round trip."""
MAXIMUM: Final = 1 << 32
"""Bytes of outstanding credit at most; a peer that gives more is in error."""
BATCH: Final = INITIAL // 4
"""Bytes of consumption worth a Credit message: 0.005 % of overhead."""


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

    __slots__ = ("consumed", "given", "received")

    def __init__(self) -> None:
        self.given = INITIAL
        self.received = 0
        self.consumed = 0

    def arrive(self, amount: int) -> None:
        """`amount` bytes came. Raises PeerError if the peer had no credit for them."""
        self.received += amount
        if self.received > self.given:
            raise PeerError(f"{self.received - self.given} bytes beyond the credit given")

    def consume(self, amount: int) -> int:
        """`amount` bytes were used; the credit to give now, bytes, 0 while it's not worth it."""
        self.consumed = min(self.consumed + amount, self.received)
        more = self.consumed + INITIAL - self.given
        if more < BATCH:
            return 0
        self.given += more
        return more
