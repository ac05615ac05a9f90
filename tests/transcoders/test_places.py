"""The line for a place, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from emulation.memory.virtual_time import run
from transcoders.work.places import KNOWN, Places


def served(jobs: Sequence[tuple[float, float, float]], *, places: int = 1) -> list[int]:
    """In which order jobs are begun that come at, yield, take so many seconds."""
    order: list[int] = []

    async def job(line: Places, number: int, at: float, yields: float, takes: float) -> None:
        await asyncio.sleep(at)
        place = await line.acquire(yields=yields)
        order.append(number)
        await asyncio.sleep(takes)
        place.release()

    async def all_of_them() -> None:
        line = Places(places)
        async with asyncio.TaskGroup() as group:
            for number, one in enumerate(jobs):
                group.create_task(job(line, number, *one))
        assert not line.locked()

    run(all_of_them())
    return order


def test_what_yields_is_overtaken_by_what_comes_soon_and_by_nothing_else() -> None:
    first, screenshot = (0.0, 0.0, 1.0), (0.1, 0.2, 1.0)
    assert served([first, screenshot, (0.2, 0.0, 1.0), (0.29, 0.0, 1.0), (0.31, 0.0, 1.0)]) == [
        0, 2, 3, 1, 4,
    ]  # fmt: skip
    assert served([first, screenshot, (0.15, 0.2, 1.0)]) == [0, 1, 2]


def test_a_free_place_is_given_at_once() -> None:
    assert served([(0.0, 9.0, 1.0), (0.5, 0.0, 1.0)]) == [0, 1]
    assert served([(0.0, 9.0, 1.0), (0.1, 9.0, 1.0), (0.2, 0.0, 1.0)], places=2) == [0, 1, 2]


def test_who_leaves_the_line_takes_no_place() -> None:
    async def scenario() -> None:
        line = Places(1)
        place = await line.acquire()
        left = asyncio.ensure_future(line.acquire())
        stayed = asyncio.ensure_future(line.acquire())
        await asyncio.sleep(0)
        left.cancel()
        place.release()
        place = await stayed
        late = asyncio.ensure_future(line.acquire())
        await asyncio.sleep(0)
        place.release()  # it is given the place, and leaves at the same moment
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)
        assert not line.locked()

    run(scenario())


Job = tuple[str, float, float]
"""Whose, when it comes, how long it takes."""


def begun(jobs: Sequence[Job], *, places: int = 1) -> list[tuple[str, float]]:
    """Whose job began when."""
    found: list[tuple[str, float]] = []

    async def job(line: Places, whose: str, at: float, takes: float) -> None:
        await asyncio.sleep(at)
        place = await line.acquire(whose)
        found.append((whose, asyncio.get_running_loop().time()))
        await asyncio.sleep(takes)
        place.release()

    async def all_of_them() -> None:
        line = Places(places)
        async with asyncio.TaskGroup() as group:
            for one in jobs:
                group.create_task(job(line, *one))
        assert not line.locked()

    run(all_of_them())
    return found


def owners(jobs: Sequence[Job], *, places: int = 1) -> str:
    return ",".join(whose for whose, _ in begun(jobs, places=places))


def test_owners_take_turns_however_many_jobs_one_has() -> None:
    many, few = [("A", 0.0, 1.0)] * 6, [("B", 0.5, 1.0)] * 3
    assert owners([*many, *few]) == "A,B,A,B,A,B,A,A,A"


def test_short_jobs_are_served_as_often_as_one_long_one_takes() -> None:
    jobs = [*[("A", 0.0, 1.0)] * 3, *[("B", 0.5, 0.25)] * 8]
    assert owners(jobs) == "A,B,B,B,B,A,B,B,B,B,A"


def test_who_was_away_has_no_credit_and_who_comes_anew_no_debt() -> None:
    late = [*[("A", 0.0, 1.0)] * 12, *[("B", 8.5, 1.0)] * 4]
    assert owners(late) == ",".join(["A"] * 9 + ["B", "A", "B", "A", "B", "A", "B"])


def test_who_leaves_after_each_job_gets_no_more_than_who_stays() -> None:
    async def scenario() -> dict[str, float]:
        line, used = Places(1), {"drips": 0.0, "stays": 0.0}
        loop = asyncio.get_running_loop()

        async def work(whose: str) -> None:
            place = await line.acquire(whose)
            await asyncio.sleep(1.0)
            place.release()
            if loop.time() <= 40:
                used[whose] += 1.0

        async def drip() -> None:
            for _ in range(40):
                await work("drips")

        async with asyncio.TaskGroup() as group:
            for _ in range(40):
                group.create_task(work("stays"))
            group.create_task(drip())
        return used

    used = run(scenario())
    assert abs(used["drips"] - used["stays"]) <= 2


def test_an_owner_that_holds_all_places_for_long_gets_none_of_the_next() -> None:
    jobs = [*[("A", 0.0, 5.0)] * 4, *[("B", 1.0, 1.0)] * 4]
    assert owners(jobs, places=2) == "A,A,B,B,B,B,A,A"


def test_owners_who_want_nothing_are_forgotten() -> None:
    async def scenario() -> None:
        line = Places(2)
        busy = await line.acquire("busy")
        for number in range(3 * KNOWN):
            place = await line.acquire(f"{number}")
            await asyncio.sleep(0.01)
            place.release()
        assert line.known <= KNOWN + 1
        busy.release()
        assert not line.known

    run(scenario())


@given(
    st.lists(st.tuples(st.sampled_from("ABC"), st.floats(0, 5), st.floats(0.01, 1)), max_size=16),
    st.integers(1, 3),
)
def test_no_place_is_free_while_somebody_waits(jobs: list[Job], places: int) -> None:
    found = begun(jobs, places=places)
    assert len(found) == len(jobs)
    busy = sum(takes for _, _, takes in jobs)
    latest = max((at for _, at, _ in jobs), default=0.0)
    assert max((at for _, at in found), default=0.0) <= latest + busy


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1), st.floats(0, 1)), max_size=12),
    st.integers(1, 3),
)
def test_everybody_is_served_once(jobs: list[tuple[float, float, float]], places: int) -> None:
    assert sorted(served(jobs, places=places)) == list(range(len(jobs)))
