"""A component's place among its siblings, as one number that the tree orders by.

The plan's tiers come first. Within one, what a browser waits for goes first, in the order in which
it was asked for; behind it all else, as the document has it. Pure.
"""

from __future__ import annotations

from typing import Final

MAX_PARTS: Final = 1 << 20
"""The distance between two tiers, twice and far above what is ever promised of one document."""
_HALF: Final = MAX_PARTS // 2


def place(tier: int, order: int) -> int:
    """Gives the number of what is at `order` in its document, and nobody has waited for yet."""
    return tier * MAX_PARTS + order


class AwaitedPlaces:
    """Places in front, each behind those that were given before."""

    def __init__(self) -> None:
        self._turn = -1

    def next(self, place: int) -> int:
        """In front of the tier of that place; a place in front is kept."""
        tier, order = divmod(place, MAX_PARTS)
        if order >= _HALF:
            return place
        self._turn = (self._turn + 1) % _HALF
        return tier * MAX_PARTS - _HALF + self._turn
