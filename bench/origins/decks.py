"""Presentations of given sizes, made of the small one in tests/data, for virtual time.

They are real .pptx files, and cross the link in parts as any does.
"""

from __future__ import annotations

import asyncio
import io
import random
import zipfile
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Final

from bench.origins.synthetic import PICTURES, File, SyntheticPage
from bench.pairs.pair import Pair
from local_proxy.documents.incoming_document import IncomingDocument

SMALL: Final = Path(__file__).parents[2] / "tests" / "data" / "office" / "deck.pptx"
_TYPE: Final = "application/octet-stream"


def deck(*, text: int, pictures: int, seed: int = 1) -> bytes:
    """The small deck with `text` bytes of texts, as the file has them, and so many of photos."""
    chance, out = random.Random(seed), io.BytesIO()
    with zipfile.ZipFile(SMALL) as before, zipfile.ZipFile(out, "w") as after:
        slides = [entry.filename for entry in before.infolist() if _is_slide(entry.filename)]
        here = sum(e.compress_size for e in before.infolist() if e.filename.endswith(".xml"))
        more = max(0, text - here) // len(slides)
        for entry in before.infolist():
            data = before.read(entry)
            if entry.filename in slides:
                data = data.replace(b"</a:t>", _words(chance, more) + b"</a:t>", 1)
            after.writestr(entry, data)
        photos = cycle(sorted(PICTURES.glob("*.jpg")))
        number = 0
        while pictures > 0:
            data = next(photos).read_bytes()
            number += 1
            pictures -= len(data)
            after.writestr(f"ppt/media/photo{number}.jpg", data)
    return out.getvalue()


def large_pictures() -> bytes:
    """A small deck with a photo in place of each picture: programs look at what is in an entry."""
    photos, out = cycle(sorted(PICTURES.glob("*.jpg"))), io.BytesIO()
    like = SMALL.with_name("deck_pictures.pptx")
    with zipfile.ZipFile(like) as before, zipfile.ZipFile(out, "w") as after:
        for entry in before.infolist():
            photo = entry.filename.endswith((".png", ".jpeg"))
            data = next(photos).read_bytes() if photo else before.read(entry)
            after.writestr(entry, data)
    return out.getvalue()


def page_of(url: str, data: bytes) -> SyntheticPage:
    """What an origin has of a document."""
    return SyntheticPage(url, {url: File(_TYPE, data)})


async def opened(pair: Pair, url: str) -> IncomingDocument:
    """The document, once its directory is here. Raises ComponentFailed, OSError."""
    _, found = await pair.local.packages.open(url)
    if not isinstance(found, IncomingDocument):
        raise OSError(f"{url} does not come in parts")
    return found


async def present(document: IncomingDocument, entries: Sequence[str]) -> None:
    """Until these entries are here. Raises OSError where the document fails."""
    changed = asyncio.Event()
    unwatch = document.watch(changed.set)
    try:
        while not all(map(document.present, entries)):
            if document.failure:
                raise OSError(document.failure)
            changed.clear()
            await changed.wait()
    finally:
        unwatch()


def texts(document: IncomingDocument) -> list[str]:
    """The entries that its pages need."""
    return [name for page in document.outline.pages for name in page.entries]


def _is_slide(name: str) -> bool:
    return name.startswith("ppt/slides/slide") and name.endswith(".xml")


def _words(chance: random.Random, size: int) -> bytes:
    """Digits that deflate to `size` bytes."""
    return chance.randbytes(size * 8 // 9).hex().encode()
