"""Entries put into an outline's four lists, each of them into one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from office.outline import DocumentKind, Media, Outline, OutlinePage
from office.zip_directory import Directory

TEXTS: Final = (".xml", ".rels", ".vml", ".rdf")
RASTERS: Final = (".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".webp")
"""Of these there can be coarse versions."""
PICTURES: Final = (
    *RASTERS,
    *(".bmp", ".tif", ".tiff", ".emf", ".wmf", ".emz", ".wmz", ".svg", ".svm"),
)
_PROSE: Final = ("content.xml", "word/document.xml", "word/_rels/document.xml.rels")
THUMBNAILS: Final = ("docProps/thumbnail", "Thumbnails/")


def is_text(name: str) -> bool:
    """It can be read, or says where to read on."""
    return name.lower().endswith(TEXTS) or name == "mimetype"


def is_own(name: str) -> bool:
    """It is what people read of a page, and not what says how that looks."""
    return name in _PROSE or "/slides/" in name


def is_picture(name: str) -> bool:
    return name.lower().endswith(PICTURES) and not name.startswith(THUMBNAILS)


def outline(
    kind: DocumentKind,
    directory: Directory,
    pages: Sequence[Iterable[str]],
    shown: dict[str, tuple[int, ...]],
) -> Outline:
    """`pages`: the texts that each page needs, those of earlier pages too or not. `shown`: pictures
    in the order of reading, and their pages."""
    left = dict.fromkeys(entry.name for entry in directory.entries)
    taken = []
    for page in pages:
        texts = tuple(name for name in dict.fromkeys(page) if name in left and is_text(name))
        for name in texts:
            del left[name]
        taken.append(OutlinePage(texts))
    media = [Media(name, where) for name, where in shown.items() if name in left]
    for one in media:
        del left[one.entry]
    media += [Media(name, ()) for name in left if is_picture(name)]
    texts = tuple(name for name in left if is_text(name))
    others = tuple(name for name in left if not is_text(name) and not is_picture(name))
    return Outline(kind, tuple(taken) or (OutlinePage(()),), tuple(media), texts, others)
