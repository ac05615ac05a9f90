"""How a document is cut into components: ranges of its file, in the order of reading.

Every byte but the directory's is in exactly one. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from office.beginnings import SIZE, main_text
from office.entry_lists import RASTERS, is_own
from office.extents import Range, joined
from office.odf import FRAME
from office.outline import Media, Outline, OutlinePage
from office.text_view.records import VIEWED
from office.zip_directory import Directory, ZipEntry

MAX_TEXTS: Final = 512
"""Components of texts; the pages beyond share the last."""
MAX_PICTURES: Final = 1024
"""Components of pictures; the pictures beyond are among what comes last."""
MAX_RANGES: Final = 1000
"""Of one part: it must fit a message."""
SMALL: Final = 4000
"""Bytes of a component of texts that no page needs: small things go before pictures are refined
(hats/disciplines/tiers.py), wherever an entry ends."""
MAX_SMALL: Final = 64
WORTH: Final = 1_024
"""Bytes of all else that a page needs from which its own text goes before that."""
LONG: Final = 3 * SIZE
"""Bytes of a text whose beginning goes before how it looks."""
LARGE: Final = 16_384
"""Bytes from which what is no text and no picture is a component of its own."""


@dataclass(frozen=True, slots=True)
class Texts:
    """All that a page needs, or several; page 0: what none does."""

    page: int
    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class PicturePart:
    """One picture; `raster`: there may be coarse versions of it."""

    media: Media
    ranges: tuple[Range, ...]
    raster: bool


@dataclass(frozen=True, slots=True)
class Viewed:
    """A view of texts that come later: nothing of the file."""

    pages: int
    """How many the document has."""
    size: int
    """Bytes of the view."""
    ranges: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class RestParts:
    """Fonts, films, what is embedded; texts that there is a view of."""

    ranges: tuple[Range, ...]


Part = Texts | Viewed | PicturePart | RestParts


def parts_of(directory: Directory, outline: Outline, *, view: int = 0) -> list[Part]:
    """All parts in the order in which they are of use. `view`: bytes of a view of its texts."""
    entries = directory.by_name

    def cut(names: Iterable[str]) -> Iterator[tuple[Range, ...]]:
        return _cut((entries[name].start, entries[name].end) for name in names)

    parts: list[Part] = []
    viewed: list[str] = []
    if view:
        texts = [name for page in outline.pages for name in page.entries]
        frame = [name for name in texts if name in FRAME and name not in VIEWED]
        viewed = [name for name in texts if name not in frame]
        parts += (Texts(1, ranges) for ranges in cut(frame))
        parts.append(Viewed(len(outline.pages), view))
        outline = replace(outline, pages=(OutlinePage(()),))
    for page, names in _texts(outline):
        parts += _readable(page, tuple(names), outline, entries)
    for unread in cut(outline.texts):
        parts += (Texts(0, piece) for piece in _small(unread))
    for media in outline.media[:MAX_PICTURES]:
        raster = media.entry.lower().endswith(RASTERS)
        parts += (PicturePart(media, ranges, raster) for ranges in cut([media.entry]))
    parts += (RestParts(ranges) for ranges in cut(viewed))
    small: list[str] = []
    large = 0
    for name in (*outline.others, *(media.entry for media in outline.media[MAX_PICTURES:])):
        entry = entries[name]
        if entry.end - entry.start >= LARGE and large < MAX_PICTURES:
            large += 1
            parts += (RestParts(ranges) for ranges in cut([name]))
        else:
            small.append(name)
    return [*parts, *(RestParts(ranges) for ranges in cut(small))]


def _cut(ranges: Iterable[Range]) -> Iterator[tuple[Range, ...]]:
    apart = joined(ranges)
    for at in range(0, len(apart), MAX_RANGES):
        yield tuple(apart[at : at + MAX_RANGES])


def _readable(
    page: int, names: tuple[str, ...], outline: Outline, entries: Mapping[str, ZipEntry]
) -> Iterator[Texts]:
    """A page's own text before what says how it looks, where that is worth a part of its own. Of a
    long text the beginning alone: with how it looks it can be shown.
    """

    def ranges(names: Iterable[str]) -> list[Range]:
        return [(entries[name].start, entries[name].end) for name in names]

    own, look = ranges(filter(is_own, names)), ranges(n for n in names if not is_own(n))
    pieces = [own + look]
    if page and own and sum(end - start for start, end in look) >= WORTH:
        pieces = [own, look]
        main = entries.get(main_text(outline)) if page == 1 else None
        if main is not None and main.end - main.start >= LONG:
            first = main.start + SIZE
            rest = [(start, end) for start, end in own if start != main.start]
            pieces = [[(main.start, first)], rest + look, [(first, main.end)]]
    for piece in pieces:
        yield from (Texts(page, those) for those in _cut(piece))


def _texts(outline: Outline) -> Iterator[tuple[int, Iterable[str]]]:
    """Pages and their texts."""
    pages = [(number, page) for number, page in enumerate(outline.pages, 1) if page.entries]
    for number, page in pages[:MAX_TEXTS]:
        yield number, page.entries
    if shared := pages[MAX_TEXTS:]:
        yield shared[0][0], (name for _, page in shared for name in page.entries)


def _small(ranges: Sequence[Range]) -> Iterator[tuple[Range, ...]]:
    """The ranges in pieces of SMALL bytes, the first MAX_SMALL of them, and what is left."""
    piece: list[Range] = []
    room, pieces = SMALL, 0
    for start, end in ranges:
        at = start
        while at < end:
            stop = min(end, at + room) if pieces < MAX_SMALL else end
            piece.append((at, stop))
            room -= stop - at
            at = stop
            if room <= 0 and pieces < MAX_SMALL:
                yield tuple(piece)
                piece, room, pieces = [], SMALL, pieces + 1
    if piece:
        yield tuple(piece)
