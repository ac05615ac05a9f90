"""The files that LibreOffice reads: views of the document, pictures, the whole.

They lie in the session's folder and go with it. Must not know: LibreOffice.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from local_proxy.kept.threads import DOCUMENTS
from office.beginnings import closed, main_text
from office.contents import unpacked
from office.errors import Unreadable
from office.partial_view import chunks
from office.source import Source
from office.zip_directory import ZipEntry


class Files:
    """Each is written in a thread: disks are slow, and so is unpacking."""

    def __init__(self, source: Source, folder: Path) -> None:
        self._source = source
        self._folder = folder
        self._number = 0

    async def view(self) -> Path:
        """What is here now, as a file that can be opened. Raises Unreadable for the beginning of a
        text in which nothing can be read yet.
        """
        source = self._source
        if source.complete:
            return await self.whole()
        path = self._next(source.name)
        here = {entry.name for entry in source.directory.entries if source.present(entry.name)}
        instead = source.text.instead(source.present) if source.text is not None else {}
        main = source.directory.find(main_text(source.outline))
        if main is not None and main.name not in here and main.name not in instead:
            instead = {main.name: await DOCUMENTS.run(self._begun, main, source.reach)}
        await DOCUMENTS.run(self._write_view, path, here, instead)
        return path

    async def whole(self) -> Path:
        """The original, byte for byte."""
        path = self._next(self._source.name)
        await DOCUMENTS.run(_link, self._source.path, path)
        return path

    async def picture(self, entry: str, *, final: bool) -> Path:
        """The file of a picture. Raises Unreadable."""
        path = self._next("picture")
        low = None if final else self._source.low(entry)
        if low is not None:
            path.write_bytes(low)
        else:
            await DOCUMENTS.run(self._unpack, entry, path)
        return path

    def _next(self, name: str) -> Path:
        """A folder each, for the name is shown to people."""
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        return folder / (Path(name).name or "document")

    def _write_view(self, path: Path, here: set[str], instead: Mapping[str, bytes]) -> None:
        source = self._source
        with source.path.open("rb") as original, path.open("wb") as view:

            def read(start: int, end: int) -> bytes:
                original.seek(start)
                return original.read(end - start)

            view.writelines(
                chunks(source.directory, source.outline, here.__contains__, read, instead)
            )

    def _begun(self, main: ZipEntry, reach: int) -> bytes:
        with self._source.path.open("rb") as original:
            original.seek(main.start)
            return closed(self._source.outline.kind, main, original.read(reach - main.start))

    def _unpack(self, name: str, path: Path) -> None:
        entry = self._source.directory.find(name)
        if entry is None:
            raise Unreadable(f"{name!r} is not in the document")
        with self._source.path.open("rb") as original:
            original.seek(entry.start)
            raw = original.read(entry.end - entry.start)
        path.write_bytes(unpacked(entry, raw))


def _link(original: Path, path: Path) -> None:
    """Without a copy where the disk is the same: the original is not written to any more."""
    try:
        os.link(original, path)
    except OSError:
        shutil.copyfile(original, path)
