"""Bounds, order and cancellation of work off the event loop."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from pathlib import Path

import pytest

from transcoders.work.workers import Busy, FilterFailed, Workers


def test_the_loop_runs_while_a_job_does() -> None:
    async def run() -> str:
        workers = Workers(workers=1, waiting=0)
        set_by_loop = threading.Event()
        async with workers.slot() as slot:
            job = asyncio.create_task(slot.call(lambda: set_by_loop.wait(10)))
            await asyncio.sleep(0)
            set_by_loop.set()  # were the loop blocked by the job, this could not come
            assert await job
        await workers.close()
        return "done"

    assert asyncio.run(run()) == "done"


def test_the_line_is_bounded_and_in_order() -> None:
    async def run() -> list[str]:
        workers = Workers(workers=1, waiting=2)
        order: list[str] = []

        async def job(name: str) -> None:
            try:
                async with workers.slot() as slot:
                    order.append(await slot.call(lambda: name))
            except Busy:
                order.append(f"{name} busy")

        async with workers.slot():
            tasks = [asyncio.create_task(job(name)) for name in "ABC"]
            await asyncio.sleep(0)
            assert workers.waiting == 2
        await asyncio.gather(*tasks)
        await workers.close()
        assert workers.waiting == 0
        return order

    assert asyncio.run(run()) == ["C busy", "A", "B"]


def test_rest_is_when_nothing_waits_or_runs_or_patience_ends() -> None:
    async def run() -> list[str]:
        workers = Workers(workers=1, waiting=2)
        await workers.rest(limit=10)  # nothing has begun
        order: list[str] = []

        async def job(name: str) -> None:
            async with workers.slot() as slot:
                order.append(await slot.call(lambda: name))

        async def later() -> None:
            await workers.rest(limit=10)
            order.append("rest")

        async with workers.slot():
            tasks = [asyncio.create_task(one) for one in (job("A"), later(), job("B"))]
            await workers.rest(limit=0.01)
            order.append("no patience left")
        await asyncio.gather(*tasks)
        await workers.close()
        return order

    assert asyncio.run(run()) == ["no patience left", "A", "B", "rest"]


def test_a_thread_given_up_on_keeps_its_place_until_it_returns() -> None:
    async def run() -> None:
        workers = Workers(workers=1, waiting=1)
        release = threading.Event()

        async def stuck() -> None:
            async with workers.slot() as slot:
                await slot.call(lambda: release.wait(10))

        async def follows() -> str:
            async with workers.slot() as slot:
                return await slot.call(lambda: "ran")

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stuck(), 0.01)
        task = asyncio.create_task(follows())
        for _ in range(20):
            await asyncio.sleep(0)
        assert workers.waiting == 1
        release.set()
        assert await task == "ran"
        await workers.close()

    asyncio.run(run())


def test_closed_workers_take_nothing() -> None:
    async def run() -> None:
        workers = Workers(workers=1, waiting=5)
        async with workers.slot() as slot:
            await workers.close()
            with pytest.raises(Busy):
                await slot.call(lambda: 1)
        with pytest.raises(Busy):
            async with workers.slot():
                pytest.fail("a slot after close")

    asyncio.run(run())


def filtered(*command: str, data: bytes = b"", limit: int = 1 << 20) -> bytes:
    async def run() -> bytes:
        workers = Workers(workers=1, waiting=0)
        try:
            async with workers.slot() as slot:
                return await slot.filter(command, data, limit=limit)
        finally:
            await workers.close()

    return asyncio.run(run())


def test_a_filter_gets_all_and_gives_all() -> None:
    data = bytes(range(256)) * 4000  # more than pipes hold, both ways
    assert filtered("cat", data=data) == data


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("false",), "exited with 1"),
        (("yes",), "more than"),
        (("/no/such/program",), "No such file"),
        (("sh", "-c", "kill -9 $$"), "exited with -9"),
    ],
)
def test_a_filter_that_fails_says_why(command: tuple[str, ...], why: str) -> None:
    with pytest.raises(FilterFailed, match=why):
        filtered(*command, data=b"x" * 500_000)


def test_a_filter_that_is_cancelled_is_gone(tmp_path: Path) -> None:
    async def run() -> None:
        workers = Workers(workers=1, waiting=0)
        fifo_reader = ("sh", "-c", "exec sleep 600")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), workers.slot() as slot:
                await slot.filter(fifo_reader, b"x" * 500_000, limit=10)
        async with workers.slot() as slot:  # its place is free at once
            assert await slot.filter(("cat",), b"next", limit=10) == b"next"
        await workers.close()

    asyncio.run(run())


@pytest.mark.parametrize("steps", [*range(12), None])
def test_a_filter_that_is_cancelled_twice_is_gone_too(steps: int | None) -> None:
    """As when a session ends and then the program does: while it starts, for the process is there
    before its pipes are, or while it runs (None). What is left behind warns."""

    async def run() -> None:
        workers = Workers(workers=1, waiting=0)
        begun = asyncio.Event()

        async def go() -> None:
            async with workers.slot() as slot:
                begun.set()
                await slot.filter(("sleep", "600"), b"", limit=10)

        task = asyncio.create_task(go())
        await begun.wait()
        if steps is None:
            await asyncio.sleep(0.05)
        for _ in range(steps or 0):
            await asyncio.sleep(0)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)  # noqa: ASYNC222 - it returns at once
        await workers.close()

    asyncio.run(run())
    gc.collect()


@pytest.mark.parametrize(("workers", "waiting"), [(0, 1), (1, -1)])
def test_senseless_bounds_are_refused(workers: int, waiting: int) -> None:
    with pytest.raises(ValueError, match="worker"):
        Workers(workers=workers, waiting=waiting)
