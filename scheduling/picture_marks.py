"""Keeps the marks of one device's pictures: at which of their bytes each is worth more than before.

That depends on who takes them. In most documents a level takes the place of a coarser one; where no
driver runs each picture is one response that grows; and to a program a picture is worth nothing
more before all of it is there: such pictures come one after the other, not level by level. Which
of these holds may be said first. Pure; knows offsets in bytes, not leaves.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from hats.tree.node import NO_MARK


class _Known(NamedTuple):
    document: int
    levels: Sequence[int]
    steps: Sequence[int]


class PictureMarks:
    """Offsets, bytes, by component."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}
        self._growing: set[int] = set()
        """Documents in which no driver runs."""
        self._whole: set[int] = set()
        """Pictures that a program waits for."""

    def __iter__(self) -> Iterator[int]:
        return iter({*self._known, *self._whole})

    def known(
        self, document: int, component: int, levels: Sequence[int], steps: Sequence[int]
    ) -> None:
        """What marks a picture's levels have. `steps`: where it is one response that grows."""
        self._known[component] = _Known(document, levels, steps)

    def grow(self, document: int) -> list[int]:
        """Its pictures are such responses; which have other marks by that."""
        self._growing.add(document)
        return [one for one, known in self._known.items() if known.document == document]

    def grows(self, document: int) -> bool:
        """Whether that was said."""
        return document in self._growing

    def want_whole(self, component: int) -> None:
        """A program waits for all of it."""
        self._whole.add(component)

    def of(self, component: int) -> Sequence[int] | None:
        """Its marks as they are now; None: they are not known."""
        known = self._known.get(component)
        if known is None:
            return None
        marks = known.steps if known.document in self._growing else known.levels
        return (*marks[:1], NO_MARK) if component in self._whole and marks else marks

    def close_document(self, document: int) -> None:
        """It is gone; what is known of its pictures goes with these."""
        self._growing.discard(document)

    def forget(self, component: int) -> None:
        """The picture is gone."""
        self._known.pop(component, None)
        self._whole.discard(component)

    def sweep(self, leaves: Container[int], live: Container[int]) -> None:
        """Let go of pictures that have no leaf any more. `live`: may have one later."""
        self._known = {one: known for one, known in self._known.items() if one in leaves}
        self._whole = {one for one in self._whole if one in leaves or one in live}
