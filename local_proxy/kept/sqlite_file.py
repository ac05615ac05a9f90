"""One SQLite file of the local proxy's own, opened for each batch and closed again.

So several processes may share it, and no thread owns it. One that is damaged is put aside and begun
anew; one that cannot be had for now says Unavailable, and who calls keeps what it has. Calls block:
never on the event loop. Must not know what is kept in it. Source: SQLite's documentation (result
codes, write-ahead logging).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

import structlog

from ownership import NotOwn, check_own

_PATIENCE: Final = 1.0
"""Seconds to wait for another process that writes."""
_FOR_NOW: Final = frozenset(
    (
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN),
        *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
        *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_NOMEM),
    )
)
"""Primary result codes that say nothing against the file's content."""
_log = structlog.get_logger("sluice.local")
_T = TypeVar("_T")


class Unavailable(Exception):
    """The file can't be read or written for now."""


class SqliteFile:
    """The file."""

    def __init__(self, path: Path, *, schema: int, tables: str) -> None:
        """`tables`: statements that make those that are missing, of any schema up to this one."""
        self.path = path
        self._schema = schema
        self._tables = f"{tables}\nPRAGMA user_version = {schema};"
        self._checked = False

    def do(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """What `work` makes of it, in one transaction. Raises Unavailable."""
        try:
            try:
                return self._once(work)
            except sqlite3.DatabaseError as error:
                if (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _FOR_NOW:
                    raise Unavailable(str(error)) from error
                self._put_aside(str(error))
            return self._once(work)
        except (OSError, sqlite3.Error, NotOwn) as error:
            raise Unavailable(str(error)) from error

    def _once(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._checked:
            check_own(self.path)  # SQLite follows links, and obeys what a file says
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite would let all read it
        with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as db:
            db.execute("PRAGMA secure_delete = ON")
            if not self._checked:
                self._check(db)
            with db:
                return work(db)

    def _check(self, db: sqlite3.Connection) -> None:
        """Once a run, and for a new file. Raises DatabaseError."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in range(self._schema + 1):
            raise sqlite3.DatabaseError(f"schema {version} is not {self._schema}")
        (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        if version == 0:
            db.execute("PRAGMA journal_mode = WAL").fetchone()
        if version != self._schema:
            db.executescript(self._tables)
        self._checked = True

    def _put_aside(self, why: str) -> None:
        aside = self.path.with_name(self.path.name + ".damaged")
        _log.warning("a damaged file was put aside and begun anew", file=str(aside), why=why)
        self._checked = False
        self.path.replace(aside)
        for journal in ("-wal", "-shm"):
            self.path.with_name(self.path.name + journal).unlink(missing_ok=True)
