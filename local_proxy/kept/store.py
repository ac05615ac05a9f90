"""Keeps what outlives a run of the local proxy besides its keys: choices, savings, refusals.

One small SQLite file; sqlite_file.py says what becomes of one that is damaged or can't be had.
Calls block: never on the event loop. Must not know: asyncio, HTTP.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from local_proxy.kept.sqlite_file import SqliteFile

FILE: Final = "sluice.sqlite3"
SCHEMA: Final = 4
"""1 had no lessons, 2 no times, 3 no budgets; their tables are the same."""
MAX_DAYS: Final = 400
MAX_SITES: Final = 200
"""Of one day; the smallest are summed up under OTHERS."""
OTHERS: Final = ""
MAX_LESSONS: Final = 64
"""Clients; the oldest go."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS choices (pattern TEXT PRIMARY KEY, mode TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS times (pattern TEXT PRIMARY KEY, seconds REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS savings (
  day TEXT, site TEXT, origin_bytes INTEGER NOT NULL, link_bytes INTEGER NOT NULL,
  requests INTEGER NOT NULL, pictures INTEGER NOT NULL, PRIMARY KEY (day, site)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lessons (
  client TEXT, authority TEXT, at REAL NOT NULL, lesson TEXT NOT NULL,
  PRIMARY KEY (client, authority)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS budgets (
  interface TEXT PRIMARY KEY, month TEXT NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
_ADD: Final = """
INSERT INTO savings VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (day, site) DO UPDATE SET
  origin_bytes = origin_bytes + excluded.origin_bytes,
  link_bytes = link_bytes + excluded.link_bytes,
  requests = requests + excluded.requests, pictures = pictures + excluded.pictures
"""
_SUMS: Final = "sum(origin_bytes), sum(link_bytes), sum(requests), sum(pictures)"


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of what was delivered."""

    origin_bytes: int = 0
    """As origins announced them."""
    link_bytes: int = 0
    requests: int = 0
    pictures: int = 0

    def __add__(self, other: Sum) -> Sum:
        return Sum(
            self.origin_bytes + other.origin_bytes,
            self.link_bytes + other.link_bytes,
            self.requests + other.requests,
            self.pictures + other.pictures,
        )


class LocalStore:
    """The file. All methods raise Unavailable."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder = folder
        self.path = folder / FILE
        self._with = SqliteFile(self.path, schema=SCHEMA, tables=_TABLES).do

    def choices(self) -> dict[str, str]:
        """Modes by pattern, as they were chosen."""
        return dict(self._with(lambda db: db.execute("SELECT * FROM choices").fetchall()))

    def choose(self, pattern: str, mode: str | None) -> None:
        """Keep a choice; None: forget it."""
        self._with(lambda db: _put(db, "choices", pattern, mode))

    def times(self) -> dict[str, float]:
        """Seconds for pictures by pattern, as they were chosen."""
        return dict(self._with(lambda db: db.execute("SELECT * FROM times").fetchall()))

    def choose_time(self, pattern: str, seconds: float | None) -> None:
        """The same of a time for pictures."""
        self._with(lambda db: _put(db, "times", pattern, seconds))

    def spent(self) -> dict[str, tuple[str, int]]:
        """Month ("2026-11") and bytes that have crossed in it, by interface."""
        rows = self._with(lambda db: db.execute("SELECT * FROM budgets").fetchall())
        return {interface: (month, spent) for interface, month, spent in rows}

    def spend(self, rows: Iterable[tuple[str, str, int]]) -> None:
        """Interface, month and bytes that have crossed in it by now."""
        all_rows = list(rows)
        self._with(
            lambda db: db.executemany("INSERT OR REPLACE INTO budgets VALUES (?, ?, ?)", all_rows)
        )

    def add(self, sums: Iterable[tuple[str, str, Sum]]) -> None:
        """Day (ISO 8601), site and what was delivered more of it, in one transaction."""
        rows = [
            (day, site, s.origin_bytes, s.link_bytes, s.requests, s.pictures)
            for day, site, s in sums
        ]
        self._with(lambda db: _add(db, rows))

    def days(self) -> list[tuple[str, Sum]]:
        """The latest first."""
        query = f"SELECT day, {_SUMS} FROM savings GROUP BY day ORDER BY day DESC"
        return self._with(lambda db: [(row[0], Sum(*row[1:])) for row in db.execute(query)])

    def sites(self, *, day: str | None = None) -> list[tuple[str, Sum]]:
        """The sites of one day or of all: those that used most of the link first."""
        where, values = ("WHERE day = ?", (day,)) if day is not None else ("", ())
        query = (
            f"SELECT site, {_SUMS} FROM savings {where} GROUP BY site "
            f"ORDER BY sum(link_bytes) DESC, site LIMIT {MAX_SITES}"
        )
        return self._with(lambda db: [(row[0], Sum(*row[1:])) for row in db.execute(query, values)])

    def lessons(self, authority: str) -> tuple[int, list[tuple[str, float, str]]]:
        """How often all were forgotten; clients, when and what was learnt of each, oldest first.

        `authority`: whose certificates they were about.
        """
        query = "SELECT client, at, lesson FROM lessons WHERE authority = ? ORDER BY at, client"
        return self._with(lambda db: (_forgotten(db), db.execute(query, (authority,)).fetchall()))

    def learn(
        self, authority: str, lessons: Iterable[tuple[str, float, str]], *, forgotten: int
    ) -> bool:
        """Keep them, unless all were forgotten more often than that; whether they are kept."""
        rows = [(_text(client), authority, at, lesson) for client, at, lesson in lessons]
        return self._with(lambda db: _learn(db, rows, forgotten=forgotten))

    def forgotten(self) -> int:
        """How often all lessons were forgotten."""
        return self._with(_forgotten)

    def forget_lessons(self) -> int:
        """Forget all; how often that was done, with this time."""
        return self._with(_forget)

    def erase(self) -> None:
        """All savings, not only from the index: their bytes are overwritten."""
        self._with(lambda db: db.execute("DELETE FROM savings"))
        self._with(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())


def _put(db: sqlite3.Connection, table: str, pattern: str, value: str | float | None) -> None:
    if value is None:
        db.execute(f"DELETE FROM {table} WHERE pattern = ?", (pattern,))
    else:
        db.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (pattern, value))


def _add(db: sqlite3.Connection, rows: list[tuple[str, str, int, int, int, int]]) -> None:
    db.executemany(_ADD, rows)
    for day in sorted({row[0] for row in rows}):
        surplus = db.execute(
            "SELECT * FROM savings WHERE day = ? AND site != ? ORDER BY link_bytes DESC, site "
            f"LIMIT -1 OFFSET {MAX_SITES}",
            (day, OTHERS),
        ).fetchall()
        db.executemany(_ADD, [(day, OTHERS, *row[2:]) for row in surplus])
        db.executemany("DELETE FROM savings WHERE day = ? AND site = ?", [r[:2] for r in surplus])
    db.execute(
        "DELETE FROM savings WHERE day NOT IN "
        f"(SELECT DISTINCT day FROM savings ORDER BY day DESC LIMIT {MAX_DAYS})"
    )


def _forgotten(db: sqlite3.Connection) -> int:
    row = db.execute("SELECT value FROM counts WHERE name = 'lessons forgotten'").fetchone()
    return int(row[0]) if row is not None else 0


def _forget(db: sqlite3.Connection) -> int:
    db.execute("DELETE FROM lessons")
    db.execute(
        "INSERT INTO counts VALUES ('lessons forgotten', 1) "
        "ON CONFLICT (name) DO UPDATE SET value = value + 1"
    )
    return _forgotten(db)


def _learn(
    db: sqlite3.Connection, rows: list[tuple[str, str, float, str]], *, forgotten: int
) -> bool:
    db.execute("BEGIN IMMEDIATE")  # nobody forgets between the question and the answer
    if _forgotten(db) != forgotten:
        return False
    db.executemany("INSERT OR REPLACE INTO lessons VALUES (?, ?, ?, ?)", rows)
    surplus = db.execute(
        "SELECT client, authority FROM lessons ORDER BY at DESC, client LIMIT -1 OFFSET ?",
        (MAX_LESSONS,),
    ).fetchall()
    db.executemany("DELETE FROM lessons WHERE client = ? AND authority = ?", surplus)
    return True


def _text(name: str) -> str:
    """What SQLite takes: a name may come from anywhere."""
    return name.encode("utf-8", "replace").decode()
