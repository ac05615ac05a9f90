"""Tests of virtual time: no waiting, timers in order, a dead end is named."""

import asyncio
import time

import pytest

from emulation.memory.virtual_time import Stuck, run


def test_an_hour_takes_a_moment() -> None:
    async def main() -> float:
        await asyncio.sleep(3600.0)
        return asyncio.get_running_loop().time()

    began = time.process_time()
    assert run(main()) == pytest.approx(3600.0)
    assert time.process_time() - began < 5.0


def test_timers_fire_in_order_at_their_times() -> None:
    async def main() -> list[tuple[float, str]]:
        loop, log = asyncio.get_running_loop(), list[tuple[float, str]]()

        async def later(delay: float, name: str) -> None:
            await asyncio.sleep(delay)
            log.append((loop.time(), name))

        await asyncio.gather(later(0.3, "c"), later(0.1, "a"), later(0.2, "b"))
        return log

    assert run(main()) == [(0.1, "a"), (0.2, "b"), (0.3, "c")]


def test_waiting_for_what_never_comes_is_an_error() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Stuck, match="nothing will ever happen"):
        run(main())


def test_what_would_run_in_a_thread_takes_no_time() -> None:
    async def main() -> tuple[int, float]:
        found = await asyncio.to_thread(pow, 2, 10)
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(divmod, 1, 0)
        return found, asyncio.get_running_loop().time()

    assert run(main()) == (1024, 0.0)
