"""Measures one cold page load in Chromium as a reader sees it.

First `study` loads the page over no slow link at all and keeps what it ends up as. Then `load`
measures: text readable, every picture painted, good, final, the load event, Speed Index, bytes.

text      the parser has reached the end of the text, style sheets apply, and a frame was produced
painted, good, final      from pixels: bench/visual.py
load      the document's load event

Knows Chromium and an endpoint (where the page is, by which proxy); not what the endpoint consists
of. DOMContentLoaded is no measure of text: a script at the end of the body delays it, not the text.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final, Protocol

from bench.capture import Frame, capturing
from bench.cdp import Browser, BrowserError, Tab, launch
from bench.visual import CAPTURE_SCALE, Box, Moment, Scene, State, reached, speed_index

WIDTH: Final = 1280
"""CSS pixels of the viewport. It is as high as the page, so that every picture is in view."""
QUIET: Final = 2.0
"""Seconds without traffic after the load event that end a load."""
QUIET_BYTES: Final = 4096
"""Less than this within QUIET is a heartbeat, not a page."""
DRAWING: Final = 1.0
"""Seconds given to drawing after decoding; 0.3 is too little on a busy machine."""
LIMIT: Final = 400.0
"""Seconds after which a load is given up; the slowest direct load of the corpus takes 300."""
_WORLD: Final = "bench"


class LinkCount(Protocol):
    """What crossed the slow link so far, as bench.links.relay counts it."""

    @property
    def bytes_up(self) -> int: ...
    @property
    def bytes_down(self) -> int: ...
    @property
    def connections(self) -> int: ...


@dataclass(frozen=True, slots=True)
class _NoLink:
    bytes_up: int = 0
    bytes_down: int = 0
    connections: int = 0


def no_link() -> LinkCount:
    """The count where there is no slow link."""
    return _NoLink()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How a browser gets at the pages."""

    base: str
    """URL of the origin's root, with its final slash."""
    statistics: Callable[[], LinkCount]
    proxy: str | None = None
    resolve: Mapping[str, str] = field(default_factory=dict)
    browser_flags: Sequence[str] = ()
    """Chromium's."""
    authority: bytes | None = None
    """PEM of the one that vouches for https, if the system knows it not; see bench/windows.py."""


@dataclass(frozen=True, slots=True)
class PageStudy:
    """What is known of a page before it is measured."""

    page: str
    height: int
    """CSS pixels at WIDTH."""
    text_length: int
    """Characters that are not white space, of the HTML as it comes from the origin."""
    scene: Scene


@dataclass(frozen=True, slots=True)
class PageLoad:
    """One measured load. Times in seconds since navigation; None: it did not happen."""

    peer: str
    page: str
    policy: str
    text_s: float | None
    load_s: float | None
    bytes_down: int
    bytes_up: int
    connections: int
    moments: Sequence[Moment]
    frames: Sequence[Frame]
    """With times since navigation; as many as moments."""

    def as_json(self) -> dict[str, Any]:
        """The run's form in a report."""
        at = {
            "text_s": self.text_s,
            "painted_s": reached(self.moments, State.PAINTED),
            "good_s": reached(self.moments, State.GOOD),
            "final_s": reached(self.moments, State.FINAL),
            "load_s": self.load_s,
            "speed_index_s": speed_index(self.moments),
        }
        rounded = {name: None if value is None else round(value, 3) for name, value in at.items()}
        return {
            "peer": self.peer,
            "page": self.page,
            "policy": self.policy,
            **rounded,
            "bytes_down": self.bytes_down,
            "bytes_up": self.bytes_up,
            "connections": self.connections,
        }


@asynccontextmanager
async def opened(endpoint: Endpoint, *flags: str) -> AsyncIterator[Browser]:
    """A Chromium that reaches the endpoint and nothing else. `flags`: beside the endpoint's."""
    async with launch(
        proxy=endpoint.proxy, resolve=endpoint.resolve, extra=(*endpoint.browser_flags, *flags)
    ) as browser:
        yield browser


async def study(endpoint: Endpoint, page: str) -> PageStudy:
    """Learn what `page` (a path below the base) ends up as. `endpoint` should be fast."""
    async with opened(endpoint) as browser:
        tab = await browser.new_tab()
        await tab.viewport(width=WIDTH, height=1000)
        watch = await Watch.on(tab, text_length=0)
        await watch.navigate(endpoint.base + page)
        await watch.until("load", limit=60)
        height = int(await tab.evaluate("document.documentElement.scrollHeight"))
        text_length = int(await tab.evaluate(_TEXT_LENGTH))
        await tab.viewport(width=WIDTH, height=height)
        async with capturing(tab, width=round(WIDTH * CAPTURE_SCALE)) as capture:
            await watch.navigate(endpoint.base + page)
            await watch.until("load", limit=60)
            await _drawn(tab)
            final = await capture.current()
            boxes = [_box(rectangle) for rectangle in await tab.evaluate(PICTURES)]
            await tab.evaluate(_BLANK)
            await asyncio.sleep(0.5)
            blank = await capture.current()
    scene = Scene(final=final.image(), blank=blank.image(), boxes=boxes)
    return PageStudy(page, height, text_length, scene)


