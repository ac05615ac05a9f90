"""Has of a picture, by a time, the finest file that there can be of it.

Each level becomes a file as it comes, so that at the time one is ready. What is named `original` is
the origin's file, byte for byte; its pixels in other bytes count as the level before.

Must not know: HTTP, who asks, what becomes of the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from local_proxy.export_drivers.browser.level_files import NoFile
from local_proxy.link.components import Component, ComponentFailed
from wire.skeleton import LEVELS, Level


class PictureFiles(Protocol):
    """Makes files of what is here of a picture. Both raise NoFile."""

    async def file(self, component: Component, level: Level) -> bytes: ...
    async def original(self, component: Component) -> bytes: ...


@dataclass(frozen=True, slots=True)
class TimelyPicture:
    """One whole file of a picture."""

    file: bytes
    level: Level | None = None
    """None: it is the origin's file."""

    @property
    def name(self) -> str:
        """Names its level as clients are told."""
        if self.level is None:
            return LEVELS[-1]
        return LEVELS[-2] if self.level.name == LEVELS[-1] else self.level.name


async def finest_by(
    due: float, component: Component, files: PictureFiles, *, takes: Callable[[str], bool]
) -> TimelyPicture:
    """The origin's file if it can be had by `due`, on the loop's clock; else the finest level that
    can; where none can, the first one that there is.

    `takes`: whether a media type will do. Raises NoFile where there is nothing for all waiting,
    ComponentFailed where the picture fails before its first level.
    """
    search = _Search(component, files, takes)
    while not search.over:
        try:
            async with asyncio.timeout_at(due if search.found is not None else None):
                await search.step()
        except TimeoutError:
            break
        except ComponentFailed:
            if search.found is None:
                raise
            break
        if search.found is not None and asyncio.get_running_loop().time() >= due:
            break
    if search.found is None:
        raise NoFile("no level of the picture can be had as a file")
    return search.found


class _Search:
    """What has been found of one picture, and tried."""

    def __init__(
        self, component: Component, files: PictureFiles, takes: Callable[[str], bool]
    ) -> None:
        self._component = component
        self._files = files
        self._takes = takes
        self._tried: set[str] = set()
        self._whole = False
        """It was tried to have the origin's file."""
        self.found: TimelyPicture | None = None
        self.over = False
        """There is nothing finer to come."""

    async def step(self) -> None:
        """Wait for something finer, and make a file of it. Raises ComponentFailed."""
        component = self._component
        await component.wait(
            lambda: self._may_be_whole() or self._next() is not None or component.complete
        )
        try:
            if self._may_be_whole():
                self._whole = True
                self.found, self.over = TimelyPicture(await self._files.original(component)), True
            elif (level := self._next()) is not None:
                self._tried.add(level.name)
                self.found = TimelyPicture(await self._files.file(component, level), level)
            else:
                self.over = True
        except NoFile:
            pass  # what comes next may do

    def _may_be_whole(self) -> bool:
        return not self._whole and self._component.restorable

    def _next(self) -> Level | None:
        """The finest level here that was not tried; None: there is none finer than what was."""
        here = [one for one in self._component.levels if one.end <= self._component.received]
        for level in reversed(here):
            if level.name in self._tried:
                return None
            if self._takes(level.content_type):
                return level
        return None
