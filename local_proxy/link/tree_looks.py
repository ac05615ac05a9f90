"""Decides when a session asks its remote for a picture of the tree, and keeps the last one.

Only the remote knows the tree, and every picture costs the link: while somebody looks, all pictures
together take .2 % of it. Pure.
"""

from __future__ import annotations

from math import inf
from typing import Final

from wire.tree_row import MAX_ROWS, TreeRow

SHARE: Final = 0.002
"""Of the link, that pictures may take."""
EVERY: Final = 1.0
"""Seconds between two at least."""
UNKNOWN: Final = 16_000.0
"""Bytes/second of a link that has not been measured."""
ASKING: Final = 24
"""Bytes of a question and an answer beside its rows: two frames, and their shares of records."""
PATIENCE: Final = 60.0
"""Seconds after which an answer is expected no more."""


class TreeLooks:
    """One session's looks at the tree."""

    def __init__(self) -> None:
        self.rows: list[TreeRow] = []
        """As last drawn; none: nobody has looked, or the answer is on its way."""
        self.drawn_at = -inf
        self._asked_at = -inf
        self._waiting = False
        self._cost = 0

    def ask(self, now: float, *, rate: float | None) -> bool:
        """Whether to ask now, somebody being there who looks; `rate`: bytes/second of the link."""
        pause = max(EVERY, self._cost / (SHARE * (rate or UNKNOWN)))
        if self._waiting and now < self._asked_at + PATIENCE:
            return False
        if now < self._asked_at + pause:
            return False
        self._asked_at, self._waiting = now, True
        return True

    def drawn(self, rows: list[TreeRow], *, size: int, now: float) -> None:
        """A picture has come; `size`: bytes of its message."""
        self.rows, self.drawn_at = rows[:MAX_ROWS], now
        self._waiting, self._cost = False, size + ASKING
