"""Bounded workers for CPU work, so that the event loop never waits for a picture.

Two kinds of work share one bound: calls on threads (Pillow lets go of the interpreter lock while
it decodes and encodes) and child processes that filter bytes (jpegtran). A job that is cancelled
or timed out kills its process at once; a thread can't be killed, so it keeps its place among the
workers until it returns, and no new job starts on top of it. Owners of jobs share the workers
fairly (places.py), and each may have so many in line.

Knows nothing of pictures.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar, cast

from transcoders.work.places import Place, Places

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Busy(Exception):
    """As many jobs wait as may, or the workers are closed: do without."""


class FilterFailed(Exception):
    """A child process did not do its work: missing, non-zero exit, or too much output."""


class Slot(Executor):
    """One place among the workers; runs one call or one filter at a time."""

    def __init__(self, executor: ThreadPoolExecutor, *, nice: int = 0) -> None:
        self._executor = executor
        self._nice = nice
        self.running: Future[object] | None = None

    async def call(self, job: Callable[[], _T]) -> _T:
        """The result of `job`, run on a thread. Raises what it raises.

        By way of the event loop, since one in virtual time has no threads.
        """
        return await asyncio.get_running_loop().run_in_executor(self, job)

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """As the event loop hands jobs to executors. Raises Busy."""
        try:
            future = self._executor.submit(fn, *args, **kwargs)
        except RuntimeError as error:
            raise Busy("closed") from error
        self.running = future  # type: ignore[assignment]  # only asked whether it is done
        return future

    async def filter(self, command: Sequence[str], data: bytes, *, limit: int) -> bytes:
        """What `command` writes when it reads `data`, at most `limit` bytes.

        Raises FilterFailed, and leaves no process behind however it ends.
        """
        loop = asyncio.get_running_loop()
        starting = asyncio.ensure_future(
            loop.subprocess_exec(
                lambda: _Child(loop, limit), *command, stderr=asyncio.subprocess.DEVNULL
            )
        )
        try:
            await _ended(starting)  # the process is there before its pipes are
        except asyncio.CancelledError:
            if not starting.cancelled() and starting.exception() is None:
                transport, child = starting.result()
                transport.close()
                await _ended(child.gone)
            raise
        except OSError as error:
            raise FilterFailed(f"{command[0]}: {error}") from error
        transport, child = starting.result()
        try:
            _give_way(transport.get_pid(), self._nice)
            stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
            stdin.write(data)
            stdin.write_eof()
            await asyncio.wait((child.full, child.gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            transport.close()  # kills the child if it still runs
            await _ended(child.gone)
        if child.full.done():
            raise FilterFailed(f"{command[0]}: more than {limit} bytes of output")
        if code := transport.get_returncode():
            raise FilterFailed(f"{command[0]} exited with {code}")
        return bytes(child.output)


async def _ended(future: asyncio.Future[_T]) -> None:
    """Until it is done, however often we are cancelled meanwhile; then that is raised, or what
    the future raises."""
    cancelled = None
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception:
            break  # raised below
    if cancelled is not None:
        raise cancelled
    future.result()


class _Child(asyncio.SubprocessProtocol):
    """Gathers a child's output, up to a limit."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self._limit = limit
        self.output = bytearray()
        self.full: asyncio.Future[None] = loop.create_future()
        """Done when the output went over the limit."""
        self.gone: asyncio.Future[None] = loop.create_future()
        """Done when the process has been waited for and its pipes are closed."""

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        if len(self.output) + len(data) <= self._limit:
            self.output += data
        elif not self.full.done():
            self.full.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.gone.done():  # whoever waited for it may have been cancelled
            self.gone.set_result(None)


class Workers:
    """At most `workers` jobs at a time, at most `waiting` more of each owner in line."""

    def __init__(
        self, *, workers: int, waiting: int | None, nice: int = 0, name: str = "transcoder"
    ) -> None:
        """`waiting` None: who asks is bounded already. `nice`: by how much the work gives way to
        other threads of this machine. `name`: of the threads, for who looks at the process."""
        if workers < 1 or (waiting is not None and waiting < 0):
            raise ValueError(f"{workers} workers with {waiting} waiting: need at least one worker")
        self._nice = nice
        self._executor = ThreadPoolExecutor(
            workers,
            thread_name_prefix=name,
            initializer=lambda: _give_way(threading.get_native_id(), nice),
        )
        self._places = Places(workers)
        self._max_waiting = waiting
        self._closed = False
        self._jobs: Counter[str] = Counter()
        self._changed = asyncio.Event()
        self.waiting = 0
        """Jobs in line now."""

    @contextlib.asynccontextmanager
    async def slot(self, whose: str = "", *, yields: float = 0.0) -> AsyncIterator[Slot]:
        """A place. Raises Busy at once when too many of this owner's wait.

        `yields`: seconds within which others of the owner's that ask later go first.
        """
        if self._closed:
            raise Busy("closed")
        if self._max_waiting is not None and self._places.locked():
            waiting = self._places.waiting(whose)
            if waiting >= self._max_waiting:
                raise Busy(f"{waiting} jobs are waiting")
        with self._busy(whose):
            self.waiting += 1
            try:
                place = await self._places.acquire(whose, yields=yields)
            finally:
                self.waiting -= 1
            slot = Slot(self._executor, nice=self._nice)
            try:
                yield slot
            finally:
                self._give_back(slot, place)

    async def run(self, job: Callable[[], _T], *, whose: str = "") -> _T:
        """The result of one call in a place. Raises what it raises, and Busy."""
        async with self.slot(whose) as slot:
            return await slot.call(job)

    async def rest(self, whose: str | None = None, *, limit: float) -> None:
        """Until there is no job, waiting or under way, `limit` seconds at most. `whose`: no job of
        this owner."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while self._jobs.total() if whose is None else self._jobs[whose]:
                    self._changed.clear()
                    await self._changed.wait()

    @contextlib.contextmanager
    def _busy(self, whose: str) -> Iterator[None]:
        self._jobs[whose] += 1
        try:
            yield
        finally:
            self._jobs[whose] -= 1
            if not self._jobs[whose]:
                del self._jobs[whose]
                self._changed.set()

    def _give_back(self, slot: Slot, place: Place) -> None:
        """Free the place, but not before a thread that was given up on has returned."""
        if slot.running is None or slot.running.done():
            place.release()
            return
        loop = asyncio.get_running_loop()

        def returned(_: Future[object]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop may have closed meanwhile
                loop.call_soon_threadsafe(place.release)

        slot.running.add_done_callback(returned)

    async def close(self) -> None:
        """Take no more jobs. Those that wait for a thread are dropped, none is waited for."""
        self._closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)


def _give_way(task: int | None, nice: int) -> None:
    """Linux has a niceness for each thread; elsewhere, and where the task is gone, nothing."""
    if nice and task is not None and sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, task, nice)
