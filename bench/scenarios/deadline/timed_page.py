"""Loads a page in Chromium within a time, through both proxies over an emulated link.

The proxies run in this process, with TLS between them through a relay in a process of its own, so
that the remote's choice can be asked for at the limit. What a reader sees then is the last frame
before it, picture by picture against the page as it ends up. Needs Chromium.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from bench.browsers.capture import Capture, Frame, capturing
from bench.browsers.visual import CAPTURE_SCALE, Scene, similarity
from bench.browsers.watch import PageWatch
from bench.origins.endpoint import PageAccess
from bench.origins.site import Address
from bench.pages.page_load import SETTLING, WIDTH, PageStudy, opened
from bench.pairs.pair import MEMORY, QUANTUM, Witness
from bench.pairs.peers import relay
from bench.scenarios.deadline import due_levels
from configuration import LocalSettings
from emulation.lines.profiles import Profile
from emulation.memory.secured import paired
from local_proxy.dialling.which_remote import Remote
from local_proxy.main import LocalProxy
from policies.api import Command, Event, Kind, Policy, Rule, SessionOpened, SessionView, SetPlan
from policies.builtin.default import Default
from policies.builtin.within import Within
from remote_proxy.jobs.services import Services
from remote_proxy.origin.client import Origin
from remote_proxy.reach.guard import Guard
from remote_proxy.server import RemoteServer
from transcoders.make.registry import Transcoders
from wire.skeleton import LEVELS

WITHIN: Final = "within"
"""In place of a fixed level: what fits into the time."""
NOTHING: Final = "none"
"""As a level: no pictures at all."""
FILMED: Final = 1.0
"""Seconds before the limit from which on there are frames: they cost processor time."""
_MEETING: Final = 30.0
"""Seconds for the proxies to find each other."""
_PATIENCE: Final = 60.0
"""Seconds after the limit for what is late."""


class FixedLevel:
    """Stops all pictures of all pages at one level."""

    name = "fixed-level"

    def __init__(self, level: Any) -> None:
        """`level`: as a rule of a plan has it."""
        self._rule = Rule(kind=Kind.IMAGE, level=level)

    def react(self, event: Event, view: SessionView) -> Sequence[Command]:
        return [SetPlan((self._rule,))] if isinstance(event, SessionOpened) else []


@dataclass(frozen=True, slots=True)
class TimedPage:
    """What came of one load."""

    link: str
    limit: float
    """Seconds from when the browser was told to go there."""
    way: str
    """WITHIN, or the level at which pictures stop."""
    text: float | None
    """Seconds until the text was readable."""
    came: float
    """Seconds until all that was due had come."""
    late: int
    """Pictures that did not have the level that was due by the limit."""
    levels: Mapping[str, int]
    """Pictures by the level that they had at the limit."""
    ssim: float
    """Mean over the pictures, of what was on the screen at the limit."""
    worst: float
    """The same of the picture that had least."""

    @property
    def in_time(self) -> bool:
        """All text was readable by the limit, and each picture had what was due."""
        return not self.late and self.text is not None and self.text <= self.limit

    def as_json(self) -> dict[str, Any]:
        """A row of the report."""
        return {
            "link": self.link,
            "limit_s": self.limit,
            "way": self.way,
            "in_time": self.in_time,
            "text_s": None if self.text is None else round(self.text, 2),
            "came_s": round(self.came, 2),
            "late": self.late,
            "levels": dict(self.levels),
            "ssim": round(self.ssim, 4),
            "worst_ssim": round(self.worst, 4),
        }


@dataclass(frozen=True, slots=True)
class PagePair:
    """Both proxies, with a browser's access to the pages."""

    server: RemoteServer
    witness: Witness
    access: PageAccess


