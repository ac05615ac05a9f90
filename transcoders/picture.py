"""The request to a picture transcoder, and its result.

Knows the wire's fidelity levels; does not know how any of them is made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from msgspec import structs

from wire.skeleton import LEVELS, Level


class Unfit(Exception):
    """The picture is better left as it is: damaged, hostile, odd, or nothing would be gained."""


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """What a policy wants of pictures. The defaults keep every pixel."""

    stop: str = "original"
    """The finest level to make (wire.skeleton.LEVELS)."""
    quality: int | None = None
    """1 to 95: re-encode where that is smaller than the origin's bytes; None: lossless."""
    similar: float | None = None
    """.5 to 1: re-encode to this SSIM, found by measuring (transcoders/make/alike.py), where that
    is smaller than the origin's bytes; it goes before `quality`."""
    layout: tuple[int, int] | None = None
    """Pixels: scale the picture down to cover this box. The caller knows that it is shown so."""
    avif: bool = False
    """Who will see it takes AVIF, for coarse versions."""
    arithmetic: bool = False
    """Who gets it can undo arithmetic coding of a JPEG (transcoders/make/arithmetic.py)."""
    sketch: bool = False
    """Who gets it can enlarge a sketch (transcoders/make/sketch.py)."""
    large: bool = False
    """The same of a camera's picture."""
    quick: bool = False
    """The sketch is wanted in half the time rather than in an eighth fewer bytes."""
    recipes: bool = False
    """Who gets it makes the origin's bytes again of a PNG's pixels (transcoders/exact)."""
    scans: bool = False
    """The same for JPEGs: it has jpegtran."""
    kept: bool = False
    """Browsers may keep it: its last level is the origin's bytes, or most likely has a recipe for
    them."""
    webp: bool = False
    """Who gets it is shown whole files and takes WebP: a PNG's pixels may come in one
    (transcoders/make/lossless.py)."""
    between: bool = False
    """A version between the coarse one and the final form pays: there is a time, by which that may
    be what fits (transcoders/make/between.py)."""
    min_bytes: int = 4096
    """Smaller pictures are left alone (HATS, section 4.1.1)."""

    @property
    def adapted(self) -> bool:
        """Other pixels than the origin's will do."""
        return (self.quality, self.layout, self.similar) != (None, None, None)

    def __post_init__(self) -> None:
        if self.stop not in LEVELS:
            raise ValueError(f"no such level: {self.stop!r}; there are {', '.join(LEVELS)}")
        if self.quality is not None and not 1 <= self.quality <= 95:
            raise ValueError(f"quality {self.quality}: must be 1 to 95")
        if self.similar is not None and not 0.5 <= self.similar < 1.0:
            raise ValueError(f"similar {self.similar}: must be .5 to less than 1")
        if self.layout is not None and min(self.layout) < 1:
            raise ValueError(f"layout {self.layout}: must be at least 1 x 1 pixels")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture with fidelity levels, as it goes over the link."""

    data: bytes
    levels: tuple[Level, ...]
    """Coarse to fine; the last one ends where `data` ends and needs no suffix."""
    width: int
    height: int
    """Pixels, as stored: before an EXIF orientation is applied."""
    lossless: bool
    """The last level shows exactly the origin's pixels."""
    identical: bool
    """The last level is the origin's bytes."""
    coding: str = ""
    """What must be undone before a level is a file that browsers show (wire.messages.Head)."""
    first_step: int = 0
    """Bytes of which it shows something all over without its sketch; 0: it has no sketch."""
    untold: tuple[int, ...] = ()
    """Where levels end that nobody is told of: it shows more there, as one file that grows."""


def alone(picture: Picture) -> Picture:
    """The picture's last level, with nothing else in front of it."""
    final = picture.levels[-1]
    data = picture.data[final.start :]
    level = structs.replace(final, start=0, end=len(data))
    coarser = [one for one in picture.levels[:-1] if one.start == final.start]
    ends = [*(one.end for one in coarser), *picture.untold]
    untold = tuple(end - final.start for end in sorted(ends) if end > final.start)
    return replace(picture, data=data, levels=(level,), first_step=0, untold=untold)


def up_to(picture: Picture, stop: str) -> Picture:
    """The picture without the levels finer than `stop`. It keeps at least its coarsest one."""
    limit = LEVELS.index(stop)
    kept = tuple(level for level in picture.levels if LEVELS.index(level.name) <= limit)
    kept = kept or picture.levels[:1]
    if len(kept) == len(picture.levels):
        return picture
    last = kept[-1]
    data = picture.data[: last.end] + last.suffix
    final = structs.replace(last, end=len(data), suffix=b"")
    levels = (*kept[:-1], final)
    step = picture.first_step if picture.first_step < last.end else 0
    return replace(
        picture, data=data, levels=levels, lossless=False, identical=False, first_step=step
    )
