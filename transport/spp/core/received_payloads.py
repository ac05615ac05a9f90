"""Payloads on their way in: each handed over once, in order if that is wanted. Pure.

Memory is bounded by a window of costs: a payload's bytes and 64 for remembering it. The sender is
told how far the costs of all payloads, in the order of their numbers, may add up; that moves on as
the application takes what is here and nothing is missing before it. Who sends more breaks the
protocol.
"""

from __future__ import annotations

from typing import Final

from transport.spp.core.packets import LARGEST_PAYLOAD, PayloadPart
from transport.spp.core.sent_payloads import COST
from wire.errors import LocalError, PeerError

LEAST_WINDOW: Final = 4 * (LARGEST_PAYLOAD + COST)


class ReceivedPayloads:
    """The bytes that one connection has received."""

    def __init__(self, *, ordered: bool, window: int) -> None:
        """`ordered`: hand over by sequence number, else as they come. `window` in costs."""
        if window < LEAST_WINDOW:
            raise LocalError(f"a window of {window} bytes is below {LEAST_WINDOW}")
        self._ordered = ordered
        self._window = window
        self._next = 0
        """The first payload that is not here."""
        self._early: dict[int, bytes] = {}
        """Those behind it that are; unordered ones have been handed over, their bytes are gone."""
        self._costs: dict[int, int] = {}
        """Of all behind it of which something is here."""
        self._beyond = 0
        """Their sum."""
        self._partial: dict[int, _Partial] = {}
        self._ready: list[bytes] = []
        self._ready_cost = 0
        self._passed = 0
        """Costs of all payloads before `_next`."""
        self.limit = window
        """What the sender has been told."""

    @property
    def waiting(self) -> int:
        """Payloads that the application can take."""
        return len(self._ready)

    @property
    def held(self) -> int:
        """Costs of what is held here."""
        return self._ready_cost + self._beyond

    def add(self, sequence: int, payload: bytes) -> bool:
        """A whole one; was it new? Raises PeerError."""
        if sequence < self._next or sequence in self._early:
            return False
        self._account(sequence, len(payload))
        self._partial.pop(sequence, None)
        self._complete(sequence, payload)
        return True

    def add_part(self, part: PayloadPart) -> bool:
        """Some of one; did that complete it? Raises PeerError."""
        sequence = part.sequence
        if sequence < self._next or sequence in self._early:
            return False
        self._account(sequence, part.total)
        partial = self._partial.get(sequence)
        if partial is None:
            partial = self._partial[sequence] = _Partial(part.total)
        if not partial.add(part.offset, part.piece):
            return False
        del self._partial[sequence]
        self._complete(sequence, bytes(partial.data))
        return True

    def received(self) -> list[bytes]:
        """All that is here; the window moves on."""
        taken, self._ready = self._ready, []
        self._ready_cost = 0
        return taken

    def announcement(self) -> int | None:
        """A new limit, if it is worth a frame; it counts as told. None: it is not."""
        limit = self._passed - self._ready_cost + self._window
        if limit - self.limit < self._window // 4:
            return None
        self.limit = limit
        return limit

    def _account(self, sequence: int, size: int) -> None:
        """Room for it, if the sender had leave. Raises PeerError."""
        cost = self._costs.get(sequence)
        if cost is not None:
            if cost != size + COST:
                raise PeerError("two datagrams say different things of one payload's size")
            return
        beyond = self._beyond + size + COST
        # However the payloads between are, each of them costs something too.
        between = max(0, sequence - self._next - len(self._costs)) * COST
        if self._passed + beyond + between > self.limit:
            raise PeerError("the peer sends more than the window lets it")
        self._costs[sequence] = size + COST
        self._beyond = beyond

    def _complete(self, sequence: int, payload: bytes) -> None:
        self._early[sequence] = payload if self._ordered else b""
        if not self._ordered:
            self._hand_over(payload)
        while self._next in self._early:
            here = self._early.pop(self._next)
            cost = self._costs.pop(self._next)
            self._beyond -= cost
            self._passed += cost
            self._next += 1
            if self._ordered:
                self._hand_over(here)

    def _hand_over(self, payload: bytes) -> None:
        self._ready.append(payload)
        self._ready_cost += len(payload) + COST


class _Partial:
    """A payload of which parts are here."""

    def __init__(self, total: int) -> None:
        self.data = bytearray(total)
        self._here = 0
        """Bit n: byte n is."""

    def add(self, offset: int, piece: bytes) -> bool:
        """Is it whole now?"""
        self.data[offset : offset + len(piece)] = piece
        self._here |= ((1 << len(piece)) - 1) << offset
        return self._here == (1 << len(self.data)) - 1
