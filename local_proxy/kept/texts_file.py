"""Keeps the texts of earlier visits on disk, in a SQLite file of their own, from run to run.

Written in batches, off the event loop; what was kept in the last seconds before a machine loses
power is lost, which costs bytes and nothing else. A text whose bytes are not what its digest says
is never used (coding/dictionary.py). Nobody but the owner can read the file; what is dropped from
it is overwritten.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import structlog

from coding.dictionary import Dictionary
from coding.owner import TextOwner
from coding.text_shelf import Key, TextShelf
from local_proxy.kept.sqlite_file import SqliteFile, Unavailable
from local_proxy.kept.threads import STORE

FILE: Final = "texts.sqlite3"
SCHEMA: Final = 1
PERIOD: Final = 20.0
"""Seconds between two batches."""
PLACES: Final = 4
"""A site, in one browser, takes at most the whole by this."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS texts (
  number INTEGER PRIMARY KEY, digest BLOB NOT NULL, origin TEXT NOT NULL, credentials BLOB NOT NULL,
  client TEXT NOT NULL, site TEXT NOT NULL, url TEXT NOT NULL, media TEXT NOT NULL,
  page TEXT NOT NULL, size INTEGER NOT NULL, packed BLOB NOT NULL,
  UNIQUE (digest, origin, credentials, client, site));
"""
_log = structlog.get_logger("sluice.local")


class TextsFile:
    """The file. All methods raise Unavailable."""

    def __init__(self, folder: Path) -> None:
        self._with = SqliteFile(folder / FILE, schema=SCHEMA, tables=_TABLES).do

    def texts(self) -> list[Dictionary]:
        """All of them, those kept last at the end."""
        query = (
            "SELECT digest, origin, credentials, client, site, url, media, page, packed, size "
            "FROM texts ORDER BY number"
        )
        return self._with(lambda db: [_text(*row) for row in db.execute(query)])

    def write(self, changes: Mapping[Key, Dictionary | None]) -> None:
        """Keep these, and let go of those that are None."""
        self._with(lambda db: _write(db, changes))

    def erase(self) -> None:
        """Let go of all, not only in the index."""
        self._with(lambda db: db.execute("DELETE FROM texts"))
        self._with(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())


class KeptTexts:
    """The shelf of one local proxy, and its file."""

    def __init__(self, file: TextsFile | None, *, max_bytes: int) -> None:
        """`file` None: nothing outlives the run. `max_bytes`: as TextShelf's."""
        self._file = file
        self._changes: dict[Key, Dictionary | None] = {}
        self._told = False
        self.shelf = TextShelf(
            max_bytes=max_bytes, places=PLACES, kept=self._kept, dropped=self._dropped
        )

    async def recall(self) -> None:
        """Fill the shelf with the texts of earlier runs."""
        if self._file is None:
            return
        try:
            self.shelf.restore(await STORE.run(self._file.texts))
        except Unavailable as error:
            self._tell(error)

    async def run(self) -> None:
        """Write now and then, until cancelled; returns at once where nothing is to be kept."""
        while self._file is not None and self.shelf.max_bytes:
            await asyncio.sleep(PERIOD)
            await self.flush()

    async def flush(self) -> None:
        """Write what has changed."""
        if self._file is None or not self._changes:
            return
        changes, self._changes = self._changes, {}
        try:
            await STORE.run(self._file.write, changes)
            self._told = False
        except Unavailable as error:
            self._changes = {**changes, **self._changes}
            self._tell(error)

    async def erase(self) -> None:
        """Forget all of them. Raises Unavailable where the file can't be had."""
        self.shelf.forget(lambda text: True)
        if self._file is not None:
            await STORE.run(self._file.erase)
            self._changes.clear()

    def _tell(self, error: Unavailable) -> None:
        if not self._told:
            _log.warning("texts of earlier visits can't be kept", why=str(error))
        self._told = True

    def _kept(self, text: Dictionary) -> None:
        if self._file is not None:
            self._changes[text.digest, text.owner] = text

    def _dropped(self, text: Dictionary) -> None:
        if self._file is not None:
            self._changes[text.digest, text.owner] = None


def _text(*row: str | bytes | int) -> Dictionary:
    digest, origin, credentials, client, site, url, media, page, packed, size = row
    owner = TextOwner(str(origin), _bytes(credentials), (str(client), str(site)))
    return Dictionary(
        *(_bytes(digest), owner, str(url), str(media), str(page), _bytes(packed), int(size))
    )


def _bytes(value: str | bytes | int) -> bytes:
    return value if isinstance(value, bytes) else b""


def _write(db: sqlite3.Connection, changes: Mapping[Key, Dictionary | None]) -> None:
    db.executemany(
        "DELETE FROM texts WHERE digest = ? AND origin = ? AND credentials = ? AND client = ? "
        "AND site = ?",
        [_key(key) for key in changes],
    )
    rows: Iterable[tuple[str | bytes | int, ...]] = [
        (*_key(key), text.url, text.media, text.page, text.size, text.packed)
        for key, text in changes.items()
        if text is not None
    ]
    db.executemany(
        "INSERT INTO texts (digest, origin, credentials, client, site, url, media, page, size, "
        "packed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )


def _key(key: Key) -> tuple[str | bytes, ...]:
    digest, owner = key
    client, site = (part.encode("utf-8", "replace").decode() for part in owner.place)
    return digest, owner.origin, owner.credentials, client, site
