"""An asyncio loop in virtual time: it never sleeps, it jumps to the next timer.

    result = run(scenario())

The same protocol code that runs on sockets runs here, a simulated minute in a moment, with the
same events in the same order each time, as long as it takes its time from the loop, its randomness
from a seed, and iterates over no set. Real sockets have no place in it; what would run in a
thread runs at once and takes no time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class Stuck(RuntimeError):
    """Every task waits and no timer is set: real time would wait for ever."""


class _JumpingSelector(selectors.SelectSelector):
    """Instead of waiting it adds the wait to the clock. There is no socket to be asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck(f"nothing will ever happen after {self.now:.6f} s")
        if timeout > 0.0:
            self.now += timeout
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """`time()` starts at 0 and moves only by jumps."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def work(self, seconds: float) -> None:
        """What runs now has taken so long."""
        self._jumping.now += seconds

    def run_in_executor(  # type: ignore[override]  # asyncio's own stub names another future
        self, executor: Any, func: Callable[..., Result], *args: Any
    ) -> asyncio.Future[Result]:
        """Run it now (asyncio.to_thread comes here): a thread would end at some real time."""
        done: asyncio.Future[Result] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end in virtual time. Raises Stuck where real time would hang."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
