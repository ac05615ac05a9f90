"""A version between a picture's coarse one and its final form: of a large picture, or for documents
that have a time.

A PNG is coarse, or whole: of a screenshot, 12 % of the bytes and then all the others. Where a time
says what fits (scheduling/timely.py) something in the middle shows far more than the coarse version
does: of 29 PNGs, WebPs and GIFs 25 get one, with an SSIM of .96 in the median (.81 to .996) where
the coarse one has .82 (.61 to .97), in 3 to 49 % of the final form's bytes, made in 8 to 110 ms. It
costs these bytes once the final form follows, so without a time only large ones get one, of the
bytes that others have for their coarse version (transcoders/make/still.py).

Knows pixels and shares; does not know times or the link.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from msgspec import structs

from transcoders.formats.pixels import MAX_PROFILE, open_still, plain, profile
from transcoders.formats.sniff import Format, sniff
from transcoders.make.low import Low
from transcoders.make.still import encoded, type_of
from transcoders.picture import Picture, Unfit
from wire.skeleton import LEVELS, Level

NAME: Final = "high"
"""The level that it is: one is for all pictures of a page before the next is for any, and JPEGs
show more for the bytes of their `medium`."""
FIRST: Final = 40
"""The quality that is tried first; there are two tries at most."""
BETTER: Final = 60
"""Where that has room: a photo's 40 shows .88, its 60 .97."""
WORSE: Final = 20
"""Where letters are many."""
GROWTH: Final = 2.4
"""Times the first one's bytes that the better one takes at most; 1.3 to 2.4 seen."""
MAX_SHARE: Final = 0.5
"""Of the final form's bytes: above, whoever has room for it has nearly room for that."""
LEAST_GAIN: Final = 1.5
"""Times the coarse version's bytes: below, it shows little more than that."""


def pays(final: Picture, stop: str) -> bool:
    """Whether one in front of `final` may be wanted by who stops at that level; costs nothing."""
    one = len(final.levels) == 1 and final.levels[0].content_type != Format.JPEG.value
    return one and LEVELS.index(stop) >= LEVELS.index(NAME)


def between(
    low: Low, final: Picture, data: bytes, *, limit: int, max_pixels: int, avif: bool
) -> Picture:
    """`final`, of one level, with a version of `data`, the origin's bytes, in front of it.

    `limit`: bytes that it has at most.

    Raises Unfit where none pays, or what Pillow raises.
    """
    kind = sniff(data)
    if kind is None or not pays(final, NAME):
        raise Unfit("it has levels of its own")
    image = open_still(data, kind, max_pixels=max_pixels)
    icc = profile(image)
    icc = icc if len(icc) <= min(MAX_PROFILE, limit // 2) else b""
    pixels = plain(image)
    made = encoded(pixels, 1, FIRST, icc, avif=avif) or b""
    if len(made) > limit:
        made = encoded(pixels, 1, WORSE, icc, avif=avif) or b""
    elif GROWTH * len(made) <= limit:
        made = encoded(pixels, 1, BETTER, icc, avif=avif) or b""
    if not LEAST_GAIN * len(low.data) <= len(made) <= limit:
        raise Unfit("no version between is small enough")
    return _in_front(made, type_of(avif=avif), final)


def _in_front(made: bytes, content_type: str, final: Picture) -> Picture:
    size = len(made)
    own = final.levels[0]
    levels = (
        Level(NAME, 0, size, content_type),
        structs.replace(own, start=own.start + size, end=own.end + size),
    )
    return replace(final, data=made + final.data, levels=levels)
