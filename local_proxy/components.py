"""A component as the local proxy holds it: its head, its bytes so far, its fidelity levels.

Filled by the session (local_proxy/session.py), read by fronts and export drivers. Any number of
readers may wait on one component; a reader that leaves does not disturb the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from local_proxy.http import Headers
from wire.skeleton import Kind, Level, Use


class ComponentFailed(Exception):
    """The component will not be complete: the origin, the link or the peer gave it up."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        """What a browser should be told: 502, 504 ..."""
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers of the origin's response."""

    status: int
    headers: Headers
    length: int | None
    """Bytes of the body, None while unknown."""
    final_url: str = ""


@dataclass(eq=False)
class Component:
    """One response under way to, or held by, the local proxy."""

    id: int
    document: int
    url: str
    kind: Kind = Kind.OTHER
    use: Use = Use.OTHER
    order: int = 0
    width: int = 0
    height: int = 0
    head: Head | None = None
    levels: tuple[Level, ...] = ()
    data: bytearray = field(default_factory=bytearray, repr=False)
    """The bytes so far, decoded; a component without levels may be trimmed from the front."""
    trimmed: int = 0
    """Bytes dropped from the front of `data` because every reader had them."""
    complete: bool = False
    failure: ComponentFailed | None = None
    on_consumed: Callable[[int], None] | None = field(default=None, repr=False)
    """Told how many bytes a reader has taken: gives the sender more credit."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @property
    def received(self) -> int:
        """Bytes of the body that have come."""
        return self.trimmed + len(self.data)

    def level(self, name: str) -> Level | None:
        """The level of that name, if the component has it."""
        return next((level for level in self.levels if level.name == name), None)

    def reached(self) -> Level | None:
        """The finest level that is here in full."""
        done = None
        for level in self.levels:
            if level.end <= self.received:
                done = level
        return done

    def file(self, level: Level) -> bytes:
        """The level as a whole file. Its range must have been received."""
        return bytes(self.data[level.start : level.end]) + level.suffix

    def notify(self) -> None:
        """Wake all who wait: something about this component has changed."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def wait(self, ready: Callable[[], bool]) -> None:
        """Until `ready()` holds. Raises ComponentFailed if it never will."""
        while not ready():
            if self.failure is not None:
                raise self.failure
            await self._changed.wait()

    async def wait_head(self) -> Head:
        """The head, as soon as it is here."""
        await self.wait(lambda: self.head is not None)
        assert self.head is not None
        return self.head

    async def wait_level(self, name: str) -> Level:
        """Until the level of that name, or else the whole, is here; the level that it is."""
        await self.wait(lambda: self._has(name))
        level = self.level(name)
        if level is not None and level.end <= self.received:
            return level
        reached = self.reached()
        if reached is None:
            content_type = next(
                (v for k, v in self.head.headers if k == "content-type"), "" if self.head else ""
            ) if self.head else ""
            return Level("original", 0, self.received, content_type)
        return reached

    def _has(self, name: str) -> bool:
        if self.complete:
            return True
        level = self.level(name)
        return level is not None and level.end <= self.received

    async def read(self, *, start: int = 0) -> AsyncIterator[bytes]:
        """The bytes from `start` on, as they come. Raises ComponentFailed if they stop short."""
        at = start
        while True:
            if at < self.received:
                chunk = bytes(self.data[at - self.trimmed :])
                at += len(chunk)
                yield chunk
                if self.on_consumed is not None:
                    self.on_consumed(len(chunk))
            elif self.complete:
                return
            else:
                reached = at
                await self.wait(lambda: self.received > reached or self.complete)
