"""A view of a document's texts, where it pays: little of the file, and instead of much of it.

Made in a thread; what can't have one goes without. Must not know: components, frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import structlog

from office.contents import unpacked
from office.errors import Unreadable
from office.text_view.records import CONTENT, VIEWED
from office.text_view.view_records import records_of
from remote_proxy.documents.document import PackageDocument
from transcoders.text import FAST, TextEncoder

LEAST: Final = 32_768
"""Bytes of texts in the zip from which a view is made: 5 s of a modem."""
GAIN: Final = 4
"""Times that a view must be smaller than what it is a view of."""
SHARE: Final = 50
"""It may be a fiftieth of the file, reckoned with a fast coder, which is 1.7 % with the one that it
goes by: a file is to come 2 % later at most."""
QUALITY: Final = 11
"""Of brotli: the view of 146 slides takes 0.5 s, in which its first page crosses the link."""
_log = structlog.get_logger("sluice.remote")


@dataclass(frozen=True, slots=True)
class TextVersion:
    """A view as it goes over the link."""

    size: int
    """Bytes of it, not coded."""
    first: bytes
    """What is needed for its first page, coded."""
    _encoder: TextEncoder
    _rest: bytes

    def rest(self) -> bytes:
        """What comes behind `first`; once. Takes a while: for a thread."""
        return self._encoder.encode(self._rest, flush=False) + self._encoder.finish()


def text_version(document: PackageDocument) -> TextVersion | None:
    """A view of its texts; None: it has none, or it would not pay. For a thread."""
    entries = document.directory.by_name
    texts = [entries[name] for name in VIEWED if name in entries]
    size = sum(entry.compressed for entry in texts)
    if CONTENT not in entries or len(texts) < len(VIEWED) or size < LEAST:
        return None
    try:
        read = document.gathering.spool.read
        content, styles = (unpacked(entry, read(entry.start, entry.end)) for entry in texts)
        first, *others = (
            one.packed() for one in records_of(document.outline.kind, content, styles)
        )
    except (Unreadable, ValueError) as error:
        _log.info("a document's texts have no view", reason=str(error))
        return None
    rest = b"".join(others)
    about = TextEncoder(quality=FAST)
    coded = len(about.encode(first + rest, flush=False) + about.finish())
    if coded * GAIN > size or coded * SHARE > document.directory.length:
        return None
    encoder = TextEncoder(quality=QUALITY)
    return TextVersion(len(first) + len(rest), encoder.encode(first), encoder, rest)
