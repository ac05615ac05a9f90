"""A component as the local proxy holds it: its head, its bytes so far, its fidelity levels.

Filled by the session (local_proxy/link/session.py), read by fronts and export drivers. Any number
of readers may wait on one component; a reader that leaves does not disturb the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Final

from wire.fields import Headers, header
from wire.messages import Package
from wire.skeleton import LEVELS, Kind, Level, Part, Use

CHUNK: Final = 65536
"""Bytes that a reader gets at once, so that a slow one is not counted far ahead of itself."""


class ComponentFailed(Exception):
    """The component will not be complete: the origin, the link or the peer gave it up."""

    def __init__(self, status: int, reason: str, *, retry: int = 0) -> None:
        super().__init__(reason)
        self.status = status
        """What a browser should be told: 502, 504 ..."""
        self.reason = reason
        self.retry = retry
        """Seconds after which asking again makes sense; 0: not known."""


@dataclass(frozen=True, slots=True)
class OriginHead:
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
    head: OriginHead | None = None
    levels: tuple[Level, ...] = ()
    unsettled: bool = False
    """Of its levels the first alone is known, and that finer ones will come."""
    coding: str = ""
    """What must be undone of a level's bytes before a browser gets them (wire.messages.Levels)."""
    identical: bool = False
    """Of its levels the last is the origin's bytes (wire.messages.Levels)."""
    trailers: Headers = field(default_factory=list)
    """What the origin said behind the body."""
    on_hint: Callable[[int, Headers], None] | None = field(default=None, repr=False)
    """Told of interim responses before the head."""
    on_package: Callable[[Package, list[Component]], None] | None = field(default=None, repr=False)
    """Told that it comes in parts, and of their components."""
    data: bytearray = field(default_factory=bytearray, repr=False)
    """The bytes so far, decoded; a component without levels may be trimmed from the front."""
    trimmed: int = 0
    """Bytes dropped from the front of `data` because every reader had them."""
    complete: bool = False
    failure: ComponentFailed | None = None
    promised: bool = False
    """Sent without being asked: several requests may share it."""
    moved: bool = False
    """It is the page of its document, which has moved there from another address."""
    withheld: bool = False
    """Only its head comes, until the remote is told otherwise."""
    rationed: bool = False
    """A day's budget may keep it from coming: nobody has asked for just this, as its origin has
    it."""
    spared: bool = False
    """The budget had no room for it."""
    reads_pixels: bool | None = None
    """It is a script that names what reads the pixels of pictures; None: the remote has not told.
    """
    looked_at: int = 0
    """Bytes in which names that scripts use have been looked for."""
    looked_last: bytes = field(default=b"", repr=False)
    """The last few of these, in which a name may have begun."""
    carried: int = 0
    """Bytes that came over the link for it, coded as they were."""
    dictionary: bytes = b""
    """SHA-256 of the text that was here, against which they were coded; b"": none."""
    brings: int | None = None
    """Of a document's part, the bytes of the file that it brings; others may come instead."""
    told: str = field(default="", repr=False)
    """The level that policies were last told of."""
    on_consumed: Callable[[int], None] | None = field(default=None, repr=False)
    """Told how many more bytes the fastest reader has taken: gives the sender more credit."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _watchers: list[Callable[[], None]] = field(default_factory=list, repr=False)
    _positions: dict[object, int] = field(default_factory=dict, repr=False)
    """How far each present reader is."""
    _consumed: int = field(default=0, repr=False)

    @property
    def has_client(self) -> bool:
        """Whether it is for one client, who says so when he leaves: he has asked for it, or his
        page has moved there."""
        return self.moved or not self.promised

    @property
    def part(self) -> Part:
        """Its line in a skeleton."""
        return Part(self.id, self.url, self.kind, self.use, self.order, self.width, self.height)

    @property
    def unread(self) -> int:
        """Bytes that came and that no reader has taken."""
        return self.received - self._consumed

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
        """The level as a whole file. Its range must have been received, and not been trimmed."""
        assert not self.trimmed
        assert level.end <= self.received
        return bytes(self.data[level.start : level.end]) + level.suffix

    @property
    def stopped(self) -> bool:
        """Whether it is here as far as it was wanted, which is less than there is of it."""
        return self.complete and bool(self.levels) and self.levels[-1].name != LEVELS[-1]

    @property
    def other_pixels(self) -> bool:
        """Whether it ends, as far as is known, in others than the origin's: a plan wants less."""
        known = bool(self.levels) and not self.unsettled
        return known and self.levels[-1].name != LEVELS[-1]

    @property
    def restorable(self) -> bool:
        """Whether the origin's bytes can be had of what is here."""
        if not self.levels:
            return self.complete and not self.trimmed
        end = self.levels[-1].end
        if self.identical:
            return end <= self.received
        return self.complete and end < self.received

    def recipe(self) -> bytes:
        """What makes the origin's bytes of the last level; it follows the levels."""
        return bytes(self.data[self.levels[-1].end :])

    def consumed(self, position: int) -> None:
        """Somebody has taken the bytes before `position`; each byte counts once."""
        if position > self._consumed:
            more, self._consumed = position - self._consumed, position
            if self.on_consumed is not None:
                self.on_consumed(more)

    def trim(self) -> int:
        """Drop what all present readers have had; how many bytes. Never of one with levels."""
        if self.levels or not self._positions:
            return 0
        drop = min(self._positions.values()) - self.trimmed
        if drop <= 0:
            return 0
        del self.data[:drop]
        self.trimmed += drop
        return drop

    def release(self, position: int) -> None:
        """Drop the bytes before `position`, levels or not: their only reader has put them away."""
        if position > self.trimmed:
            del self.data[: position - self.trimmed]
            self.trimmed = position
        self.consumed(position)

    def notify(self) -> None:
        """Wake all who wait: something about this component has changed."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        for watcher in tuple(self._watchers):
            watcher()

    def fail(self, failure: ComponentFailed) -> None:
        """It will not be complete; all who wait hear of it."""
        self.failure = failure
        self.notify()

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` at every change, without a task; what is returned ends that."""
        self._watchers.append(watcher)

        def unwatch() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return unwatch

    async def wait(self, ready: Callable[[], bool]) -> None:
        """Until `ready()` holds. Raises ComponentFailed if it never will."""
        while not ready():
            if self.failure is not None:
                raise self.failure
            await self._changed.wait()

    async def wait_head(self) -> OriginHead:
        """The head, as soon as it is here."""
        await self.wait(lambda: self.head is not None)
        assert self.head is not None
        return self.head

    async def wait_settled(self) -> None:
        """Until all its levels are known. Raises ComponentFailed if they never will be."""
        await self.wait(lambda: not self.unsettled)

    async def wait_level(self, name: str) -> Level:
        """Until the level of that name, or else the whole, is here; the level that it is."""
        await self.wait(lambda: self._has(name))
        level = self.level(name)
        if level is not None and level.end <= self.received:
            return level
        content_type = header(self.head.headers, "content-type") if self.head else ""
        return self.reached() or Level("original", 0, self.received, content_type)

    def _has(self, name: str) -> bool:
        if self.complete:
            return True
        level = self.level(name)
        return level is not None and level.end <= self.received

    async def read(self, *, start: int = 0) -> AsyncGenerator[bytes, None]:
        """The bytes from `start` on, as they come. Raises ComponentFailed if they stop short."""
        if start < self.trimmed:
            raise ComponentFailed(502, "the start of this response is no longer held")
        reader, at = object(), start
        self._positions[reader] = at
        try:
            while True:
                if at < self.received:
                    offset = at - self.trimmed
                    chunk = bytes(self.data[offset : offset + CHUNK])
                    at += len(chunk)
                    yield chunk
                    self._positions[reader] = at
                    self.consumed(at)
                elif self.complete:
                    return
                else:
                    await self._more_than(at)
        finally:
            del self._positions[reader]

    async def _more_than(self, size: int) -> None:
        await self.wait(lambda: self.received > size or self.complete)
