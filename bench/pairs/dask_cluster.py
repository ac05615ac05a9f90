"""A Dask scheduler and its workers, as processes that can be killed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.pairs.ports import free_port

ROOT = Path(__file__).parents[2]
QUIET = {
    "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "error",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10 s",
}


class DaskCluster:
    """One scheduler at a port of its own."""

    def __init__(self, folder: Path, *, failures: int = 3) -> None:
        """`failures`: workers that may die of one job before it is given up."""
        self._folder = folder
        self._environment = {
            **os.environ,
            **QUIET,
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(failures),
            "PYTHONPATH": str(ROOT),
        }
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler: asyncio.subprocess.Process | None = None
        self.workers: list[asyncio.subprocess.Process] = []

    async def _run(self, module: str, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, *arguments),
            cwd=self._folder,
            env=self._environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )

    async def start(self) -> None:
        self.scheduler = await self._run(
            "distributed.cli.dask_scheduler",
            *("--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show"),
        )

    async def work(self) -> asyncio.subprocess.Process:
        """One more worker."""
        worker = await self._run(
            "distributed.cli.dask_worker",
            *(self.address, "--nthreads", "1", "--nworkers", "1", "--no-nanny", "--no-dashboard"),
            *("--host", "127.0.0.1", "--memory-limit", "0", "--death-timeout", "60"),
        )
        self.workers.append(worker)
        return worker

    async def kill(self, *processes: asyncio.subprocess.Process | None) -> None:
        for process in processes:
            if process is not None and process.returncode is None:
                process.kill()
                await process.wait()


@asynccontextmanager
async def dask_cluster(
    folder: Path, *, workers: int, failures: int = 3
) -> AsyncIterator[DaskCluster]:
    """With so many workers, which may not be there yet. Raises OSError."""
    cluster = DaskCluster(folder, failures=failures)
    await cluster.start()
    try:
        for _ in range(workers):
            await cluster.work()
        yield cluster
    finally:
        await cluster.kill(*cluster.workers, cluster.scheduler)
