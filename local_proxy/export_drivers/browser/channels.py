"""Event channels: a page's driver hears of each level that is better than what it shows.

An event stream (HTML standard, 9.2). Must not know: what a level is, how it is fetched.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from local_proxy.export_drivers.browser.page import LEFT, BrowserPage, PictureStep

_KEEPALIVE: Final = 25.0
"""Seconds of silence on an event channel before a comment is sent."""
_IDLE: Final = 2.0
"""Seconds without anything to tell after which a channel ends until another picture is loaded. It
is one of a browser's six connections; and Firefox keeps no page for "back" that has one open."""
_CHANNELS: Final = 2
"""Event channels held open for one origin: a browser has six HTTP/1.1 connections a host, for all
its windows and frames together. Further drivers get the state and come again."""
_DONE: Final = b"event: done\ndata: 0\n\n"
_RETRY_MS: Final = 400
"""How soon these come again."""


class Channels:
    """The event channels of all pages."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        """By origin."""

    def __len__(self) -> int:
        return self._open.total()

    async def events(self, page: BrowserPage) -> AsyncIterator[bytes]:
        """All that a driver should know, then what is new, while the channel is the page's."""
        channel = page.channel = object()
        told: dict[int, int] = {}
        yield f"retry: {_RETRY_MS}\n\n".encode()
        if self._open[page.origin] >= _CHANNELS:
            yield _encoded(page.steps(told))
            if not page.pending():
                yield _DONE
            return
        self._open[page.origin] += 1
        try:
            while page.channel is channel:
                page.changed.clear()
                if steps := page.steps(told):
                    yield _encoded(steps)
                    continue
                try:
                    patience = _KEEPALIVE if page.pending() else _IDLE
                    await asyncio.wait_for(page.changed.wait(), patience)
                except TimeoutError:
                    if not page.pending():
                        yield _DONE
                        return
                    yield b":\n\n"
        finally:
            self._open[page.origin] -= 1


def _encoded(steps: list[PictureStep]) -> bytes:
    """Events of an event stream (HTML standard, 9.2), one a picture."""
    return b"".join(b"data: " + msgspec.json.encode(_told(step)) + b"\n\n" for step in steps)


def _told(step: PictureStep) -> dict[str, object]:
    if step.level == LEFT:
        return {"u": step.url, "l": step.level}
    told: dict[str, object] = {"u": step.url, "c": step.component, "l": step.level}
    if step.beside:
        told["b"] = True
    return told if step.keep is None else told | {"k": step.keep}
