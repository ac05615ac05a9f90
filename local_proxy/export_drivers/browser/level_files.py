"""Fidelity levels as whole files that any browser shows, coding undone, sketches enlarged; and
the origin's own bytes of a picture, which alone may be called by the origin's validators.

Must not know: HTTP, documents, which level is wanted when.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from local_proxy.link.components import Component, ComponentFailed
from wire.skeleton import Level

HELD: Final = 8 << 20
"""Bytes of files made that are held: a level is asked for twice, by the driver and by the
style rule that shows it."""

AT_ONCE: Final = 4
"""Levels decoded or enlarged at a time; the others wait without a copy of their bytes."""

RESTORED_AT_ONCE: Final = 2
"""Pictures of which the origin's bytes are made at a time: nobody waits for them to be shown."""
_ORIGIN: Final = "origin"
"""Names the origin's bytes among what is held; no level is called so."""

Decode = Callable[[bytes], Awaitable[bytes]]
"""Undoes the coding of one file. Raises whatever its own errors are."""


Restore = Callable[[bytes, bytes], Awaitable[bytes]]
"""Makes the origin's bytes of a form of them, by its recipe. Raises whatever its own errors are."""


class Enlarge(Protocol):
    """Makes files of sketches."""

    def __call__(self, sketch: bytes, width: int, height: int, *, small: bool) -> Awaitable[bytes]:
        """A file of that many pixels; `small`: one that says so will do. Raises whatever its own
        errors are."""


class NoFile(Exception):
    """The coding of this level could not be undone, or the sketch not enlarged; or the origin's
    bytes could not be had."""


class LevelFiles:
    """One for a local proxy. Holds the latest files that it made."""

    def __init__(
        self,
        decode: Decode | None,
        enlarge: Enlarge | None = None,
        restore: Restore | None = None,
    ) -> None:
        """None where no component is coded, is sketched, or has a recipe."""
        self._decode = decode
        self._enlarge = enlarge
        self._restore = restore
        self._restoring = asyncio.Semaphore(RESTORED_AT_ONCE)
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._held: OrderedDict[tuple[Component, str, bool], bytes] = OrderedDict()
        self.size = 0
        """Bytes held."""
        self.decoded = 0
        """Levels decoded or enlarged since the start."""
        self.failed = 0
        """Levels that could be neither."""
        self.restored = self.lost = 0
        """Pictures of which the origin's bytes were made, and could not be for all trying."""

    async def file(self, component: Component, level: Level, *, small: bool = False) -> bytes:
        """The level, which must have been received, as a whole file. Raises NoFile.

        `small`: whoever gets it shows a JPEG in the size that its EXIF says.
        """
        if not component.coding and not level.sketch:
            return component.file(level)
        async with self._turn:
            small = small and level.sketch
            key = (component, level.name, small)
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
                return held
            try:
                file = await self._made(component, level, small=small)
            except Exception as error:
                self.failed += 1
                raise NoFile(str(error)) from error
            self.decoded += 1
            self._hold(key, file)
            return file

    async def original(self, component: Component) -> bytes:
        """The origin's own bytes of a picture that is here. Raises NoFile.

        Never waits for more of it to come.
        """
        if not component.restorable:
            raise NoFile("the origin's bytes are not here")
        if not component.levels:
            return bytes(component.data)
        final = component.levels[-1]
        if component.identical:
            return component.file(final)
        if self._restore is None:
            raise NoFile("nobody follows recipes")
        async with self._restoring:
            key = (component, _ORIGIN, False)
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
                return held
            try:
                file = await self._restore(component.file(final), component.recipe())
            except Exception as error:
                self.lost += 1
                raise NoFile(str(error)) from error
            self.restored += 1
            self._hold(key, file)
            return file

    async def best(self, component: Component, *, small: bool) -> tuple[Level, bytes]:
        """The finest level here, or the next that comes where this one's coding can't be undone.

        Raises NoFile once there is no finer one, ComponentFailed if none will come.
        """
        while True:
            level = component.reached()
            if level is None:
                raise ComponentFailed(502, "the picture ended before its first level")
            try:
                return level, await self.file(component, level, small=small)
            except NoFile:
                if not await _finer(component, than=level):
                    raise

    async def _made(self, component: Component, level: Level, *, small: bool) -> bytes:
        if level.sketch:
            if self._enlarge is None:
                raise NoFile("a sketch")
            sketch = component.file(level)
            return await self._enlarge(sketch, level.width, level.height, small=small)
        if self._decode is None:
            raise NoFile(f"coded as {component.coding}")
        return await self._decode(component.file(level))

    def _hold(self, key: tuple[Component, str, bool], file: bytes) -> None:
        if len(file) > HELD or key in self._held:
            return
        self._held[key] = file
        self.size += len(file)
        while self.size > HELD:
            _, oldest = self._held.popitem(last=False)
            self.size -= len(oldest)


async def _finer(component: Component, *, than: Level) -> bool:
    """Whether a finer level comes. Raises ComponentFailed."""
    await component.wait(lambda: component.reached() != than or component.complete)
    return component.reached() != than
