"""One thread in which policies react, so that a slow or endless one can't stop the event loop.

A thread can't be killed, but Python code in it can be interrupted: `abandon` raises an exception
at its next bytecode. A policy that sits in a C call dies when that returns. Either way the thread
is given up at once and the next job gets a new one.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from math import inf
from queue import SimpleQueue
from typing import Final, Protocol

Job = Callable[[], None]
_NAME: Final = "sluice-policies"


class Abandoned(BaseException):
    """Raised inside a policy that took too long; not an Exception, so that it passes."""


class Worker(Protocol):
    """Where policies react: a thread in a session, the loop itself in virtual time."""

    def submit(self, job: Job) -> None: ...
    def spent(self) -> float: ...
    def stop(self) -> None: ...
    def abandon(self) -> bool: ...


class PolicyWorker:
    """Runs jobs one after the other. Created and used on the event loop's thread."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._clock: int | None = None
        """The thread's own, which stands still while others have the processors."""
        self._began: float | None = None
        """By that clock, the job under way; None: none is."""
        self._thread = threading.Thread(target=self._run, name=_NAME, daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Run it after those before. It must not raise."""
        self._jobs.put(job)

    def spent(self) -> float:
        """Seconds of processor time that the job under way has had; infinite where it can't be
        told apart from the time that has passed (macOS has no clocks of threads)."""
        began, clock = self._began, self._clock
        if began is None:
            return 0.0  # it waits for a processor
        try:
            return inf if clock is None else time.clock_gettime(clock) - began
        except OSError:  # the thread has ended
            return inf

    def stop(self) -> None:
        """End after the jobs submitted so far. Does not wait."""
        self._jobs.put(None)

    def abandon(self) -> bool:
        """End now: interrupt the job under way, take no other. Whether it may still run: what is
        raised in a finalizer, or caught, interrupts nothing, and has to be raised again."""
        self.stop()
        ident = self._thread.ident
        if ident is None or not self._thread.is_alive():
            return False
        # CPython's own way to interrupt a thread (PyThreadState_SetAsyncExc, C API reference).
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(ident), ctypes.py_object(Abandoned)
        )
        return True

    def join(self, timeout: float) -> bool:
        """Wait for the end, at most so many seconds; True: it has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(threading.get_ident())
        try:
            while (job := self._jobs.get()) is not None:
                self._began = time.thread_time()
                job()
                self._began = None
        except Abandoned:
            pass
