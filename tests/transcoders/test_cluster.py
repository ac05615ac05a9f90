"""Pictures are made by a Dask cluster's workers, and here while there is none: a real scheduler and
real workers, one after the other of which is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bench.pairs.dask_cluster import dask_cluster
from tests.transcoders.test_results import OPTIONS, PHOTO
from transcoders.cluster import at_worker
from transcoders.cluster.cluster import Cluster, ClusterLost, EndsWorkers
from transcoders.cluster.cluster_makers import ClusterMakers
from transcoders.make.registry import MAX_PIXELS, Transcoders
from transcoders.picture import Picture, Unfit
from version import VERSION

PATIENCE = 60.0
"""Seconds for processes of Python to start on a busy machine."""


def run(work: Coroutine[Any, Any, None]) -> None:
    async def watched() -> None:
        async with asyncio.timeout(3 * PATIENCE):
            await work

    asyncio.run(watched())


async def until(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not found():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def transcoders(cluster: Cluster) -> Transcoders:
    makers = ClusterMakers(cluster, workers=1, jpegtran=None, max_pixels=MAX_PIXELS)
    return Transcoders(shared=0, jpegtran=None, makers=makers, timeout=PATIENCE)


def cluster_at(address: str, *, ours: str = VERSION) -> Cluster:
    cluster = Cluster(address, release=at_worker.release, ours=ours)
    cluster.start()
    return cluster


async def picture(made: Transcoders) -> Picture | None:
    low = await made.low(PHOTO, "image/jpeg", OPTIONS)
    assert low is not None
    return await made.finish(PHOTO, "image/jpeg", OPTIONS, low)


def test_its_workers_make_what_ours_would(tmp_path: Path) -> None:
    async def go() -> None:
        async with dask_cluster(tmp_path, workers=1) as processes:
            cluster = cluster_at(processes.address)
            there = transcoders(cluster)
            await until(lambda: cluster.there)
            here = Transcoders(shared=0)
            assert await picture(there) == await picture(here)
            assert (cluster.done, cluster.lost) == (2, 0)
            assert await there.low(PHOTO[:5000], "image/jpeg", OPTIONS) is None  # it is damaged

            long = asyncio.ensure_future(cluster.run(sleeping, 2.0))
            behind = asyncio.ensure_future(cluster.run(sleeping, 60.0))
            await asyncio.sleep(0.5)
            behind.cancel()  # and nobody stands behind it
            with pytest.raises(asyncio.CancelledError):
                await behind
            assert await long == "slept"
            async with asyncio.timeout(30):
                assert await cluster.run(sleeping, 0.0) == "slept"
            await here.close()
            await there.close()

    run(go())


def sleeping(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


def ending() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def failing() -> None:
    raise Unfit("it is odd")


def test_a_worker_that_dies_costs_a_retry_and_a_scheduler_our_own_work(tmp_path: Path) -> None:
    async def go() -> None:
        async with dask_cluster(tmp_path, workers=1) as processes:
            cluster = cluster_at(processes.address)
            await until(lambda: cluster.there)
            with pytest.raises(Unfit, match="odd"):
                await cluster.run(failing)
            job = asyncio.ensure_future(cluster.run(sleeping, 2.0))
            await asyncio.sleep(0.5)
            await processes.work()
            await processes.kill(processes.workers[0])
            assert await job == "slept"  # by the other one

            job = asyncio.ensure_future(cluster.run(sleeping, 60.0))
            await asyncio.sleep(0.5)
            await processes.kill(processes.scheduler)
            with pytest.raises(ClusterLost):
                await job
            await until(lambda: not cluster.there)
            assert cluster.lost == 1
            made = transcoders(cluster)
            assert await picture(made) is not None
            assert cluster.lost == 3

            await processes.kill(*processes.workers)
            await processes.start()
            await processes.work()
            await until(lambda: cluster.there)
            assert await cluster.run(sleeping, 0.0) == "slept"
            await made.close()

    run(go())


def test_what_its_workers_die_of_is_done_nowhere(tmp_path: Path) -> None:
    async def go() -> None:
        async with dask_cluster(tmp_path, workers=1, failures=0) as processes:
            cluster = cluster_at(processes.address)
            await until(lambda: cluster.there)
            with pytest.raises(EndsWorkers):
                await cluster.run(ending)
            await cluster.close()

    run(go())


def test_one_without_workers_or_of_another_release_is_not_used(tmp_path: Path) -> None:
    async def go() -> None:
        async with dask_cluster(tmp_path, workers=0) as processes:
            with capture_logs() as logs:
                cluster = cluster_at(processes.address, ours="9.9.9")
                await until(lambda: any("no workers" in log["event"] for log in logs))
                await processes.work()
                words = f"have {VERSION}; this is 9.9.9"
                await until(lambda: any(words in log["event"] for log in logs))
            assert not cluster.there
            with pytest.raises(ClusterLost):
                await cluster.run(sleeping, 0.0)
            await cluster.close()

    run(go())
