"""Both proxies in one process, joined by an emulated link: the real engines, nothing copied.

    async with memory_pair(model, services, policies) as pair:      virtual time
    async with tcp_pair(profile, services, policies) as pair:       kernel TCP through the relay
        await pair.load("http://origin/")
        pair.tap.arrivals       every frame, as it came out of the link at the receiver
        pair.witness            which component is whose, and when it reached which level

Policies run in the real PolicyRuntime. In virtual time they react on the loop, since a thread has
no place there. No browser and no HTTP front take part.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from bench.pairs.peers import relay
from configuration import LocalSettings
from emulation.lines.profiles import Profile
from emulation.memory.memory import LinkModel, MemoryLink, memory_links
from emulation.memory.secured import paired
from emulation.relay.relay import Relay
from local_proxy.http.model import Request
from local_proxy.main import LocalProxy
from local_proxy.policy.worker import Job, PolicyWorker, Worker
from policies.api import (
    Command,
    DocumentOpened,
    Event,
    Policy,
    Progress,
    SessionView,
    SkeletonGrew,
)
from remote_proxy.jobs.services import Services
from remote_proxy.server import RemoteServer
from remote_proxy.session import RemoteSession
from transport.link.interface import Inbox, Link, LinkError, LinkStatistics, Outbox
from transport.stream.dialling_end import LastingLink
from transport.tcp.handshakes import dial_secured
from wire.frames import Control, Data
from wire.skeleton import LEVELS, Part

MEMORY: Final = 64 << 20
QUANTUM: Final = 1024
"""Bytes before the link has been measured, as configuration.py has them."""
CONTROL: Final = -1
"""In place of a component: a control message."""
_PATIENCE: Final = 30.0
"""Seconds for the proxies to find each other."""
_LOOK_EVERY: Final = 0.1
_TOO_LATE_MS: Final = 5.0
"""Milliseconds of the relay's lateness, 99th percentile, above which a run measured the machine."""
_ATTEMPTS: Final = 3
_NAVIGATION: Final = [
    ("accept", "text/html,application/xhtml+xml"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("sec-fetch-dest", "document"),
    ("sec-fetch-mode", "navigate"),
    ("upgrade-insecure-requests", "1"),
]


class FrameArrival(NamedTuple):
    """One frame at the receiver."""

    at: float
    component: int
    size: int
    """Bytes of payload."""


class Tap:
    """A link that notes what comes out of it before the session hears of it, and what goes in."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._inbox: Inbox | None = None
        self._outbox: Outbox | None = None
        self.arrivals: list[FrameArrival] = []
        self.heard: list[bytes] = []
        """Control messages that came out."""
        self.said = 0
        """Bytes of frames that went in, but for their headers."""

    def start(
        self, outbox: Outbox, inbox: Inbox, *, competes: Callable[[], bool] = lambda: True
    ) -> None:
        self._inbox, self._outbox = inbox, outbox
        self._link.start(self, self, competes=competes)

    @property
    def quantum(self) -> int:
        assert self._outbox is not None
        return self._outbox.quantum

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        assert self._outbox is not None
        frame = self._outbox.next_frame(now=now, urgent=urgent)
        self.said += len(frame.payload) if frame is not None else 0
        return frame

    def wake(self) -> None:
        self._link.wake()

    def close(self, error: LinkError | None = None) -> None:
        self._link.close(error)

    def statistics(self) -> LinkStatistics:
        return self._link.statistics()

    @property
    def received(self) -> int:
        """Bytes that came out, but for padding, which is no use of a link."""
        statistics = self._link.statistics()
        return statistics.received - statistics.padding_received

    @property
    def sent(self) -> int:
        """Bytes that went in, but for padding."""
        statistics = self._link.statistics()
        return statistics.sent - statistics.padding_sent

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        for frame in frames:
            component = frame.component if isinstance(frame, Data) else CONTROL
            self.arrivals.append(FrameArrival(now, component, len(frame.payload)))
            if isinstance(frame, Control):
                self.heard.append(frame.payload)
        assert self._inbox is not None
        self._inbox.frames_received(frames, now=now)

    def link_closed(self, error: LinkError | None) -> None:
        assert self._inbox is not None
        self._inbox.link_closed(error)


class Witness:
    """A policy that commands nothing and remembers what it hears."""

    name = "witness"

    def __init__(self) -> None:
        self.documents: dict[str, int] = {}
        """By URL."""
        self.document_of: dict[int, int] = {}
        """By component."""
        self.parts: dict[int, Part] = {}
        self.reached: dict[tuple[int, str], float] = {}
        """When a component had a level; all of them once it is complete. The loop's clock."""

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case DocumentOpened(document, url):
                self.documents[url] = document
            case SkeletonGrew(document, parts):
                for part in parts:
                    self.document_of[part.component] = document
                    self.parts[part.component] = part
            case Progress(component, level=level, complete=complete):
                known = LEVELS if complete else LEVELS[: LEVELS.index(level) + 1] if level else ()
                for name in known:
                    self.reached.setdefault((component, name), view.now)
        return ()

    def components(self, document: int) -> list[int]:
        """All that is known of a document, the page itself among them."""
        return [one for one, owner in self.document_of.items() if owner == document]

    def when(self, document: int, level: str = "original") -> float | None:
        """When every component of the document had that level; None: not yet."""
        times = [self.reached.get((one, level)) for one in self.components(document)]
        return None if not times or None in times else max(time for time in times if time)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two proxies that are connected to each other."""

    local: LocalProxy
    remote: RemoteSession
    tap: Tap
    witness: Witness
    relay: Relay | None = None

    async def load(self, url: str) -> int:
        """Navigate as a browser does and read the page itself to its end; its document."""
        response = await self.local.core.handle(Request("GET", url, list(_NAVIGATION)))
        if response.status != 200:
            raise LinkError(f"{url}: {response.status}")
        if not isinstance(response.body, bytes):
            async for _ in response.body:
                pass
        return self.witness.documents[url]

    async def complete(self, *documents: int) -> None:
        """Until all that is known of these documents is here."""
        while any(  # noqa: ASYNC110  # the witness hears in a thread of its own
            self.witness.when(document) is None for document in documents
        ):
            await asyncio.sleep(_LOOK_EVERY)

    def focus(self, document: int) -> None:
        """The user brings a document to the front."""
        self.local.tracker.focus(document, True)


class OnTheLoop:
    """Lets policies react at once, on the loop."""

    def submit(self, job: Job) -> None:
        job()

    def spent(self) -> float:
        return 0.0

    def stop(self) -> None:
        pass

    def abandon(self) -> bool:
        return False


@asynccontextmanager
async def memory_pair(
    model: LinkModel,
    services: Services,
    policies: Sequence[Policy],
    *,
    tap: Callable[[Link], Tap] = Tap,
    far_end: Callable[[MemoryLink], Link] = lambda link: link,
) -> AsyncIterator[Pair]:
    """Joined by a modelled link; for emulation.memory.virtual_time. `policies`: none for the
    default. `far_end`: what the remote gets in place of its end of the link."""
    server = server_of(services)
    near, far = memory_links(model)

    async def dial() -> Link:
        server.accept(far_end(far))
        return near

    async with connected(server, dial, policies, OnTheLoop, tap=tap, jpegtran=None) as pair:
        yield pair


@asynccontextmanager
async def tcp_pair(
    profile: Profile, services: Services, policies: Sequence[Policy], *, secure: bool = False
) -> AsyncIterator[Pair]:
    """Joined by kernel TCP through a relay in a process of its own. Raises OSError, LinkError.

    `secure`: by TLS over it; without, figures compare with those of the bare protocol.
    """
    server = server_of(services)
    security = paired() if secure else None
    server_side, client_side = security if security else (None, None)
    async with (
        await server.listen("127.0.0.1", 0, security=server_side) as listener,
        relay(listener.address, profile) as link,
    ):

        async def dial() -> Link:
            lasting = LastingLink(
                lambda: dial_secured(*link.address, security=client_side),
                congestion="cubic",
                patience=0.0,
                on_change=lambda error: None,
            )
            return await lasting.open()

        async with connected(server, dial, policies, PolicyWorker, link) as pair:
            yield pair


def undisturbed(measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The first of three runs with a punctual relay; failing that, the one with the most punctual.

    A row has `relay_late_ms`: the relay's lateness, its median, 99th percentile and most.
    """
    rows: list[dict[str, Any]] = []
    for _ in range(_ATTEMPTS):
        rows.append(measure())
        if rows[-1]["relay_late_ms"][1] <= _TOO_LATE_MS:
            break
    best = min(rows, key=lambda row: float(row["relay_late_ms"][1]))
    return {**best, "attempts": len(rows)}


def server_of(services: Services) -> RemoteServer:
    """A remote proxy with these services, that listens nowhere."""
    return RemoteServer(services, quantum=QUANTUM, memory=MEMORY, congestion="cubic", patience=0.0)


@asynccontextmanager
async def connected(
    server: RemoteServer,
    dial: Callable[[], Awaitable[Link]],
    policies: Sequence[Policy],
    worker: Callable[[], Worker],
    relay: Relay | None = None,
    *,
    tap: Callable[[Link], Tap] = Tap,
    jpegtran: str | None = shutil.which("jpegtran"),
    congestion: str = "cubic",
) -> AsyncIterator[Pair]:
    """A device's proxy and the remote's, once `dial` has given `server` its end of their link.

    `congestion`: the device's setting. `jpegtran`: the device's; None in virtual time, where child
    processes have no place.
    """
    taps: list[Tap] = []
    witness = Witness()

    async def tapped() -> Link:
        if taps:
            raise LinkError("the link was lost, and a measurement has but one")
        taps.append(tap(await dial()))
        return taps[0]

    settings = LocalSettings(device="bench", security="none", congestion=congestion)
    local = LocalProxy(
        settings, [*policies, witness], connect=tapped, worker=worker, jpegtran=jpegtran
    )
    running = asyncio.create_task(local.run())
    try:
        if await local.uplink.wait_session(_PATIENCE) is None:
            raise LinkError(f"the proxies did not find each other: {local.uplink.state().reason}")
        yield Pair(local, server.sessions[0], taps[0], witness, relay)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await server.close()
