"""The line for a place, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from bench.virtual_time import run
from transcoders.places import Places


def served(jobs: Sequence[tuple[float, float, float]], *, places: int = 1) -> list[int]:
    """In which order jobs are begun that come at, yield, take so many seconds."""
    order: list[int] = []

    async def job(line: Places, number: int, at: float, yields: float, takes: float) -> None:
        await asyncio.sleep(at)
        await line.acquire(yields=yields)
        order.append(number)
        await asyncio.sleep(takes)
        line.release()

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
        await line.acquire()
        left = asyncio.ensure_future(line.acquire())
        stayed = asyncio.ensure_future(line.acquire())
        await asyncio.sleep(0)
        left.cancel()
        line.release()
        await stayed
        late = asyncio.ensure_future(line.acquire())
        await asyncio.sleep(0)
        line.release()  # it is given the place, and leaves at the same moment
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)
        assert not line.locked()

    run(scenario())


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1), st.floats(0, 1)), max_size=12),
    st.integers(1, 3),
)
def test_everybody_is_served_once(jobs: list[tuple[float, float, float]], places: int) -> None:
    assert sorted(served(jobs, places=places)) == list(range(len(jobs)))
