"""Frames of a tab while it loads, at half scale, at a bounded pace.

They are not free: a load of 13 s of a page 15 600 pixels high costs Chromium 13 s of processor time
with frames and 2.5 s without (measured). So leave the machine a second processor, and don't film
what has a better clock: with two processors, frames delayed a text by 0.2 to 0.4 s.

Chromium sends a screencast frame when something was painted and drops what comes while three are
unacknowledged, or soon after another. So acknowledgements set the pace; and when nothing comes for
a while after a change, starting the screencast anew gets the state as it is, until that is what was
seen already. Knows CDP; knows nothing of what the frames mean.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from PIL import Image

from bench.browsers.cdp import BrowserError, Tab

INTERVAL: Final = 0.25
"""Seconds between frames, and so the error of a time read from them, which is always late."""
RESOLUTION: Final = 0.015
"""Of the time elapsed: a load of a minute is sampled every 0.9 s."""
QUALITY: Final = 80
"""Of the frames' JPEG. Part of the measure: thresholds in visual.py were found with it."""
MAX_HEIGHT: Final = 16_000
"""Frame pixels, far above any page under test; Chromium wants some bound."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of the tab."""

    at: float
    """Seconds on the wall clock when it was on the screen."""
    jpeg: bytes

    def image(self) -> Image.Image:
        return Image.open(io.BytesIO(self.jpeg)).convert("RGB")


def interval(elapsed: float) -> float:
    """Seconds to let pass before the next frame, so that a long load is not a gigabyte."""
    return max(INTERVAL, RESOLUTION * elapsed)


class Capture:
    """Collects frames of one tab. Made by `capturing`."""

    def __init__(self, tab: Tab, *, width: int) -> None:
        self._tab = tab
        self._width = width
        self._began = 0.0
        self._next = 0.0
        """When the latest acknowledgement goes out; the one after it waits an interval more."""
        self._changed = False
        """Something new was seen since the state was last asked for."""
        self._session = 0
        """Chromium's number of the screencast that the latest frame is of."""
        self._arrived = asyncio.Event()
        self._acks: set[asyncio.Task[None]] = set()
        self.frames: list[Frame] = []
        """As they arrived; two in a row are never equal."""

    async def start(self) -> None:
        """Get the present state as a frame, and from here on each change."""
        self._changed = False
        with contextlib.suppress(BrowserError):  # Between two renderers there is no page.
            # Without the stop a second start is without effect.
            await self._tab.call("Page.stopScreencast")
            await self._tab.call(
                "Page.startScreencast",
                format="jpeg",
                quality=QUALITY,
                maxWidth=self._width,
                maxHeight=MAX_HEIGHT,
            )

    async def current(self) -> Frame:
        """A frame of the state as it is now. Raises BrowserError when there comes none."""
        before = self._session
        await self.start()
        try:
            async with asyncio.timeout(10):
                while self._session == before:  # What arrives now may still be of before.
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError as error:
            raise BrowserError("no frame within 10 s") from error
        return self.frames[-1]

    def received(self, params: dict[str, Any]) -> None:
        """Handler of Page.screencastFrame."""
        jpeg = base64.b64decode(params["data"])
        if not self.frames or self.frames[-1].jpeg != jpeg:
            self.frames.append(Frame(params["metadata"]["timestamp"], jpeg))
            self._changed = True
        self._session = params["sessionId"]
        self._arrived.set()
        self._began = self._began or asyncio.get_running_loop().time()
        task = asyncio.create_task(self._acknowledge(params["sessionId"]))
        self._acks.add(task)
        task.add_done_callback(self._acks.discard)

    async def _acknowledge(self, number: int) -> None:
        now = asyncio.get_running_loop().time()
        self._next = max(now, self._next) + interval(now - self._began)
        await asyncio.sleep(self._next - now)
        with contextlib.suppress(BrowserError):
            await self._tab.call("Page.screencastFrameAck", sessionId=number)

    async def refresh(self) -> None:
        """Ask for the present state when nothing has come for a while after a change."""
        while True:
            self._arrived.clear()
            pause = interval(asyncio.get_running_loop().time() - self._began)
            try:
                async with asyncio.timeout(pause):
                    await self._arrived.wait()
            except TimeoutError:
                if self._changed:
                    await self.start()

    async def stop(self) -> None:
        for task in list(self._acks):
            task.cancel()
        with contextlib.suppress(BrowserError):
            await self._tab.call("Page.stopScreencast")


@asynccontextmanager
async def capturing(tab: Tab, *, width: int, at_once: bool = True) -> AsyncIterator[Capture]:
    """Collect frames `width` frame pixels wide while the block runs; else from its `start` on."""
    capture = Capture(tab, width=width)
    tab.on("Page.screencastFrame", capture.received)
    refresh = asyncio.create_task(capture.refresh())
    try:
        if at_once:
            await capture.start()
        yield capture
    finally:
        refresh.cancel()
        tab.remove("Page.screencastFrame", capture.received)
        await capture.stop()
