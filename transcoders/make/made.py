"""Keeps what was made lately, by what it was made of: ten devices that load a page cost little more
than one.

A result is found by what was asked (a digest of the bytes among it), never by a URL, so nobody is
given what others' bytes became. What is left to learn is time: a result that is there says that
somebody had these bytes. Where that somebody, or who asks now, got them with credentials, it is
given no sooner than it would have been made: to the same device neither, since a page of another
site may be what asks.

What several want at once is made once, for as long as any of them waits. Where other processes
share what they make (results.py), they are asked before it is made, never of what came with
credentials. Sizes in bytes, times in seconds. Knows nothing of pictures.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

LIMIT: Final = 64 << 20
"""Bytes that are kept: the pictures of a hundred pages."""
_LEAST: Final = 1024
"""Bytes that a result counts for: there is more to it than its own."""
T = TypeVar("T")


@dataclass(slots=True)
class _Entry:
    """One result, there or in the making."""

    private: bool
    """Whoever had it made got the bytes with credentials."""
    began: float
    work: asyncio.Task[Any] | None = None
    waiting: int = 0
    took: float = 0.0
    """Seconds that it was in the making; set before the work has ended."""
    elsewhere: float = 0.0
    """Seconds that it was in the making in another process."""
    size: int = 0
    """Bytes that it counts for; 0: it is not there yet."""


class Elsewhere(Protocol):
    """A result that another process has made."""

    @property
    def result(self) -> Any:
        """An exception where it can't be made."""

    @property
    def took(self) -> float: ...


class Others(Protocol):
    """Other processes that make the same things. Raises nothing."""

    async def awaited(self, key: Hashable) -> Elsewhere | None:
        """What they have made; None: it is ours to make, and to say when it's `done`."""

    async def keep(self, key: Hashable, result: Any, took: float) -> None: ...
    async def done(self, key: Hashable) -> None: ...


class Made:
    """One process's results, whoever they were made for. Used from one event loop."""

    def __init__(
        self,
        *,
        limit: int = LIMIT,
        lasting: tuple[type[Exception], ...] = (),
        others: Others | None = None,
    ) -> None:
        """`limit`: bytes kept, 0: none. `lasting`: errors that would come again, kept as well.
        `others`: what other processes have made; None: nobody's."""
        self._limit = limit
        self._others = others
        self._lasting = lasting
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._under_way: set[asyncio.Task[Any]] = set()
        """Work that has not ended, wanted or not."""
        self.used = 0
        """Bytes that are kept."""
        self.spared = 0
        """Results that had not to be made."""
        self._telling: set[asyncio.Task[None]] = set()
        """What others are being told."""

    async def get(
        self,
        key: Hashable,
        make: Callable[[], Coroutine[Any, Any, T]],
        *,
        size: Callable[[T], int],
        private: bool,
    ) -> T:
        """What `make` gives, or gave for the same key. Raises what `make` raises.

        `size`: bytes that a result occupies. `private`: who asks got the bytes with credentials.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        while (entry := self._entries.get(key)) is not None:
            work = await self._ended(key, entry)
            if self._lasts(work):
                self.spared += 1
                if entry.private or private:  # as late as if it had been made for this request
                    await asyncio.sleep(began + entry.took - loop.time())
                break
            # It came to nothing for want of its owner's room or time: that says nothing of ours.
            self._forget(key, entry)
        else:
            entry = self._entries[key] = _Entry(private, loop.time())
            entry.work = loop.create_task(self._make(key, entry, make, size))
            self._under_way.add(entry.work)
            entry.work.add_done_callback(self._over)
            work = await self._ended(key, entry)
        result: T = work.result()
        return result

    async def close(self) -> None:
        """End what is under way."""
        ending = [*self._under_way, *self._telling]
        for work in ending:
            work.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def _over(self, work: asyncio.Task[Any]) -> None:
        self._under_way.discard(work)
        if not work.cancelled():
            work.exception()  # who waits raises it; who does may have left as it came

    async def _make(
        self,
        key: Hashable,
        entry: _Entry,
        make: Callable[[], Coroutine[Any, Any, T]],
        size: Callable[[T], int],
    ) -> T:
        """The work. When it has ended, its result is among those kept or nowhere."""
        try:
            result = await self._made_by_any(key, entry, make)
        except self._lasting:
            self._keep(key, entry, 0)
            raise
        except BaseException:
            self._forget(key, entry)
            raise
        self._keep(key, entry, size(result))
        return result

    async def _made_by_any(
        self, key: Hashable, entry: _Entry, make: Callable[[], Coroutine[Any, Any, T]]
    ) -> T:
        """Others' result, or ours, which they may have."""
        others = self._others
        if others is None or entry.private:
            return await make()
        elsewhere = await others.awaited(key)
        if elsewhere is not None:
            self.spared += 1
            entry.elsewhere = elsewhere.took
            if isinstance(elsewhere.result, Exception):
                raise elsewhere.result
            found: T = elsewhere.result
            return found
        loop = asyncio.get_running_loop()
        began, outcome = loop.time(), list[Any]()
        try:
            result = await make()
            outcome.append(result)
        except self._lasting as error:
            outcome.append(error)
            raise
        finally:
            telling = loop.create_task(_tell(others, key, outcome, loop.time() - began))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)
        return result

    async def _ended(self, key: Hashable, entry: _Entry) -> asyncio.Task[Any]:
        """The work, once it is done; what nobody waits for any more ends."""
        assert entry.work is not None
        if entry.work.done():
            self._entries.move_to_end(key)
            return entry.work
        entry.waiting += 1
        try:
            await asyncio.wait((entry.work,))
        finally:
            entry.waiting -= 1
            if not entry.waiting and not entry.work.done():
                self._forget(key, entry)
                entry.work.cancel()
        return entry.work

    def _keep(self, key: Hashable, entry: _Entry, size: int) -> None:
        took = asyncio.get_running_loop().time() - entry.began
        entry.took = max(took, entry.elsewhere)
        if self._entries.get(key) is not entry:  # given up as it ended
            return
        entry.size = _LEAST + size
        self.used += entry.size
        while self.used > self._limit:
            self._forget(*next((key, one) for key, one in self._entries.items() if one.size))

    def _lasts(self, work: asyncio.Task[Any]) -> bool:
        """Whether its outcome would be the same again."""
        if work.cancelled():
            return False
        error = work.exception()
        return error is None or isinstance(error, self._lasting)

    def _forget(self, key: Hashable, entry: _Entry) -> None:
        if self._entries.get(key) is entry:
            del self._entries[key]
            self.used -= entry.size


async def _tell(others: Others, key: Hashable, outcome: list[Any], took: float) -> None:
    """What has become of the work; nothing, where it was given up."""
    for result in outcome:
        await others.keep(key, result, took)
    await others.done(key)
