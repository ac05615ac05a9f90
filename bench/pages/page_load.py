"""Measures one cold page load in Chromium as a reader sees it.

First `study` loads the page over no slow link at all and keeps what it ends up as. Then `load`
measures: text readable, every picture painted, good, final, the load event, Speed Index, bytes.
What Chromium asks for on its own account is counted apart (bench/browsers/chatter.py).

text      the parser has reached the end of the text, style sheets apply, and a frame was produced
painted   Chromium's clock (Element Timing), where a frame bears it out; else a frame
good, final               from pixels: bench/browsers/visual.py
pixels_90 nine tenths of the pixels that the page paints show their last colour, and stay so
load      the document's load event

The browser draws at CAPTURE_SCALE, as it is filmed: at full scale a page of 15,000 pixels took its
software renderer 150-200 ms a frame, which delayed the page under test. Layout is the same in CSS
pixels; only pictures that are chosen by the screen's density may differ.

Knows Chromium and an endpoint (where the page is, by which proxy); not what the endpoint consists
of. DOMContentLoaded is no measure of text: a script at the end of the body delays it, not the text.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cryptography import x509

from bench.browsers import chatter
from bench.browsers.capture import Capture, Frame, capturing
from bench.browsers.cdp import CdpBrowser, Tab, launch
from bench.browsers.visual import CAPTURE_SCALE, FrameBox, Moment, PictureState, Scene
from bench.browsers.watch import SHOWN, PageWatch
from bench.origins.endpoint import PageAccess
from bench.pages.page_result import PageLoad, earliest_paint
from bench.reports.har import HarRecorder
from local_proxy.front.tls.certificates import spki_sha256

WIDTH: Final = 1280
"""CSS pixels of the viewport. It is as high as the page, so that every picture is in view."""
QUIET: Final = 2.0
"""Seconds without traffic after the load event that end a load."""
QUIET_BYTES: Final = 4096
"""Less than this within QUIET is a heartbeat, not a page."""
SETTLING: Final = 1.5
"""Seconds a new browser is left alone before it is told to go anywhere. Its own start takes both of
two processors for about as long, which delays whoever answers there, a pair of proxies most."""
UNFILMED: Final = 1.0
"""Seconds without frames, unless all pictures are there before: frames would delay both text and
pictures (bench/browsers/capture.py), and Chromium has a clock for the two."""
DRAWING: Final = 1.5
"""Seconds given to decoding and drawing after a load; 0.3 is too little on a busy machine. To ask
pictures whether they are decoded would not do: it has Chromium decode them in full, and what was
decoded in full it scales down otherwise than what it decodes as small as it is drawn, by a mean of
1.2 of 255, so that two loads of one page differed in a picture."""
DRAWN_WITHIN: Final = 10.0
"""Seconds after which a picture that Chromium has not painted counts as none: where others have the
processors, it has painted a picture that was there long ago later than DRAWING."""
LIMIT: Final = 400.0
"""Seconds after which a load is given up; the slowest direct load of the corpus takes 300."""
CLOCKS: Final = 0.02
"""Seconds by which a frame's time and a first paint's may differ: about one display's frame."""


@dataclass(frozen=True, slots=True)
class PageStudy:
    """What is known of a page before it is measured."""

    page: str
    height: int
    """CSS pixels at WIDTH."""
    text_length: int
    """Characters that are not white space, of the HTML as it comes from the origin."""
    scene: Scene


@asynccontextmanager
async def opened(endpoint: PageAccess, *flags: str) -> AsyncIterator[CdpBrowser]:
    """A Chromium that reaches the endpoint and nothing else. `flags`: beside the endpoint's."""
    extra = (*endpoint.browser_flags, *_trust(endpoint.authority), *flags)
    async with launch(
        proxy=endpoint.proxy, resolve=endpoint.resolve, extra=extra, host=endpoint.host
    ) as browser:
        yield browser


