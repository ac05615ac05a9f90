"""A text that is kept so that later ones can be coded against it, and how one is gathered. Pure.

Both ends gather by the same rules what crosses between them; each text is named by the SHA-256 of
its bytes, so neither end can take another for it. Kept packed: a page takes two
fifths of its bytes then, and is unpacked in a millisecond.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Final, Self

import zstandard

from coding.delta import MAX_DICTIONARY
from coding.owner import TextOwner
from web.caching.fields import CacheControl
from wire.fields import Headers, header
from wire.origin_request import OriginRequest

LEAST: Final = 256
"""Bytes below which a text is not kept: its name costs as much as it could save."""
NAME: Final = 6
"""Bytes of its digest by which a device names what it has: its own few hundred, to a remote that
answers with all 32."""
_LEVEL: Final = 3
OVERHEAD: Final = 512
"""Bytes that keeping a text costs besides those of it."""


@dataclass(frozen=True, slots=True)
class Dictionary:
    """One kept text."""

    digest: bytes
    """SHA-256 of its bytes."""
    owner: TextOwner
    url: str
    media: str
    """Essence of its media type, lower case."""
    page: str
    """The address of the page that used it last; its own, if it is one."""
    packed: bytes
    """Zstd."""
    size: int
    """Of its bytes."""

    @property
    def name(self) -> bytes:
        """By which a device names it."""
        return self.digest[:NAME]

    @property
    def cost(self) -> int:
        """Bytes that keeping it takes."""
        return len(self.packed) + len(self.url) + len(self.page) + OVERHEAD

    @property
    def is_page(self) -> bool:
        """Whether it is a page itself, and no part of one."""
        return self.page == self.url

    def text(self) -> bytes | None:
        """Its bytes; None: they are not what they were, for a disk or somebody has changed them."""
        if not LEAST <= self.size <= MAX_DICTIONARY:
            return None
        try:
            said = zstandard.get_frame_parameters(self.packed).content_size
            if said not in (self.size, zstandard.CONTENTSIZE_UNKNOWN):
                return None
            data = zstandard.ZstdDecompressor().decompress(self.packed, max_output_size=self.size)
        except (zstandard.ZstdError, MemoryError):
            return None
        return data if hashlib.sha256(data).digest() == self.digest else None

    def used_by(self, page: str) -> Self:
        """The same, as another page's."""
        return self if page == self.page else replace(self, page=page)


class TextGathering:
    """Gathers a text as it passes; what is too long, or ends early, is let go."""

    def __init__(self) -> None:
        self._data: bytearray | None = bytearray()
        """None: it is too long."""

    def add(self, data: bytes) -> None:
        """The next bytes."""
        if self._data is None:
            return
        self._data += data
        if len(self._data) > MAX_DICTIONARY:
            self._data = None

    def finish(self, owner: TextOwner, url: str, *, media: str, page: str) -> Dictionary | None:
        """The text, whose end has come; None: it is none to keep."""
        if self._data is None or len(self._data) < LEAST:
            return None
        data, self._data = bytes(self._data), None
        packed = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
        digest = hashlib.sha256(data).digest()
        return Dictionary(digest, owner, url, media, page, packed, len(data))


def may_keep(request: OriginRequest, status: int, headers: Headers) -> bool:
    """Whether the text of an answer may be kept: neither who asked nor who answered forbids it
    (RFC 9111, 3; 5.2.1.5 and 5.2.2.5)."""
    forbidden = any("no-store" in CacheControl.of(one) for one in (request.headers, headers))
    return request.method == "GET" and status == 200 and not forbidden


def clears(headers: Headers) -> bool:
    """Whether an origin says that what it has sent before is to be forgotten (Clear-Site-Data)."""
    said = header(headers, "clear-site-data")
    return any(f'"{kind}"' in said for kind in ("cache", "cookies", "storage", "*"))