async def timed_page(
    origin: Address, known: PageStudy, link: Profile, *, limit: float, way: str
) -> TimedPage:
    """One cold load. Raises BrowserError, OSError."""
    policy: Policy = Within(seconds=limit) if way == WITHIN else FixedLevel(way)
    async with _pair(origin, link, [Default(), policy]) as pair, opened(pair.access) as browser:
        tab = await browser.new_tab()
        await tab.viewport(width=WIDTH, height=known.height, scale=CAPTURE_SCALE)
        watch = await PageWatch.on(tab, text_length=known.text_length)
        width = round(WIDTH * CAPTURE_SCALE)
        async with capturing(tab, width=width, at_once=False) as capture:
            await asyncio.sleep(SETTLING)
            pair.access.rewind()
            loop = asyncio.get_running_loop()
            began, url = loop.time(), pair.access.base + known.page
            end = began + limit
            due: dict[int, str] = {}
            loop.call_at(end, _ask, pair, url, way, due)
            filming = asyncio.create_task(_film(capture, end - FILMED))
            await watch.navigate(url)
            await asyncio.sleep(end + FILMED - loop.time())  # a frame of before may be on its way
            await filming
            frames = [one for one in capture.frames if one.at <= watch.origin + limit]
        await watch.until("text", limit=_PATIENCE)
        pictures = due_levels.images(pair.witness) if way != NOTHING else []
        usual = "low" if way == WITHIN else way
        due = {one: due.get(one, usual) for one in pictures}
        others = dict.fromkeys(_others(pair.witness, url), "original")
        came = await due_levels.arrivals(pair.witness, due | others, end + _PATIENCE)
        text = watch.times.get("text")
    similar = await asyncio.to_thread(similarities, known.scene, frames)
    return TimedPage(
        link=link.name,
        limit=limit,
        way=way,
        text=text,
        came=max([*(at - began for at in came.values()), text or 0.0]),
        late=sum(came[one] > end for one in due),
        levels=Counter(_no_finer(due_levels.level_at(pair.witness, one, end), way) for one in due),
        ssim=statistics.mean(similar),
        worst=min(similar),
    )


def _no_finer(level: str, way: str) -> str:
    """What a picture has that stops at a fixed level: it counts as complete there."""
    stops = way in LEVELS and level in LEVELS and LEVELS.index(level) > LEVELS.index(way)
    return way if stops else level


async def _film(capture: Capture, at: float) -> None:
    """Begin at that time of the loop's clock."""
    await asyncio.sleep(max(0.0, at - asyncio.get_running_loop().time()))
    await capture.start()


def _others(witness: Witness, url: str) -> list[int]:
    """The page itself, and all of it but pictures."""
    document = witness.documents.get(url)
    pictures = due_levels.images(witness)
    return (
        []
        if document is None
        else [one for one in witness.components(document) if one not in pictures]
    )


def _ask(pair: PagePair, url: str, way: str, due: dict[int, str]) -> None:
    """At the limit: what the remote has chosen."""
    document = pair.witness.documents.get(url)
    if way == WITHIN and document is not None:
        due.update(due_levels.chosen(pair.server.sessions[0], pair.witness, document))


def similarities(scene: Scene, frames: Sequence[Frame]) -> list[float]:
    """SSIM of each picture in the last of these frames with how it ends up; 0 without a frame."""
    if not frames:
        return [0.0] * max(1, len(scene.boxes))
    shown = max(frames, key=lambda frame: frame.at).image()
    sized = scene.final.copy()
    sized.paste("white", (0, 0, *sized.size))
    sized.paste(shown)
    return [similarity(box.cut(sized), box.cut(scene.final)) for box in scene.boxes] or [1.0]


@asynccontextmanager
async def _pair(
    origin: Address, link: Profile, policies: Sequence[Policy]
) -> AsyncIterator[PagePair]:
    """Both proxies, connected over the link, with a witness among the policies."""
    security, ours = paired()
    async with contextlib.AsyncExitStack() as stack:
        to_origin = await stack.enter_async_context(Origin(guard=Guard(["127.0.0.0/8"])))
        services = Services(to_origin, Transcoders())
        stack.push_async_callback(services.close)
        server = RemoteServer(
            services, quantum=QUANTUM, memory=MEMORY, congestion="cubic", patience=0.0
        )
        stack.push_async_callback(server.close)
        listener = await stack.enter_async_context(
            await server.listen("127.0.0.1", 0, security=security)
        )
        wires = await stack.enter_async_context(relay(listener.address, link))
        host, port = wires.address
        settings = LocalSettings(listen="127.0.0.1:0", device="bench", security="none")
        witness = Witness()
        local = LocalProxy(settings, [*policies, witness], remote=Remote(f"{host}:{port}", ours))
        near = await local.listen()
        running = asyncio.create_task(local.run())
        stack.push_async_callback(_ended, running)
        if await local.uplink.wait_session(_MEETING) is None:
            raise OSError(f"the proxies did not meet: {local.uplink.state().reason}")
        yield PagePair(
            server,
            witness,
            PageAccess(
                base=f"http://{origin[0]}:{origin[1]}/",
                statistics=wires.statistics,
                proxy=f"http://{near[0]}:{near[1]}",
                rewind=wires.rewind,
            ),
        )


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
