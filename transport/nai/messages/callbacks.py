"""Calling the application back: it may answer later, and it may fail; neither stops the connection.

A callback that raises is reported to the loop's exception handler; of a message's it means Cancel.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from transport.nai.atp import AtpSender
from transport.nai.messages.message import Cancel, Expiry, NaiMessage, Verdict

News = TypeVar("News")


class Callbacks:
    """The callbacks of one sender."""

    def __init__(self, sender: AtpSender, answered: Callable[[], None]) -> None:
        """`answered`: called when the application has said what becomes of a message."""
        self._sender = sender
        self._answered = answered
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def call(self) -> None:
        """All who were told of the last turn; what they cause is for the next one."""
        sender = self._sender
        crossed, expired = list(sender.crossed), list(sender.expired)
        sender.crossed.clear()
        sender.expired.clear()
        for watch, available in crossed:
            self.tell(watch.callback, available)
        for message, expiry in expired:
            if message.asked is not None:
                self._ask(message, expiry)
        if crossed or expired:
            self._answered()

    def tell(self, callback: Callable[[News], object], news: News) -> None:
        """Call one that has nothing to answer."""
        try:
            result = callback(news)
        except Exception as error:
            self._report("a callback raised", error)
            return
        if inspect.isawaitable(result):
            self._start(self._awaited(result))

    async def stop(self) -> None:
        """Cancel callbacks that have not answered."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ask(self, message: NaiMessage, expiry: Expiry) -> None:
        assert message.on_timer is not None, "nobody to ask"
        verdict: Verdict | Awaitable[Verdict | None] | None
        try:
            verdict = message.on_timer(message, expiry)
        except Exception as error:
            verdict = self._failed(message, error)
        if inspect.isawaitable(verdict):
            self._start(self._answer_later(message, verdict))
        else:
            self._sender.answer(message, verdict, self._loop.time())

    async def _answer_later(self, message: NaiMessage, verdict: Awaitable[Verdict | None]) -> None:
        order = message.order
        try:
            said = await verdict
        except Exception as error:
            said = self._failed(message, error)
        if message.order == order:  # else it has been queued anew meanwhile: an old question
            self._sender.answer(message, said, self._loop.time())
            self._answered()

    async def _awaited(self, result: Awaitable[object]) -> None:
        try:
            await result
        except Exception as error:
            self._report("a callback raised", error)

    def _failed(self, message: NaiMessage, error: Exception) -> Verdict:
        self._report("a callback timer's function raised; its message is cancelled", error)
        message.error = error
        return Cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _report(self, what: str, error: Exception) -> None:
        self._loop.call_exception_handler({"message": what, "exception": error})
