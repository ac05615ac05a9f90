"""A document's outline from the parts in which it comes: what office/parts.py has cut. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from office.entry_lists import is_text
from office.errors import Unreadable
from office.extents import Range
from office.outline import DocumentKind, Media, Outline, OutlinePage
from office.zip_directory import Directory, ZipEntry
from wire.package import Slice, ranges_of
from wire.skeleton import Kind


def entries_in(in_place: Sequence[ZipEntry], ranges: Iterable[Range]) -> list[ZipEntry]:
    """The entries, given in the order of their places, that begin in these ranges."""

    def index(offset: int) -> int:
        return bisect_left(in_place, offset, key=lambda entry: entry.start)

    return [entry for start, end in ranges for entry in in_place[index(start) : index(end)]]


def in_place(directory: Directory) -> list[ZipEntry]:
    """The entries in the order of their places in the file."""
    return sorted(directory.entries, key=lambda entry: entry.start)


def outline_of(
    kind: DocumentKind, directory: Directory, pages: int, slices: Sequence[Slice]
) -> Outline:
    """Raises Unreadable where the parts are not all of the file, PeerError where they can't be."""
    entries = in_place(directory)
    texts: list[list[str]] = [[] for _ in range(pages)]
    media: list[Media] = []
    unread: list[str] = []
    others: list[str] = []
    for slice_ in slices:
        ranges = ranges_of(slice_.ranges, length=directory.start)
        found = [entry.name for entry in entries_in(entries, ranges)]
        shown = _pages(slice_, pages)
        if slice_.kind is Kind.TEXT and shown:
            texts[shown[0] - 1] += found
        elif slice_.kind in (Kind.IMAGE, Kind.MEDIA):
            media += (Media(name, shown, slice_.width, slice_.height) for name in found)
        else:
            for name in found:
                (unread if is_text(name) else others).append(name)
    if sum(map(len, texts)) + len(media) + len(unread) + len(others) != len(entries):
        raise Unreadable("its parts are not all of it")
    taken = tuple(OutlinePage(tuple(names)) for names in texts)
    return Outline(kind, taken, tuple(media), tuple(unread), tuple(others))


def _pages(slice_: Slice, pages: int) -> tuple[int, ...]:
    runs = ranges_of(slice_.pages, length=pages + 1)
    return tuple(page for start, end in runs for page in range(start, end) if page > 0)
