"""One node of the transmission tree, as people are shown it (messages.TreeDrawn).

Few bytes, for it crosses the slow link while somebody looks. Knows nothing of how a tree works.
"""

from __future__ import annotations

from typing import Final

import msgspec

STATES: Final = ("ready", "waiting", "disabled")
"""By number (HATS, section 3.2.1)."""
MAX_ROWS: Final = 100
"""Of one picture: some 2 KB."""


class TreeRow(msgspec.Struct, frozen=True, array_like=True):
    """What a node is, and how it is doing."""

    depth: int
    """0: the root. The parent is the nearest row before it that is one less deep."""
    name: str
    state: int
    """One of STATES."""
    what: str
    """An interior node's scheduler, a leaf's kind."""
    weight: float
    """Its share among its siblings."""
    backlog: int
    """Bytes that wait."""
    who: str = ""
    """Who holds it back, if anybody does."""
    more: int = 0
    """Children that are not drawn."""
    leaf: bool = False
