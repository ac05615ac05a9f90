"""In which order LowFidelityFirst serves what a page consists of: a table, and nothing else.

    tier  what                                                             why
    0     style                                                            nothing shows before it
          tunnels in which two ends talk                                   somebody waits for it
    1     text                                                             it can be read
    2     script, and small ones that hold nothing up                      it may write more text
    3     pictures up to their first mark; small pictures without marks    every picture coarse
    4     scripts that hold nothing up                                     something can be done
    5     fonts; other small things                                        little, and it shows
          pictures of one mark, that is whole and not small                nothing of them is shown
    6     pictures up to their second mark                                 every picture good
    7     pictures without marks, media and other things that are not small
    8...  pictures up to their third mark, their fourth ...                the last refinements
    last  media behind their first mark                                    a film may have no end

The paper (section 4.1.1) counts whole pictures below 4 KB to the low level: they are not worth
transcoding. What is played at a rate that the link can spare does not wait for its tier: it is
guaranteed (scheduling/guarantees.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hats.tree.node import Node

SMALL: Final = 4096
"""Bytes; HATS, section 4.1.1."""


@dataclass(frozen=True, slots=True)
class KindTiers:
    """Tiers of a kind without marks."""

    small: int
    large: int


_KINDS: Final[Mapping[str, KindTiers]] = {
    "style": KindTiers(0, 0),
    "tunnel": KindTiers(0, 0),
    "text": KindTiers(1, 1),
    "script": KindTiers(2, 2),
    "deferred_script": KindTiers(2, 4),
    "image": KindTiers(3, 7),
    "font": KindTiers(5, 5),
    "media": KindTiers(5, 7),
    "other": KindTiers(5, 7),
}
_LEVELS: Final = (3, 6, 8)


@dataclass(frozen=True, slots=True)
class TierTable:
    """Which tier a leaf is in, now."""

    small: int = SMALL
    """Bytes; a component of fewer is small."""
    kinds: Mapping[str, KindTiers] = field(default_factory=lambda: _KINDS)
    """Must have an entry `other`, for all kinds it does not name."""
    levels: tuple[int, ...] = _LEVELS
    """Tier by how many marks a leaf has passed; beyond the last, one more for each mark."""
    whole: int = 5
    """Of pictures that have nothing before their only mark."""
    last: int = 64
    """Of what goes on and on, once it has begun."""
    played: frozenset[str] = frozenset(("media",))
    """Kinds that do; their first mark is where they have begun."""
    unrefined: frozenset[str] = frozenset(("text", "style", "script", "deferred_script", "tunnel"))
    """Kinds whose marks, if they have any, don't count."""

    def tier(self, leaf: Node) -> int:
        """The tier of the next byte that the leaf would send; smaller goes first."""
        return self.behind(leaf, leaf.level_reached)

    def behind(self, leaf: Node, reached: int) -> int:
        """The tier of its bytes behind so many of its marks."""
        if leaf.marks and leaf.kind in self.played:
            if reached:
                return self.last
        elif leaf.marks and leaf.kind not in self.unrefined:
            if len(leaf.marks) == 1 and not reached and leaf.marks[0] >= self.small:
                return self.whole
            last = len(self.levels) - 1
            return self.levels[reached] if reached <= last else self.levels[last] + reached - last
        tiers = self.kinds.get(leaf.kind)
        if tiers is None:
            tiers = self.kinds["other"]
        return tiers.small if leaf.total < self.small else tiers.large


DEFAULT: Final = TierTable()
