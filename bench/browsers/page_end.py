"""Compares what a page ends up as in a browser's window with another such end.

An end is what is left when nothing changes any more: every pixel at the page's full height, the
places of its pictures, what the console has to say. Knows a window; not which browser it is of,
nor how the page came to it.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from PIL import Image

from bench.browsers.visual import FrameBox, mean_difference
from bench.browsers.windows import ConsoleTab
from bench.pages.page_load import PICTURES, WIDTH

GOAL: Final = 1.0
"""Mean difference, of 255."""
SETTLE: Final = 3.0
"""Seconds after the load event: refinement in place, decoding, drawing."""
LOOK: Final = 0.7
"""Seconds between two looks that must see the same; a busy machine refines late."""
LOOKS: Final = 3
"""At least, so that what moves by itself is seen to move."""
MOST_LOOKS: Final = 6
PATIENCE: Final = 60.0
"""Seconds for which a page is looked at that is not yet like another."""
_DECODED: Final = """
/* Resolves when no picture is being decoded any more. */
Promise.allSettled([...document.images].map(image => image.decode())).then(() => null)"""


@dataclass(frozen=True, slots=True)
class PageEnd:
    """What a page ended up as."""

    looks: tuple[Image.Image, ...]
    """A while apart, the last one last: what differs among them moves by itself."""
    boxes: tuple[FrameBox, ...]
    complaints: Counter[str]
    """Console errors, failed loads and uncaught exceptions, addresses made comparable."""
    protocols: frozenset[str] = frozenset()
    """By which the browser got it: "h2", "http/1.1"."""

    @property
    def image(self) -> Image.Image:
        """The last look."""
        return self.looks[-1]


async def _settle() -> None:
    await asyncio.sleep(SETTLE)


async def end_of(
    window: ConsoleTab,
    base: str,
    page: str,
    *,
    settled: Callable[[], Awaitable[None]] = _settle,
    looks: int = LOOKS,
    like: PageEnd | None = None,
) -> PageEnd:
    """Load `page` (a path below `base`), wait until it is `settled`, and look at it.

    `looks` times at least, until nothing changes any more; with `like`, until it looks the same as
    that end, for PATIENCE at most: what is slow is not different.
    """
    await window.go("about:blank")
    window.complaints.clear()
    await window.viewport(width=WIDTH, height=1000)
    await window.go(base + page)
    await _fit(window)  # Brings lazy pictures into view.
    await settled()
    await _fit(window)  # A late font or picture makes it longer.
    await window.evaluate(_DECODED)
    boxes = tuple(
        FrameBox(round(x), round(y), round(x + w), round(y + h))
        for x, y, w, h in json.loads(await window.evaluate(f"JSON.stringify({PICTURES})"))
    )
    taken = await (_looks(window, looks) if like is None else _looks_like(window, like))
    complaints = Counter(text.replace(base, "/") for text in window.complaints)
    protocols = json.loads(await window.evaluate(_PROTOCOLS))
    return PageEnd(taken, boxes, complaints, frozenset(protocols))


async def _fit(window: ConsoleTab) -> None:
    """Make the viewport as high as the page; without a scroll bar that may be another height."""
    height = 0
    for _ in range(_FITS):
        known, height = height, int(await window.evaluate(_HEIGHT))
        if height == known:
            return
        await window.viewport(width=WIDTH, height=height)


async def _looks(window: ConsoleTab, least: int) -> tuple[Image.Image, ...]:
    """Looks until two in a row see the same."""
    looks = [await _look(window)]
    while len(looks) < least or (looks[-1] != looks[-2] and len(looks) < MOST_LOOKS):
        await asyncio.sleep(LOOK)
        looks.append(await _look(window))
    return tuple(looks)


async def _looks_like(window: ConsoleTab, other: PageEnd) -> tuple[Image.Image, ...]:
    """One look: the first that is like the other's last, or the last one taken."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + PATIENCE
    while True:
        look = await _look(window)
        if same(other, look) or clock() > deadline:
            return (look,)
        await asyncio.sleep(LOOK)


async def _look(window: ConsoleTab) -> Image.Image:
    return Image.open(io.BytesIO(await window.screenshot())).convert("RGB")


def same(reference: PageEnd, look: Image.Image) -> bool:
    """Whether nobody could tell this look from the reference, what moves by itself apart."""
    final = reference.image
    if final.size != look.size or mean_difference(final, look) >= GOAL:
        return False
    still = _still(reference.boxes, reference)
    return all(mean_difference(box.cut(final), box.cut(look)) < GOAL for box in still)


def differences(reference: PageEnd, again: PageEnd, through: PageEnd) -> dict[str, Any]:
    """Figures of one comparison; `again` is the reference once more."""
    same_size = reference.image.size == through.image.size
    still = _still(reference.boxes, reference, again)
    apart = [mean_difference(box.cut(reference.image), box.cut(through.image)) for box in still]
    unlike = (reference.complaints - through.complaints) + (
        through.complaints - reference.complaints
    )
    return {
        "same_size": same_size,
        "page_difference": mean_difference(reference.image, through.image) if same_size else 255.0,
        "pictures": len(still),
        "moving_pictures": len(reference.boxes) - len(still),
        "picture_difference": max(apart, default=0.0),
        "complaints": sorted(unlike),
    }


def _still(boxes: tuple[FrameBox, ...], reference: PageEnd, *others: PageEnd) -> list[FrameBox]:
    """Boxes whose contents don't move by themselves."""
    looks = [look for end in (reference, *others) for look in end.looks]
    return [
        box
        for box in boxes
        if all(mean_difference(box.cut(reference.image), box.cut(look)) < GOAL for look in looks)
    ]


_HEIGHT: Final = "document.documentElement.scrollHeight"
_FITS: Final = 4
"""Times at most; a page may be always a little longer than its window."""

_PROTOCOLS: Final = """
JSON.stringify([...new Set(performance.getEntries().map(entry => entry.nextHopProtocol))]
  .filter(Boolean))"""
