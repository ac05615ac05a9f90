"""A PNG's filters: from rows of samples to the rows that were deflated.

A filter's row needs nothing but unfiltered rows (PNG, third edition, 9.2), so each is taken of many
rows at once, by Pillow: 10 ms for a megabyte, 30 ms with Paeth's.

Pure. Must not know chunks, colours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PIL import Image, ImageChops

from transcoders.picture import Unfit

STRIP: Final = 1 << 20
"""Bytes of rows that are filtered at a time: a dozen images of that size are in memory then."""


def filtered(raw: bytes, *, width: int, step: int, kinds: bytes) -> bytes:
    """Rows of `width` bytes, one for each of `kinds`, with its filter in front and applied.

    `step`: bytes of a pixel, at least 1. Raises Unfit for a filter that there is not.
    """
    if len(raw) != width * len(kinds) or any(kind >= len(_FILTERS) for kind in set(kinds)):
        raise Unfit("other rows than were told")
    made, before = [], bytes(width)
    count = max(1, STRIP // width) if width else 1
    for top in range(0, len(kinds), count):
        rows = raw[top * width : (top + count) * width]
        made.append(_strip(rows, before, width, step, kinds[top : top + count]))
        before = rows[-width:]
    return b"".join(made)


def _strip(rows: bytes, before: bytes, width: int, step: int, kinds: bytes) -> bytes:
    around = _Around(rows, before + rows[: -width or None], width, len(kinds), step)
    by_kind = {kind: _FILTERS[kind](around) for kind in set(kinds)}
    made = bytearray()
    for at, kind in enumerate(kinds):
        made.append(kind)
        made += by_kind[kind][at * width : (at + 1) * width]
    return bytes(made)


class _Around:
    """Each byte's neighbours, as images."""

    def __init__(self, rows: bytes, above: bytes, width: int, height: int, step: int) -> None:
        self.bytes = rows
        self._step = step
        self.here, self.above = (
            Image.frombytes("L", (width, height), one) for one in (rows, above)
        )

    @property
    def left(self) -> Image.Image:
        return self._moved(self.here)

    @property
    def corner(self) -> Image.Image:
        return self._moved(self.above)

    def _moved(self, image: Image.Image) -> Image.Image:
        moved = Image.new("L", image.size)
        if image.width > self._step:
            part = image.crop((0, 0, image.width - self._step, image.height))
            moved.paste(part, (self._step, 0))
        return moved

    def less(self, prediction: Image.Image) -> bytes:
        return ImageChops.subtract_modulo(self.here, prediction).tobytes()


def _average(around: _Around) -> bytes:
    return around.less(ImageChops.add(around.left, around.above, scale=2.0))


def _paeth(around: _Around) -> bytes:
    """The nearest to a + b - c of a, b, c. Distances beyond 255 count as that: no other is less."""
    a, b, c = around.left, around.above, around.corner
    to_a, to_b = ImageChops.difference(b, c), ImageChops.difference(a, c)
    apart = ImageChops.lighter(
        ImageChops.darker(ImageChops.subtract(b, c), ImageChops.subtract(c, a)),
        ImageChops.darker(ImageChops.subtract(c, b), ImageChops.subtract(a, c)),
    )  # a and b on two sides of c
    to_c = Image.composite(
        ImageChops.difference(to_a, to_b), ImageChops.add(to_a, to_b), _any(apart)
    )
    not_a = ImageChops.lighter(ImageChops.subtract(to_a, to_b), ImageChops.subtract(to_a, to_c))
    b_or_c = Image.composite(c, b, _any(ImageChops.subtract(to_b, to_c)))
    return around.less(Image.composite(b_or_c, a, _any(not_a)))


def _any(image: Image.Image) -> Image.Image:
    return image.point(_MASK)


_MASK: Final = [0, *[255] * 255]
_FILTERS: Final[tuple[Callable[[_Around], bytes], ...]] = (
    lambda around: around.bytes,
    lambda around: around.less(around.left),
    lambda around: around.less(around.above),
    _average,
    _paeth,
)
"""By their numbers in a PNG."""
