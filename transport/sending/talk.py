"""Whether the bytes of a tunnel are talk or a transfer: nobody says, so their amount tells. Pure.

Keystrokes, chats and small pages are answered by somebody who waits, and are few bytes; what comes
by the hundred KB is a download and can share. A token bucket: what has been saved up may be said
at once, and a share of the link's rate for as long as one likes (RFC 2697 has the idea). Must not
know: what a tunnel is, schedulers, clocks.
"""

from __future__ import annotations

from typing import Final

BURST: Final = 16_384
"""Bytes that may be said at once: a third of a second of 384 kbit/s, during which pages wait."""
SHARE: Final = 1 / 8
"""Of the link's rate, for lasting talk: a voice beside pages."""
LEAST_RATE: Final = 1000.0
"""Bytes/second, also while the link's rate is not known."""


class Talk:
    """One direction of one tunnel."""

    def __init__(self, *, now: float) -> None:
        self._saved = float(BURST)
        self._at = now
        self.talks = True
        """What it said last was talk."""

    def say(self, amount: int, *, now: float, rate: float | None) -> bool:
        """So many bytes more; whether they are talk. `rate`: the link's, bytes/second.

        Once it is a transfer, it is talk again when half of the burst has been saved up.
        """
        allowance = max(LEAST_RATE, SHARE * (rate or 0.0))
        self._saved = min(float(BURST), self._saved + allowance * (now - self._at)) - amount
        self._at = now
        if self._saved < 0:
            self.talks, self._saved = False, 0.0
        elif self._saved >= BURST / 2:
            self.talks = True
        return self.talks
