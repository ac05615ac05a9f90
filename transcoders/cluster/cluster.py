"""A Dask cluster, as far as it is there: one that is not costs nobody anything but its help.

distributed's client talks to its scheduler, which knows the workers: a job whose worker dies is
given to another one. Here it is only known whether the scheduler answers. Connects in the
background, and again when it was lost. Must not know what the jobs are.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, ParamSpec, TypeVar

import structlog

AGAIN: Final = 5.0
"""Seconds between attempts to reach a scheduler that is away."""
CONNECT: Final = 5.0
"""Seconds for one attempt."""
_log = structlog.get_logger("sluice.remote")
P = ParamSpec("P")
T = TypeVar("T")


class ClusterLost(Exception):
    """Nobody is there to do it, or nobody is any more: do it here."""


class EndsWorkers(Exception):
    """A job that one worker after the other died of: do it nowhere."""


class Cluster:
    """One scheduler and whatever works for it. Used from one event loop."""

    def __init__(self, address: str, *, release: Callable[[], str], ours: str) -> None:
        """`address`: tcp:// or tls://HOST:PORT. `release` runs at a worker and says which release
        it has, which must be `ours`. Raises ImportError where Dask is not installed."""
        self._dask: Any = import_module("distributed")
        self._address = address
        self._release = release
        self._ours = ours
        self._client: Any = None
        self._keeping: asyncio.Task[None] | None = None
        self._said = ""
        self.done = 0
        """Jobs that it did."""
        self.lost = 0
        """Jobs that had to be done here, for it was away."""

    def start(self) -> None:
        """Begin to look for it."""
        self._keeping = asyncio.get_running_loop().create_task(self._keep())

    async def close(self) -> None:
        """Leave it."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await self._leave()

    @property
    def there(self) -> bool:
        """Its scheduler answers, as far as is known."""
        return self._client is not None and self._client.status == "running"

    async def run(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `job` gives on one of its workers, or raises there. Raises ClusterLost, EndsWorkers.

        `job` is a function of a module that workers have; it may run twice.
        """
        if not self.there:
            self.lost += 1
            raise ClusterLost
        future = self._client.submit(job, *args, **kwargs, pure=False)
        try:
            result: T = await future
        except self._dask.KilledWorker as error:
            raise EndsWorkers(str(error)) from error
        except asyncio.CancelledError:  # nobody wants it any more
            with contextlib.suppress(Exception):
                await asyncio.shield(future.cancel())
            raise
        except concurrent.futures.CancelledError as error:  # its scheduler is gone
            self.lost += 1
            raise ClusterLost from error
        except (OSError, TimeoutError) as error:
            if self.there:
                raise  # the job's own
            self.lost += 1
            raise ClusterLost from error
        self.done += 1
        return result

    async def _keep(self) -> None:
        while True:
            if not self.there:
                await self._leave()
                try:
                    await self._connect()
                except Exception as error:  # whatever it is, it may be over soon
                    self._say(f"no cluster at {self._address}: {error or type(error).__name__}")
                else:
                    self._say("")
            await asyncio.sleep(AGAIN)

    async def _connect(self) -> None:
        client = self._dask.Client(
            self._address, asynchronous=True, timeout=CONNECT, set_as_default=False
        )
        try:
            async with asyncio.timeout(2 * CONNECT):
                await client
                found = await client.run(self._release, on_error="return")
        except BaseException:
            await client.close(timeout=1)
            raise
        strange = {str(one) for one in found.values() if one != self._ours}
        if strange or not found:
            await client.close(timeout=1)
            why = f"its workers have {', '.join(sorted(strange))}" if found else "it has no workers"
            raise ClusterLost(f"{why}; this is {self._ours}")
        self._client = client

    async def _leave(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                await client.close(timeout=1)

    def _say(self, what: str) -> None:
        """Once, until it is something else."""
        if what and what != self._said:
            _log.warning(f"{what}; pictures are made here")
        elif self._said and not what:
            _log.warning("the cluster is there again")
        self._said = what
