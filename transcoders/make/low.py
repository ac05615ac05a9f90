"""The low level that is made first: a sketch or a version, which goes in front of all the rest.

It can be shown while the finer levels are still being made: 7 ms for a photo's, where they take
35 ms, a PNG's half a second. Knows levels; does not know how either is made.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from transcoders.formats.animation import first_frame
from transcoders.formats.sniff import Format, sniff
from transcoders.picture import Picture, Unfit
from transcoders.undo.arithmetic import first_step
from wire.skeleton import Level

MOST: Final = 0.6
"""Of a file's bytes that a first frame has, if others are behind it: two have half each."""


@dataclass(frozen=True, slots=True)
class Low:
    """What is sent before anything else is known of a picture."""

    data: bytes
    level: Level
    """All of `data`."""
    width: int
    height: int
    """Pixels of the picture as stored."""

    def alone(self) -> Picture:
        """A picture of which nothing finer will be made."""
        return Picture(
            self.data, (self.level,), self.width, self.height, lossless=False, identical=False
        )


def as_it_is(data: bytes, low: Low) -> Picture:
    """The origin's bytes behind their low level: what can always be sent."""
    return in_front(low, origins(data, low))


def behind(made: Picture, data: bytes) -> Picture:
    """The origin's bytes behind a form that shows other pixels: who has that wants these now."""
    kind = sniff(data)
    assert kind is not None
    size = len(made.data)
    level = Level("original", size, size + len(data), kind.value)
    levels = (*made.levels, level)
    return replace(made, data=made.data + data, levels=levels, lossless=True, identical=True)


def origins(data: bytes, low: Low) -> Picture:
    """The origin's bytes alone, as a picture; `low` says how large it is."""
    kind = sniff(data)
    assert kind is not None
    level = Level("original", 0, len(data), kind.value)
    return Picture(
        *(data, (level,), low.width, low.height),
        lossless=True,
        identical=True,
        untold=_frames(data, kind),
    )


def _frames(data: bytes, kind: Format) -> tuple[int, ...]:
    """Where an animation's first frame ends: the others come when all pictures are good."""
    with contextlib.suppress(Unfit):
        end = first_frame(data, kind)
        if end < MOST * len(data):
            return (end,)
    return ()


def in_front(low: Low, picture: Picture) -> Picture:
    """The picture with that in place of its own low level."""
    size = len(low.data)
    moved = [
        structs.replace(one, start=one.start + size, end=one.end + size)
        for one in picture.levels
        if one.name != "low"
    ]
    step = size + _first_step(picture) if low.level.sketch and len(picture.levels) > 1 else 0
    data, untold = low.data + picture.data, tuple(size + end for end in picture.untold)
    levels = (low.level, *moved)
    return replace(picture, data=data, levels=levels, first_step=step, untold=untold)


def _first_step(picture: Picture) -> int:
    """How much of it shows as much as the prefix that the sketch replaces."""
    if picture.coding:
        step = first_step(picture.data, len(picture.data))
        if step is not None:
            return step.known
    return picture.levels[0].end