async def load(
    endpoint: Endpoint,
    known: PageStudy,
    *,
    peer: str,
    policy: str = "",
    limit: float = LIMIT,
    quiet: float = QUIET,
) -> PageLoad:
    """Load a page with a cold cache and measure it; `limit`, `quiet`: seconds (LIMIT, QUIET).

    Raises BrowserError when there is no page at all; what a page lacks is None in the result.
    """
    async with opened(endpoint) as browser:
        tab = await browser.new_tab()
        await tab.viewport(width=WIDTH, height=known.height)
        watch = await Watch.on(tab, text_length=known.text_length)
        before = endpoint.statistics()
        async with capturing(tab, width=round(WIDTH * CAPTURE_SCALE)) as capture:
            await watch.navigate(endpoint.base + known.page)
            await _until_quiet(endpoint, watch, limit=limit, quiet=quiet)
            after = endpoint.statistics()
            await _drawn(tab)
            await capture.current()
    frames = in_order(capture.frames, origin=watch.origin)
    moments = await asyncio.to_thread(judge, known.scene, frames)
    return PageLoad(
        peer=peer,
        page=known.page,
        policy=policy,
        text_s=watch.times.get("text"),
        load_s=watch.times.get("load"),
        bytes_down=after.bytes_down - before.bytes_down,
        bytes_up=after.bytes_up - before.bytes_up,
        connections=after.connections,
        moments=moments,
        frames=frames,
    )


async def _drawn(tab: Tab) -> None:
    """Wait until what has come is on the screen."""
    await tab.evaluate(DECODED)
    await asyncio.sleep(DRAWING)


def in_order(frames: Sequence[Frame], *, origin: float) -> list[Frame]:
    """Frames since `origin`, seconds on the wall clock, by their times; two may swap on arrival."""
    since = [Frame(frame.at - origin, frame.jpeg) for frame in frames if frame.at > origin]
    return sorted(since, key=lambda frame: frame.at)


def judge(scene: Scene, frames: Sequence[Frame]) -> list[Moment]:
    """What each frame shows; seconds of processor time for a long page."""
    return [scene.judge(frame.image(), at=frame.at) for frame in frames]


async def _until_quiet(endpoint: Endpoint, watch: Watch, *, limit: float, quiet: float) -> None:
    """Return when the page has loaded and nothing more comes over the link, or at the limit."""
    clock = asyncio.get_running_loop().time
    end = clock() + limit
    await watch.until("load", limit=limit)
    count, since = endpoint.statistics(), clock()
    while clock() < end and clock() - since < quiet:
        await asyncio.sleep(0.1)
        now = endpoint.statistics()
        moved = now.bytes_down - count.bytes_down + now.bytes_up - count.bytes_up
        if moved > QUIET_BYTES:
            count, since = now, clock()


class Watch:
    """Hears the observer script of one tab. Made by `on`."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._reached = {name: asyncio.Event() for name in ("text", "load")}
        self.times: dict[str, float] = {}
        """Seconds since navigation of "text" and "load"."""
        self.origin = 0.0
        """The navigation's start, seconds on the wall clock."""

    @classmethod
    async def on(cls, tab: Tab, *, text_length: int) -> Watch:
        """Watch the tab's coming documents; text is there at `text_length` characters."""
        watch = cls(tab)
        tab.on("Runtime.bindingCalled", watch._reported)
        await tab.call("Runtime.addBinding", name="benchReport", executionContextName=_WORLD)
        await tab.call(
            "Page.addScriptToEvaluateOnNewDocument",
            source=f"{_observer()}({text_length})",
            worldName=_WORLD,
        )
        return watch

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


def _box(rectangle: Sequence[float]) -> Box:
    """A rectangle in CSS pixels as a box of whole frame pixels inside it."""
    left, top, width, height = (value * CAPTURE_SCALE for value in rectangle)
    return Box(
        left=round(left + 0.49),
        top=round(top + 0.49),
        right=max(round(left + 0.49) + 1, round(left + width - 0.49)),
        bottom=max(round(top + 0.49) + 1, round(top + height - 0.49)),
    )


_TEXT_LENGTH: Final = """
fetch(location.href).then(answer => answer.text()).then(html => {
  const page = new DOMParser().parseFromString(html, 'text/html');
  const skipped = 'script,style,noscript,template,textarea';
  page.querySelectorAll(skipped).forEach(element => element.remove());
  return page.body.textContent.replace(/\\s+/g, '').length;
})"""

PICTURES: Final = """
/* Boxes of the pictures, CSS pixels: left, top, width, height. */
[...document.images].map(image => image.getBoundingClientRect())
  .filter(box => box.width >= 2 && box.height >= 2)
  .map(box => [box.x, box.y, box.width, box.height])"""

DECODED: Final = """
/* Resolves when no picture is being decoded any more. */
Promise.allSettled([...document.images].map(image => image.decode())).then(() => null)"""

# Moves the contents of every picture out of its box; box and background stay.
_BLANK: Final = """
{ const style = document.createElement('style');
  style.textContent = 'img { object-position: -9999px -9999px !important }';
  document.head.append(style); }"""
