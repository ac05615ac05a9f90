"""A document while it is being gathered: what can be known of it and of its pictures by now."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

from office.contents import beginning, unpacked
from office.entry_lists import RASTERS
from office.errors import Unreadable
from office.outline import Media, Outline
from office.parts import PicturePart
from office.zip_directory import Directory
from remote_proxy.documents.fetch import Gathering
from transcoders.make.thumbnail import natural_size
from wire.fields import Headers

HEAD: Final = 65_536
"""Bytes of a picture in which its size is looked for: metadata of 40 KB in front are usual."""


T = TypeVar("T")


class SlowRunner(Protocol):
    """Runs what takes long, apart from the event loop."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


@dataclass(frozen=True, slots=True)
class PackageDocument:
    """What is to be sent."""

    headers: Headers
    """Of the response that brings it."""
    gathering: Gathering
    directory: Directory
    outline: Outline
    run: SlowRunner

    async def measured(self) -> Outline:
        """The outline, with the sizes of those pictures that are here: nobody waits for others."""
        media = await self.run(lambda: tuple(map(self._measured, self.outline.media)))
        return replace(self.outline, media=media)

    async def picture(self, part: PicturePart) -> bytes | None:
        """A picture's file; None: it is damaged. Raises OriginError."""
        entry = self.directory.by_name[part.media.entry]
        await self.gathering.need([(entry.start, entry.end)])
        try:
            return unpacked(entry, self.gathering.spool.read(entry.start, entry.end))
        except Unreadable:
            return None

    async def sha256(self) -> bytes:
        """The digest of the whole file, once it is here. Raises OriginError."""
        await self.gathering.everything()
        return await self.run(self._sha256)

    def _measured(self, media: Media) -> Media:
        entry, spool = self.directory.find(media.entry), self.gathering.spool
        if entry is None or not media.entry.lower().endswith(RASTERS):
            return media
        end = min(entry.end, entry.start + HEAD)
        if not spool.there.covers(entry.start, end):
            return media
        width, height = natural_size(beginning(entry, spool.read(entry.start, end), HEAD))
        return replace(media, width=width, height=height)

    def _sha256(self) -> bytes:
        digest = hashlib.sha256()
        for piece in self.gathering.spool.pieces([(0, self.directory.length)]):
            digest.update(piece)
        return digest.digest()
