"""Hears from inside a tab when text is readable, pictures were painted, and the load event came.

The script that looks is observer.js, in an isolated world that the page can't see. Knows
that script and CDP; knows nothing of pixels or links.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from importlib import resources
from typing import Any, Final

from bench.browsers.cdp import BrowserError, Tab

_WORLD: Final = "bench"

SHOWN: Final = """[...document.images].filter(image => {
  const box = image.getBoundingClientRect();
  return box.width >= 2 && box.height >= 2;
})"""
"""The pictures of a page, as JavaScript."""
_MARKS: Final = f"{SHOWN}.map(image => image.getAttribute('elementtiming'))"


class PageWatch:
    """Hears the observer script of one tab. Made by `on`."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._reached = {name: asyncio.Event() for name in ("text", "first-paint", "load")}
        self._script = ""
        """Chromium's name of the observer of coming documents."""
        self.times: dict[str, float] = {}
        """Seconds since navigation of "text", "first-paint" and "load"."""
        self.pictures: dict[str, float] = {}
        """By mark: seconds until a whole version of the picture was painted first."""
        self._wanted = 0
        self._enough = asyncio.Event()
        self.origin = 0.0
        """The navigation's start, seconds on the wall clock."""

    @classmethod
    async def on(cls, tab: Tab, *, text_length: int) -> PageWatch:
        """Watch the tab's coming documents; text is there at `text_length` characters."""
        watch = cls(tab)
        tab.on("Runtime.bindingCalled", watch._reported)
        await tab.call("Runtime.addBinding", name="benchReport", executionContextName=_WORLD)
        await watch.expect(text_length)
        return watch

    async def expect(self, text_length: int) -> None:
        """From the next document on, text is there at `text_length` characters."""
        if self._script:
            await self._tab.call(
                "Page.removeScriptToEvaluateOnNewDocument", identifier=self._script
            )
        answer = await self._tab.call(
            "Page.addScriptToEvaluateOnNewDocument",
            source=f"{_observer()}({text_length})",
            worldName=_WORLD,
        )
        self._script = answer["identifier"]

    async def navigate(self, url: str) -> None:
        """Begin; returns when the response's head has come. Raises BrowserError if none does."""
        for event in self._reached.values():
            event.clear()
        self.times.clear()
        result = await self._tab.call("Page.navigate", url=url)
        if "errorText" in result:
            raise BrowserError(f"{url}: {result['errorText']}")

    async def until(self, name: str, *, limit: float) -> None:
        """Wait for "text" or "load", `limit` seconds at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._reached[name].wait()

    async def until_painted(self, count: int, *, limit: float) -> None:
        """Wait until that many pictures have been painted, `limit` seconds at most."""
        self._wanted = count
        self._enough.clear()
        self._look()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._enough.wait()

    async def painted(self) -> list[float | None]:
        """Seconds until each picture of the page was first painted, as the browser says.

        In the order of `document.images`, those left out that have no size. None: it did not say.
        """
        marks = await self._tab.evaluate(_MARKS)
        return [self.pictures.get(mark) for mark in marks]

    def _reported(self, params: dict[str, Any]) -> None:
        said = json.loads(params["payload"])
        if said["origin"] != self.origin:  # what was said of the page before
            self.pictures.clear()
        self.origin = said["origin"]
        if said["name"] == "picture":
            self.pictures.setdefault(said["mark"], said["at"])
            self._look()
            return
        self.times[said["name"]] = said["at"]
        self._reached[said["name"]].set()

    def _look(self) -> None:
        if len(self.pictures) >= self._wanted:
            self._enough.set()


def _observer() -> str:
    return resources.files(__package__).joinpath("observer.js").read_text()