def _trust(authority: bytes | None) -> tuple[str, ...]:
    """What makes Chromium accept certificates of an authority that the system knows not."""
    if authority is None:
        return ()
    key = spki_sha256(x509.load_pem_x509_certificate(authority))
    return (f"--ignore-certificate-errors-spki-list={key}",)


async def study(endpoint: PageAccess, page: str) -> PageStudy:
    """Learn what `page` (a path below the base) ends up as. `endpoint` should be fast."""
    async with opened(endpoint) as browser:
        tab = await browser.new_tab()
        await tab.viewport(width=WIDTH, height=1000, scale=CAPTURE_SCALE)
        watch = await PageWatch.on(tab, text_length=0)
        await watch.navigate(endpoint.base + page)
        await watch.until("load", limit=60)
        height = int(await tab.evaluate("document.documentElement.scrollHeight"))
        text_length = int(await tab.evaluate(_TEXT_LENGTH))
        await tab.viewport(width=WIDTH, height=height, scale=CAPTURE_SCALE)
        async with capturing(tab, width=round(WIDTH * CAPTURE_SCALE)) as capture:
            await watch.navigate(endpoint.base + page)
            await watch.until("load", limit=60)
            boxes = [_box(rectangle) for rectangle in await tab.evaluate(PICTURES)]
            await watch.until_painted(len(boxes), limit=DRAWN_WITHIN)
            await asyncio.sleep(DRAWING)
            final = await capture.current()
            await tab.evaluate(_BLANK)
            await asyncio.sleep(0.5)
            blank = await capture.current()
    scene = Scene(final=final.image(), blank=blank.image(), boxes=boxes)
    return PageStudy(page, height, text_length, scene)


