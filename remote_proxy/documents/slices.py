"""A document's parts as the wire has them: of what kind, in messages that fit a frame. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from office.extents import Extents, Range, joined
from office.parts import Part, PicturePart, Texts, Viewed
from wire.package import Slice, flat
from wire.skeleton import Kind

MAX_SLICES: Final = 40_000
"""Bytes of slices in one message."""
PIECE: Final = 16_384
"""Bytes of what is handed to the link at a time."""
MAX_RUNS: Final = 64
"""Of pages on which a picture is said to be seen."""


def kind_of(part: Part) -> Kind:
    """What schedulers take it for."""
    match part:
        case Texts(page=page):
            return Kind.TEXT if page else Kind.OTHER
        case Viewed():
            return Kind.TEXT
        case PicturePart(raster=raster):
            return Kind.IMAGE if raster else Kind.MEDIA
    return Kind.OTHER


def without(part: Part, there: Extents) -> tuple[Range, ...]:
    """The ranges of a part that are not there."""
    return tuple(gap for start, end in part.ranges for gap in there.missing(start, end))


def slice_of(part: Part, ranges: tuple[Range, ...]) -> Slice:
    pages: tuple[int, ...] = ()
    width = height = view = 0
    match part:
        case Texts(page=page):
            pages = (page,) if page else ()
        case Viewed(pages=of, size=view):
            pages = tuple(range(1, of + 1))
        case PicturePart(media=media):
            pages, width, height = media.pages, media.width, media.height
    runs = joined((page, page + 1) for page in pages)[:MAX_RUNS]
    return Slice(kind_of(part), flat(ranges), flat(runs), width, height, view)


def cut(data: bytes) -> Iterator[bytes]:
    """In pieces that the link takes one after the other."""
    return (data[at : at + PIECE] for at in range(0, len(data), PIECE))


def batches(slices: list[Slice]) -> Iterator[tuple[list[Slice], bool]]:
    """The slices cut so that each message fits a frame, and whether another one follows."""
    batch: list[Slice] = []
    size = 0
    for one in slices:
        need = 16 + 5 * len(one.ranges) + 3 * len(one.pages)
        if batch and size + need > MAX_SLICES:
            yield batch, True
            batch, size = [], 0
        batch.append(one)
        size += need
    yield batch, False
