"""A day's budget of the link: counted, kept to, and begun again at midnight."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path

import pytest

from local_proxy.kept.spending import Spending
from local_proxy.kept.store import LocalStore
from local_proxy.sites.day_budget import DayBudget
from local_proxy.sites.sites import Mode
from local_proxy.status.budgets import shown_day

SIZE = 1_000_000


class Days:
    def __init__(self, *, size: int = SIZE) -> None:
        self.day = date(2026, 11, 30)
        self.crossed = 0
        self.budget = self.again(size)

    def again(self, size: int = SIZE) -> DayBudget:
        return DayBudget(size, crossed=lambda: self.crossed, today=lambda: self.day)


def test_pages_are_a_savers_while_some_is_left_and_text_only_after() -> None:
    days = Days()
    assert days.budget.mode(Mode.ADAPT) is Mode.SAVER
    days.crossed = 970_000
    assert days.budget.mode(Mode.SAVER) is Mode.SAVER
    days.crossed = 995_000
    assert days.budget.mode(Mode.ADAPT) is Mode.TEXT_ONLY
    assert days.budget.mode(Mode.SAVER) is Mode.TEXT_ONLY


@pytest.mark.parametrize("mode", [Mode.ORIGINAL, Mode.TEXT_ONLY, Mode.TUNNEL])
def test_what_people_have_set_otherwise_stays(mode: Mode) -> None:
    days = Days()
    days.crossed = 2 * SIZE
    assert days.budget.mode(mode) is mode


def test_another_day_begins_with_nothing() -> None:
    days = Days()
    days.crossed = 2 * SIZE
    assert days.budget.gone
    assert days.budget.until == date(2026, 12, 1)
    days.day = date(2026, 12, 1)
    assert not days.budget.gone
    days.crossed += 400
    days.budget.look()
    assert days.budget.spent == 400


def test_it_counts_on_from_run_to_run_of_the_same_day(tmp_path: Path) -> None:
    async def go() -> None:
        days = Days()
        days.crossed = 600_000
        days.budget.look()
        await Spending(LocalStore(tmp_path), {"*": days.budget}).flush()
        days.crossed = 0
        second = days.again()
        await Spending(LocalStore(tmp_path), {"*": second}).recall()
        assert second.spent == 600_000
        days.crossed = 395_000
        assert second.gone
        days.day = date(2026, 12, 1)
        third = days.again()
        await Spending(LocalStore(tmp_path), {"*": third}).recall()
        assert third.spent == 0

    asyncio.run(go())


def test_it_is_shown() -> None:
    days = Days()
    days.crossed = 250_000
    days.budget.look()
    (shown,) = shown_day(days.budget)
    assert (shown.spent, shown.size, shown.duty, shown.until) == (
        250_000,
        SIZE,
        "use",
        "2026-12-01",
    )
    assert shown_day(None) == []
