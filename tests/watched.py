"""A test's coroutine, run and watched: it fails for what nobody would see else.

That is tasks that are left, exceptions that nobody retrieved, callbacks that raised.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

TIMEOUT = 120.0
"""Seconds a test may take; they take a fraction of one where nobody else wants the processors."""


def run(work: Coroutine[Any, Any, T], *, timeout: float = TIMEOUT) -> T:
    """The result of the coroutine; fails for leaked tasks and for errors that nobody saw."""

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        unseen: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: unseen.append(context))
        async with asyncio.timeout(timeout):
            result = await work
        for _ in range(5):  # what was closed just now takes its leave
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left: {left}"
        gc.collect()
        await asyncio.sleep(0)
        assert not unseen, f"errors that nobody saw: {unseen}"
        return result

    return asyncio.run(watched())


async def until(true: Callable[[], object], *, seconds: float = 60.0) -> None:
    """Let the loop run until it holds; fails after that time."""
    try:
        async with asyncio.timeout(seconds):
            while not true():  # noqa: ASYNC110 - many sorts of state are waited for
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"not within {seconds} s") from None
