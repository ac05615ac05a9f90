"""The store counts what has crossed metered interfaces from run to run, and the page shows it."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import datetime
from pathlib import Path

from emulation.memory import virtual_time
from local_proxy.kept.spending import PERIOD, Spending
from local_proxy.kept.store import FILE, LocalStore
from local_proxy.status.budgets import shown_budgets
from tests.watched import run
from transport.paths.budget import MonthlyBudget
from transport.paths.terms import AllTerms

NOW = datetime(2026, 11, 20)


def test_what_crossed_is_counted_on_in_the_next_run(tmp_path: Path) -> None:
    async def one_run(crossed: int) -> MonthlyBudget:
        budget = MonthlyBudget(1_000)
        spending = Spending(LocalStore(tmp_path), {"wwan0": budget})
        await spending.recall()
        budget.add(crossed, NOW)
        await spending.flush()
        return budget

    assert run(one_run(300)).spent == 300
    assert run(one_run(200)).spent == 500
    assert run(one_run(0)).month == "2026-11"
    assert LocalStore(tmp_path).spent() == {"wwan0": ("2026-11", 500)}


def test_what_crossed_before_the_file_was_read_counts_too(tmp_path: Path) -> None:
    async def go() -> None:
        LocalStore(tmp_path).spend([("wwan0", "2026-11", 300), ("gone0", "2026-11", 7)])
        budget = MonthlyBudget(1_000)
        budget.add(40, NOW)
        await Spending(LocalStore(tmp_path), {"wwan0": budget}).recall()
        assert (budget.month, budget.spent) == ("2026-11", 340)

    run(go())


def test_it_is_written_now_and_then_and_only_where_something_changed(tmp_path: Path) -> None:
    written: list[list[tuple[str, str, int]]] = []

    class Store(LocalStore):
        def spend(self, rows: object) -> None:
            written.append(list(rows))  # type: ignore[call-overload]

    async def go() -> None:
        budget = MonthlyBudget(1_000)
        spending = Spending(Store(tmp_path), {"wwan0": budget})
        budget.add(1, NOW)
        writing = asyncio.create_task(spending.run())
        await asyncio.sleep(3.5 * PERIOD)
        budget.add(1, NOW)
        await asyncio.sleep(PERIOD)
        writing.cancel()

    virtual_time.run(go())
    assert written == [[("wwan0", "2026-11", 1)], [("wwan0", "2026-11", 2)]]


def test_a_file_that_cannot_be_had_costs_no_count(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()

    async def go() -> None:
        budget = MonthlyBudget(1_000)
        spending = Spending(LocalStore(tmp_path), {"wwan0": budget})
        await spending.recall()
        budget.add(5, NOW)
        await spending.flush()
        (tmp_path / FILE).rmdir()
        await spending.flush()
        assert LocalStore(tmp_path).spent() == {"wwan0": ("2026-11", 5)}

    run(go())


def test_without_budgets_nothing_is_written_and_nobody_waits(tmp_path: Path) -> None:
    async def go() -> None:
        spending = Spending(LocalStore(tmp_path), {})
        await spending.recall()
        await spending.run()
        await spending.flush()

    run(go())
    assert not (tmp_path / FILE).exists()


def test_a_file_of_before_budgets_is_taken_over(tmp_path: Path) -> None:
    LocalStore(tmp_path).choose("a.test", "original")
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("DROP TABLE budgets")
        db.execute("PRAGMA user_version = 3")
    db.close()
    store = LocalStore(tmp_path)
    assert store.choices() == {"a.test": "original"}
    store.spend([("wwan0", "2026-11", 1)])
    assert store.spent() == {"wwan0": ("2026-11", 1)}


def test_all_budgets_are_shown_whether_their_interfaces_are_there_or_not() -> None:
    budgets = {
        "wwan0": MonthlyBudget(1_000),
        "usb0": MonthlyBudget(1_000),
        "sat0": MonthlyBudget(1_000),
    }
    for name, spent in (("wwan0", 1), ("usb0", 999), ("sat0", 1_000)):
        budgets[name].add(spent, NOW)
    shown = shown_budgets(AllTerms(budgets=budgets, now=lambda: NOW))
    assert [(one.name, one.duty, one.spent) for one in shown] == [
        ("wwan0", "use", 1),
        ("usb0", "spare", 999),
        ("sat0", "none", 1_000),
    ]
    assert {one.until for one in shown} == {"2026-12-01"}