async def load(
    endpoint: PageAccess,
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
    with TemporaryDirectory(prefix="bench-netlog-") as folder:
        log = Path(folder, "net.json")
        async with opened(endpoint, f"{chatter.FLAG}{log}") as browser:
            view = await TabView.on(await browser.new_tab())
            found = await view.visit(
                endpoint, known, peer=peer, policy=policy, limit=limit, quiet=quiet
            )
        written = await asyncio.to_thread(chatter.read, log)
    if written is None or found.requests is None:
        return found
    return replace(found, chatter=chatter.chatter(written, page=found.requests.hosts))


class TabView:
    """A tab that is looked at while it loads one page or several in a row. Made by `on`."""

    def __init__(self, tab: Tab, watch: PageWatch, recorder: HarRecorder) -> None:
        self._tab = tab
        self._watch = watch
        self._recorder = recorder
        self._visited = False
        """There is a page before, which stays in sight until the next one paints."""

    @classmethod
    async def on(cls, tab: Tab) -> TabView:
        return cls(tab, await PageWatch.on(tab, text_length=0), await HarRecorder.on(tab))

    async def visit(
        self,
        endpoint: PageAccess,
        known: PageStudy,
        *,
        peer: str,
        policy: str = "",
        limit: float = LIMIT,
        quiet: float = QUIET,
    ) -> PageLoad:
        """Navigate and measure, with whatever the browser has in its cache. Raises BrowserError."""
        tab, watch = self._tab, self._watch
        await tab.viewport(width=WIDTH, height=known.height, scale=CAPTURE_SCALE)
        await watch.expect(known.text_length)
        endpoint.rewind()
        width = round(WIDTH * CAPTURE_SCALE)
        async with capturing(tab, width=width, at_once=False) as capture:
            await asyncio.sleep(SETTLING)
            before = endpoint.statistics()
            async with _filming(capture, watch, len(known.scene.boxes)):
                await watch.navigate(endpoint.base + known.page)
                await until_quiet(endpoint, watch, limit=limit, quiet=quiet)
            after = endpoint.statistics()
            last = await _drawn(capture, watch, known.scene)
            said = await watch.painted()
        first_paint, load_s = (watch.times.get(name) for name in ("first-paint", "load"))
        frames = self._of_this_page(capture.frames, last, first_paint)
        moments = await asyncio.to_thread(judge, known.scene, frames)
        self._visited = True
        return PageLoad(
            peer=peer,
            page=known.page,
            policy=policy,
            text_s=watch.times.get("text"),
            load_s=load_s,
            bytes_down=after.bytes_down - before.bytes_down,
            bytes_up=after.bytes_up - before.bytes_up,
            connections=after.connections,
            moments=moments,
            frames=frames,
            said=said,
            first_paint_s=earliest_paint(first_paint, moments),
            requests=self._recorder.take(f"{known.page}, {peer}", load_s=load_s),
        )

    def _of_this_page(
        self, frames: Sequence[Frame], last: Frame, first_paint: float | None
    ) -> list[Frame]:
        origin, before_it = self._watch.origin, first_paint if self._visited else None
        found = in_order(frames, origin=origin, first_paint=before_it)
        # What came whole from the cache did so in the frame that counts as the page before's.
        return found or [Frame(first_paint or max(0.0, last.at - origin), last.jpeg)]


@asynccontextmanager
async def _filming(capture: Capture, watch: PageWatch, pictures: int) -> AsyncIterator[None]:
    """From the moment that all pictures are painted on, or what there is when that takes long."""

    async def film() -> None:
        await watch.until_painted(pictures, limit=UNFILMED)
        await capture.start()

    task = asyncio.create_task(film())
    try:
        yield
    finally:
        task.cancel()


async def _drawn(capture: Capture, watch: PageWatch, scene: Scene) -> Frame:
    """The frame of a page that has loaded: its pictures are final, or it stays as it is."""
    clock = asyncio.get_running_loop().time
    end = clock() + DRAWN_WITHIN
    await watch.until_painted(len(scene.boxes), limit=DRAWN_WITHIN)
    await asyncio.sleep(DRAWING)
    last = await capture.current()
    while clock() < end and not await asyncio.to_thread(_is_final, scene, last):
        before = last
        await asyncio.sleep(DRAWING)
        last = await capture.current()
        if last.jpeg == before.jpeg:
            break
    return last


def in_order(
    frames: Sequence[Frame], *, origin: float, first_paint: float | None = None
) -> list[Frame]:
    """Frames since `origin`, seconds on the wall clock, by their times; two may swap on arrival.

    `first_paint`: seconds from there until which they show the page before, and are left out.
    """
    begin = origin + max(0.0, (first_paint or 0.0) - CLOCKS)
    since = [Frame(frame.at - origin, frame.jpeg) for frame in frames if frame.at > begin]
    return sorted(since, key=lambda frame: frame.at)


def judge(scene: Scene, frames: Sequence[Frame]) -> list[Moment]:
    """What each frame shows; seconds of processor time for a long page."""
    return [scene.judge(frame.image(), at=frame.at) for frame in frames]


def _is_final(scene: Scene, frame: Frame) -> bool:
    (moment,) = judge(scene, [frame])
    return moment.share(PictureState.FINAL) == 1.0


async def until_quiet(
    endpoint: PageAccess, watch: PageWatch, *, limit: float, quiet: float
) -> None:
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


def _box(rectangle: Sequence[float]) -> FrameBox:
    """A rectangle in CSS pixels as a box of whole frame pixels inside it."""
    left, top, width, height = (value * CAPTURE_SCALE for value in rectangle)
    return FrameBox(
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

PICTURES: Final = f"""
/* Boxes of the pictures, CSS pixels: left, top, width, height. */
{SHOWN}.map(image => image.getBoundingClientRect())
  .map(box => [box.x, box.y, box.width, box.height])"""

# Moves the contents of every picture out of its box; box and background stay.
_BLANK: Final = """
{ const style = document.createElement('style');
  style.textContent = 'img { object-position: -9999px -9999px !important }';
  document.head.append(style); }"""
