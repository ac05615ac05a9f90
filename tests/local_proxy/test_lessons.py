"""Refusals of clients outlive a run, are bounded, and `sluice trust` makes them void."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from browsers import trust
from local_proxy.front.tls.kept_rejections import LOOK, Lessons
from local_proxy.front.tls.rejections import (
    ALL,
    FIRST_PAUSE,
    MAX_CLIENTS,
    MAX_HOSTS,
    PIN,
    Rejections,
)
from local_proxy.kept.store import FILE, MAX_LESSONS, LocalStore


class Run:
    """One run of a local proxy, with clocks of its own: the loop's begins anew each time."""

    def __init__(self, folder: Path, *, clock: float = 1e9, authority: str = "ours") -> None:
        self.now, self.clock = 5.0, clock
        self.known = Rejections()
        self.lessons = Lessons(
            self.known,
            LocalStore(folder),
            authority=authority,
            now=lambda: self.now,
            clock=lambda: self.clock,
        )

    async def begin(self) -> Run:
        await self.lessons.recall()
        return self

    def refuses(self, host: str, client: str) -> bool:
        return self.known.refuses(host, client, now=self.now)


def go(main: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await main()

    asyncio.run(limited())


async def learnt(folder: Path) -> None:
    """In an earlier run: fox trusts nothing of ours, app all but its bank."""
    run = await Run(folder).begin()
    run.known.rejected("a.test", "fox", now=run.now)
    run.known.accepted("a.test", "app", now=run.now)
    run.known.rejected("bank.test", "app", now=run.now)
    await run.lessons.flush()


def test_a_later_run_knows_and_time_goes_on_meanwhile(tmp_path: Path) -> None:
    async def main() -> None:
        await learnt(tmp_path)
        soon = await Run(tmp_path, clock=1e9 + FIRST_PAUSE - 1).begin()
        assert soon.refuses("any.test", "fox")
        assert soon.refuses("bank.test", "app")
        assert not soon.refuses("a.test", "app")
        soon.now += 2.0
        assert not soon.refuses("any.test", "fox")
        assert soon.refuses("bank.test", "app")
        late = await Run(tmp_path, clock=1e9 + PIN + 1).begin()
        assert not late.refuses("bank.test", "app")
        # Still trusted: what it refuses is a pin, not all of us; and pauses go on growing.
        late.known.rejected("other.test", "app", now=late.now)
        assert not late.refuses("a.test", "app")
        late.known.rejected("a.test", "fox", now=late.now)
        (fox,) = (one for one in late.known.learnt(now=late.now) if one.client == "fox")
        assert (fox.host, fox.until - late.now) == (ALL, 2 * FIRST_PAUSE)

    go(main)


def test_a_clock_that_was_set_back_makes_nothing_last_longer(tmp_path: Path) -> None:
    async def main() -> None:
        await learnt(tmp_path)
        run = await Run(tmp_path, clock=0.0).begin()
        assert max(one.until for one in run.known.learnt(now=run.now)) <= run.now + PIN

    go(main)


def test_where_a_client_has_been_is_not_kept(tmp_path: Path) -> None:
    async def main() -> None:
        await learnt(tmp_path)
        with closing(sqlite3.connect(tmp_path / FILE)) as db:
            rows = str(db.execute("SELECT * FROM lessons").fetchall())
        assert "bank.test" in rows  # refused there, which is the lesson
        assert "a.test" not in rows

    go(main)


def test_trust_makes_it_void_for_later_runs_and_for_one_under_way(tmp_path: Path) -> None:
    async def main() -> None:
        await learnt(tmp_path)
        run = await Run(tmp_path).begin()
        await run.lessons.look()
        assert run.refuses("any.test", "fox")
        run.known.rejected("b.test", "cat", now=run.now)
        await asyncio.to_thread(trust.forget, tmp_path)
        await run.lessons.look()
        assert run.refuses("any.test", "fox"), "asked a moment ago"
        run.now += LOOK
        await run.lessons.look()
        assert not run.refuses("any.test", "fox")
        await run.lessons.flush()
        later = await Run(tmp_path).begin()
        assert later.known.learnt(now=later.now) == ()

    go(main)


def test_what_was_learnt_before_it_was_forgotten_is_not_written_after(tmp_path: Path) -> None:
    async def main() -> None:
        run = await Run(tmp_path).begin()
        run.known.rejected("a.test", "fox", now=run.now)
        await asyncio.to_thread(trust.forget, tmp_path)
        await run.lessons.flush()
        assert not run.refuses("a.test", "fox")
        assert LocalStore(tmp_path).lessons("ours") == (1, [])
        run.known.rejected("a.test", "fox", now=run.now)
        await run.lessons.flush()
        assert (await Run(tmp_path).begin()).refuses("a.test", "fox")

    go(main)


def test_the_status_page_s_forgetting_holds_for_later_runs(tmp_path: Path) -> None:
    async def main() -> None:
        await learnt(tmp_path)
        run = await Run(tmp_path).begin()
        await run.lessons.forget()
        assert run.known.learnt(now=run.now) == ()
        run.known.rejected("a.test", "cat", now=run.now)
        await run.lessons.flush()
        later = await Run(tmp_path).begin()
        assert [one.client for one in later.known.learnt(now=later.now)] == ["cat"]

    go(main)


def test_another_authority_s_lessons_say_nothing_about_ours(tmp_path: Path) -> None:
    async def main() -> None:
        await learnt(tmp_path)
        run = await Run(tmp_path, authority="another").begin()
        assert not run.refuses("any.test", "fox")

    go(main)


def test_it_stays_small(tmp_path: Path) -> None:
    async def main() -> None:
        for batch in range(3):
            run = await Run(tmp_path, clock=1e9 + batch).begin()
            for number in range(MAX_CLIENTS):
                run.known.rejected("a.test", f"\udcff{batch}.{number}" * 200, now=run.now)
            run.known.accepted("a.test", "app", now=run.now)
            for number in range(2 * MAX_HOSTS):
                run.known.rejected(f"{number}.test", "app", now=run.now)
            run.known.rejected("x" * 10_000, "app", now=run.now)
            await run.lessons.flush()
        _, rows = LocalStore(tmp_path).lessons("ours")
        assert len(rows) == MAX_LESSONS
        assert sum(len(client) + len(lesson) for client, _, lesson in rows) < 100_000
        assert repr((await Run(tmp_path).begin()).known) == f"<Rejections of {MAX_CLIENTS} clients>"

    go(main)


@pytest.mark.parametrize(
    "lesson",
    [
        "{",
        "{}",
        '{"trusts":1,"pause":1,"left_alone":{}}',
        '{"trusts":false,"pause":1,"left_alone":{"*":"long"}}',
        '{"trusts":false,"pause":1,"left_alone":{"*":1e400}}',
        b"\xff\xfe",
        None,
        7,
    ],
)
def test_a_lesson_that_makes_no_sense_is_learnt_again(tmp_path: Path, lesson: object) -> None:
    async def main() -> None:
        await learnt(tmp_path)
        with closing(sqlite3.connect(tmp_path / FILE)) as db, db:
            db.execute("UPDATE OR IGNORE lessons SET lesson = ? WHERE client = 'fox'", (lesson,))
        run = await Run(tmp_path).begin()
        assert run.refuses("bank.test", "app")
        assert run.refuses("any.test", "fox") is (lesson is None)  # the table takes no NULL
        run.known.rejected("a.test", "fox", now=run.now)
        await run.lessons.flush()
        assert (await Run(tmp_path).begin()).refuses("any.test", "fox")

    go(main)


@pytest.mark.parametrize("damage", ["noise", "a folder", "locked"])
def test_a_file_that_cannot_be_had_costs_memory_across_runs_and_nothing_else(
    tmp_path: Path, damage: str
) -> None:
    async def main() -> None:
        path = tmp_path / FILE
        if damage == "noise":
            path.write_bytes(b"no database" * 1000)
        if damage == "a folder":
            path.mkdir()
        with closing(sqlite3.connect(tmp_path / (FILE if damage == "locked" else "x"))) as other:
            other.execute("BEGIN EXCLUSIVE")
            run = await Run(tmp_path).begin()
            run.known.rejected("a.test", "fox", now=run.now)
            await run.lessons.flush()
            await run.lessons.look()
            assert run.refuses("any.test", "fox")
        await run.lessons.flush()
        later = await Run(tmp_path).begin()
        assert later.refuses("any.test", "fox") is (damage != "a folder")

    go(main)


def test_a_file_of_the_schema_before_keeps_what_it_has(tmp_path: Path) -> None:
    async def main() -> None:
        store = LocalStore(tmp_path)
        store.choose("a.test", "original")
        with closing(sqlite3.connect(tmp_path / FILE)) as db:
            db.executescript("DROP TABLE lessons; DROP TABLE counts; PRAGMA user_version = 1")
        await learnt(tmp_path)
        assert (await Run(tmp_path).begin()).refuses("any.test", "fox")
        assert LocalStore(tmp_path).choices() == {"a.test": "original"}

    go(main)
