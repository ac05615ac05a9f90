"""A file that is filled in any order, and its folder, which goes when the document is closed."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from office.extents import Extents
from ownership import NotOwn, check_own

PREFIX: Final = "sluice-of-"
"""Of folders: behind it the process that they belong to."""
_PIECE: Final = 1 << 20


class SparseFile:
    """One file. What was written once is not written again."""

    def __init__(self, path: Path) -> None:
        """Creates the file. Raises OSError."""
        self.path = path
        self.there = Extents()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)

    def write(self, at: int, data: bytes) -> None:
        """Raises OSError where there is no room."""
        for start, end in self.there.missing(at, at + len(data)):
            os.pwrite(self._file, data[start - at : end - at], start)
            self.there.add(start, end)

    def read(self, start: int, end: int) -> bytes:
        """Bytes that are there."""
        return os.pread(self._file, end - start, start)

    def sha256(self) -> bytes:
        """The digest of all of it."""
        digest, at = hashlib.sha256(), 0
        while piece := os.pread(self._file, _PIECE, at):
            digest.update(piece)
            at += len(piece)
        return digest.digest()

    def close(self) -> None:
        """Nothing more is written."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Folder:
    """Where the documents of one process are: a folder for each, in one that nobody else reads."""

    def __init__(self, parent: Path | None) -> None:
        """`parent` is made once there is something to keep; None: where temporary files are."""
        self._parent = parent
        self._own: Path | None = None

    def new(self, name: str) -> SparseFile:
        """An empty file of that name. Raises OSError."""
        if self._own is None:
            if self._parent is not None:
                self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _check(self._parent)
                _clear(self._parent)
            prefix = f"{PREFIX}{os.getpid()}-"
            self._own = Path(tempfile.mkdtemp(prefix=prefix, dir=self._parent))
        return SparseFile(Path(tempfile.mkdtemp(dir=self._own)) / name)

    @staticmethod
    def remove(file: SparseFile) -> None:
        """The file is gone, and its folder."""
        file.close()
        shutil.rmtree(file.path.parent, ignore_errors=True)

    def close(self) -> None:
        """All files go."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            self._own = None


def _check(parent: Path) -> None:
    """Raises OSError where others could put links in the place of folders."""
    try:
        check_own(parent)
    except NotOwn as error:
        raise OSError(errno.EACCES, str(error)) from error


def _clear(parent: Path) -> None:
    """Remove what processes left that are gone."""
    for folder in parent.glob(f"{PREFIX}*-*"):
        process = folder.name.removeprefix(PREFIX).partition("-")[0]
        if process.isdecimal() and not Path(f"/proc/{process}").exists():
            shutil.rmtree(folder, ignore_errors=True)
