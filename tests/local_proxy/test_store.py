"""The file of choices and savings: its bounds, and what may happen to it."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest

from local_proxy.kept.savings import MAX_PENDING, Savings
from local_proxy.kept.sqlite_file import Unavailable
from local_proxy.kept.store import FILE, MAX_DAYS, MAX_SITES, OTHERS, LocalStore, Sum

ONE = Sum(100, 40, 1, 0)


def test_sums_add_up_across_processes(tmp_path: Path) -> None:
    for _ in range(2):
        LocalStore(tmp_path).add([("2026-01-01", "a.test", ONE), ("2026-01-02", "b.test", ONE)])
    store = LocalStore(tmp_path)
    twice = Sum(200, 80, 2, 0)
    assert store.days() == [("2026-01-02", twice), ("2026-01-01", twice)]
    assert store.sites(day="2026-01-01") == [("a.test", twice)]
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_it_stays_small(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.add([("2026-01-01", f"s{n}", Sum(n, n, 1, 0)) for n in range(MAX_SITES + 50)])
    first = date(2026, 1, 1)
    days = [(first + timedelta(n)).isoformat() for n in range(MAX_DAYS)]
    sites = dict(store.sites())
    assert sites[OTHERS] == Sum(sum(range(50)), sum(range(50)), 50, 0)
    store.add([(day, "a.test", ONE) for day in days[1:]])
    store.add([((first + timedelta(MAX_DAYS)).isoformat(), "a.test", ONE)])
    kept = [day for day, _ in store.days()]
    assert len(kept) == MAX_DAYS
    assert "2026-01-01" not in kept


@pytest.mark.parametrize("damage", ["text", "middle", "newer", "other tables"])
def test_a_damaged_file_is_put_aside(tmp_path: Path, damage: str) -> None:
    path = tmp_path / FILE
    store = LocalStore(tmp_path)
    store.add([("2026-01-01", f"site-{n}.test", ONE) for n in range(150)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if damage == "newer":
            db.execute("PRAGMA user_version = 99")
        if damage == "other tables":
            db.executescript("DROP TABLE savings; DROP TABLE choices")
    if damage == "text":
        path.write_bytes(b"not a database, whatever its name says" * 200)
    if damage == "middle":
        data = bytearray(path.read_bytes())
        data[4096:] = b"\xa5" * (len(data) - 4096)
        path.write_bytes(data)
    store = LocalStore(tmp_path)
    store.add([("2026-01-02", "a.test", ONE)])
    assert store.days() == [("2026-01-02", ONE)]
    assert store.choices() == {}
    assert path.with_name(FILE + ".damaged").exists()


def test_a_locked_file_is_waited_for_with_all_that_was_to_be_written(tmp_path: Path) -> None:
    async def go() -> None:
        store = LocalStore(tmp_path)
        store.choose("a.test", "original")
        savings = Savings(store, today=lambda: date(2026, 1, 1))
        savings.add("a.test", ONE)
        with closing(sqlite3.connect(tmp_path / FILE)) as other:
            other.execute("BEGIN IMMEDIATE")
            await savings.flush()
            savings.add("a.test", ONE)
            assert savings.waiting
            assert (await savings.report()).days == []
        (day,) = (await savings.report()).days
        assert (day.day, day.requests) == ("2026-01-01", 2)
        assert not savings.waiting

    asyncio.run(go())


def test_what_waits_is_bounded(tmp_path: Path) -> None:
    async def go() -> None:
        (tmp_path / FILE).mkdir()
        savings = Savings(LocalStore(tmp_path))
        for number in range(3 * MAX_PENDING):
            savings.add(f"s{number}", ONE)
        await savings.flush()
        assert savings.waiting <= MAX_PENDING + 1
        with pytest.raises(Unavailable):
            await savings.erase()

    asyncio.run(go())


def test_nothing_is_written_where_it_is_switched_off(tmp_path: Path) -> None:
    async def go() -> None:
        savings = Savings(None)
        savings.add("a.test", ONE)
        await savings.flush()
        assert not savings.waiting
        assert not (await savings.report()).kept

    asyncio.run(go())
    assert not list(tmp_path.iterdir())
