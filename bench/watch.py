"""Hears from inside a tab when its text is readable, what was painted first, and the load event.

The script that looks is bench/observer.js, in an isolated world that the page can't see. Knows
that script and CDP; knows nothing of pixels or links.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from importlib import resources
from typing import Any, Final

from bench.cdp import BrowserError, Tab

_WORLD: Final = "bench"


class Watch:
    """Hears the observer script of one tab. Made by `on`."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._reached = {name: asyncio.Event() for name in ("text", "first-paint", "load")}
        self._script = ""
        """Chromium's name of the observer of coming documents."""
        self.times: dict[str, float] = {}
        """Seconds since navigation of "text", "first-paint" and "load"."""
        self.origin = 0.0
        """The navigation's start, seconds on the wall clock."""

    @classmethod
    async def on(cls, tab: Tab, *, text_length: int) -> Watch:
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

    def _reported(self, params: dict[str, Any]) -> None:
        said = json.loads(params["payload"])
        self.times[said["name"]] = said["at"]
        self.origin = said["origin"]
        self._reached[said["name"]].set()


def _observer() -> str:
    return resources.files("bench").joinpath("observer.js").read_text()
