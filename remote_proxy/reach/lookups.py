"""Lookups of names, each device's in a line of its own.

A name that nobody answers for takes many seconds, and a page can ask for a hundred of them. So a
device's lookups wait for its own only; what several of its requests ask for is looked up once; and
that a name has no address is believed for a moment, and so is where it is. What is found is judged
elsewhere (connector.py), each time that it is used.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

from remote_proxy.reach.failures import Failure, OriginError
from remote_proxy.reach.system_names import SystemResolver

AT_ONCE: Final = 32
"""Names of one device that are looked up at a time; Chromium's own resolver takes 64 of all pages.
Those of a large page are of a dozen to thirty hosts."""
MOST: Final = 256
"""Names of one device that are looked up or wait for that; what is asked beyond fails at once."""
TURNS: Final = 2
"""Time-outs of a lookup for which a name waits for its turn: two lots of dead ones may be first."""
BELIEVED: Final = 5.0
"""Seconds for which a name is taken to be where it was found, or to have no address: one page's
parts."""
MOST_BELIEVED: Final = 256
"""Names of either sort of one device that are remembered, some 100 bytes each; the oldest go."""

Key = tuple[str, int, socket.AddressFamily]
Found = list[ResolveResult] | OSError | OriginError


@dataclass(frozen=True, slots=True)
class LookupStatistics:
    """A snapshot for logs and tests, of all devices together."""

    devices: int
    """Of which anything is remembered."""
    under_way: int
    """Names that are looked up, or wait for that."""
    unknown: int
    """Names that are believed to have no address."""


@dataclass(slots=True, eq=False)
class _Lookup:
    """One name on its way; `task` gives what was found and never raises."""

    task: asyncio.Task[Found] | None = None
    askers: int = 0
    begun: bool = False


@dataclass(slots=True)
class _Line:
    """One device's lookups."""

    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    under_way: dict[Key, _Lookup] = field(default_factory=dict)
    failed: OrderedDict[Key, tuple[float, Found]] = field(default_factory=OrderedDict)
    """Names without an address. Until when it is believed, oldest first."""
    known: OrderedDict[Key, tuple[float, Found]] = field(default_factory=OrderedDict)
    """Names with one. The same."""

    def belief(self, key: Key, now: float) -> Found | None:
        """Where the name is, or why it has no address, if that was found out a moment ago."""
        self._prune(now)
        kept = self.failed.get(key) or self.known.get(key)
        return kept[1] if kept is not None else None

    def believe(self, key: Key, found: Found, now: float) -> None:
        """Believes what was found."""
        beliefs = self.failed if isinstance(found, Exception) else self.known
        beliefs.pop(key, None)
        beliefs[key] = (now + BELIEVED, found)
        self._prune(now)

    def idle(self, now: float) -> bool:
        """Whether there is nothing to remember of this device."""
        self._prune(now)
        return not (self.under_way or self.failed or self.known)

    def _prune(self, now: float) -> None:
        for beliefs in (self.failed, self.known):
            while beliefs:
                oldest = next(iter(beliefs))
                if now < beliefs[oldest][0] and len(beliefs) <= MOST_BELIEVED:
                    break
                del beliefs[oldest]


class Lookups:
    """The lookups of all devices."""

    def __init__(self, resolver: AbstractResolver | None, *, timeout: float) -> None:
        """`resolver` None: the system's. `timeout`: seconds for a lookup, without its turn."""
        self._resolver = resolver or SystemResolver()
        self._timeout = timeout
        self._lines: dict[str, _Line] = {}

    async def addresses(
        self, name: str, port: int, family: socket.AddressFamily, *, device: str
    ) -> list[ResolveResult]:
        """Where it is. Raises OriginError, and OSError for a name that nobody knows."""
        now = asyncio.get_running_loop().time()
        line = self._line(device, now)
        key = (name, port, family)
        found = line.belief(key, now)
        if found is None:
            found = await self._asked(line, key)
        if isinstance(found, Exception):
            raise _again(found)
        return found

    def statistics(self) -> LookupStatistics:
        """Counts for logs and tests."""
        lines = self._lines.values()
        return LookupStatistics(
            len(lines),
            sum(len(line.under_way) for line in lines),
            sum(len(line.failed) for line in lines),
        )

    async def close(self) -> None:
        """End all of them."""
        tasks = [
            one.task for line in self._lines.values() for one in line.under_way.values() if one.task
        ]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._resolver.close()

    def _line(self, device: str, now: float) -> _Line:
        if device not in self._lines:
            for idle in [name for name, line in self._lines.items() if line.idle(now)]:
                del self._lines[idle]
            self._lines[device] = _Line()
        return self._lines[device]

    async def _asked(self, line: _Line, key: Key) -> Found:
        """What is found, by a lookup that goes on if this asker leaves: it can't be recalled, so
        whoever asks and leaves must not get to begin more of them than those who stay."""
        lookup = line.under_way.get(key)
        if lookup is None:
            if len(line.under_way) >= MOST:
                raise OriginError(
                    Failure.LIMIT,
                    f"{key[0]} is not looked up: this device waits for {MOST} other names, "
                    "which is its limit",
                )
            lookup = line.under_way[key] = _Lookup()
            lookup.task = asyncio.create_task(self._look_up(line, lookup, key))
        assert lookup.task is not None
        lookup.askers += 1
        try:
            return await asyncio.shield(lookup.task)
        finally:
            lookup.askers -= 1
            if not lookup.askers and not lookup.begun:
                lookup.task.cancel()
                if line.under_way.get(key) is lookup:  # who asks next begins anew
                    del line.under_way[key]

    async def _look_up(self, line: _Line, lookup: _Lookup, key: Key) -> Found:
        try:
            found = await self._in_turn(line, lookup, key)
        finally:
            if line.under_way.get(key) is lookup:
                del line.under_way[key]
        line.believe(key, found, asyncio.get_running_loop().time())
        return found

    async def _in_turn(self, line: _Line, lookup: _Lookup, key: Key) -> Found:
        name = key[0].removesuffix(".")
        try:
            async with asyncio.timeout(TURNS * self._timeout):
                await line.places.acquire()
        except TimeoutError:
            return OriginError(
                Failure.TIMEOUT,
                f"looking {name} up took too long: {AT_ONCE} other names that this device asked "
                "for get no answer",
            )
        try:
            lookup.begun = True
            async with asyncio.timeout(self._timeout):
                return await self._resolver.resolve(*key)
        except TimeoutError:
            return OriginError(Failure.TIMEOUT, f"looking {name} up took too long")
        except socket.gaierror as error:
            if error.errno != socket.EAI_AGAIN:
                return error
            return OriginError(Failure.DNS, f"no name server answers for {name}")
        except (OSError, OriginError) as error:
            return error
        finally:
            line.places.release()


def _again(error: OSError | OriginError) -> OSError | OriginError:
    """The same error for one more who asked: a traceback belongs to one."""
    if isinstance(error, OriginError):
        return OriginError(error.kind, str(error), retry=error.retry)
    return type(error)(*error.args)
