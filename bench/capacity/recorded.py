"""Records all that a device says over its link while it loads pages, and says it again later.

A device of this process costs about as much of a processor as a remote does. Where it is the
remote's work that is to be measured, what one has said is said again by something that costs next
to nothing: it reports what has come as any end of a link does, and looks at no byte of it.

A message is said once as many components have ended as had when it was recorded, so a slow remote
is asked slowly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.origins import scripted
from bench.origins.endpoint import PageAccess, no_link
from bench.origins.site import Address
from bench.pairs.pair import Tap
from bench.pairs.processes import text
from configuration import LocalSettings
from local_proxy.dialling.dialer import Dialer
from local_proxy.dialling.which_remote import Remote
from local_proxy.main import LocalProxy
from pairing.identity import device_identity
from pairing.invitation import Invitation
from policies.builtin.default import Default
from transport.link.interface import Link, LinkError
from transport.tcp.security import ClientSecurity
from wire.frames import PADDING, Control, Data

QUIET: Final = 1.0
"""Seconds without a byte on the link after which a page is over."""
STALLED: Final = 5.0
"""Seconds without one, after which the next message is said whatever has ended."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message or a part of an upload."""

    frame: Data | Control
    after: int
    """Components that had ended."""


@dataclass(frozen=True, slots=True)
class Recording:
    """All that one session has said."""

    said: Sequence[Said]
    ended: int
    """Components that had ended at last."""
    pages: int


class _Recorder(Tap):
    """A link, whose session's words are noted."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self.words: list[Said] = []
        self.ended = 0
        self.heard_at = 0.0

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        frame = super().next_frame(now=now, urgent=urgent)
        if frame is not None:
            self.words.append(Said(frame, self.ended))
        return frame

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        self.ended += _endings(frames)
        self.heard_at = now
        super().frames_received(frames, now=now)


class SpokenAgain:
    """Says it again, over another link."""

    def __init__(self, link: Link, recording: Recording) -> None:
        self._link = link
        self._said = recording.said
        self._all = recording.ended
        self._at = 0
        self._ended = 0
        self._heard = asyncio.Event()
        self._error: LinkError | None = None
        self._over = False
        self.stalls = 0
        """Times that a message was said before as much had ended as when it was recorded."""

    quantum = 1024

    async def run(self) -> None:
        """Until all has ended that had when it was recorded. Raises LinkError."""
        self._link.start(self, self)
        while not self._over:
            self._heard.clear()
            try:
                async with asyncio.timeout(STALLED):
                    await self._heard.wait()
            except TimeoutError:
                self.stalls += 1
                if self._at == len(self._said):
                    break
                self._ended = max(self._ended, self._said[self._at].after)
                self._link.wake()
        self._link.close()
        if self._error is not None:
            raise self._error

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        """The next message, if it is its turn."""
        if self._at == len(self._said):
            return None
        said = self._said[self._at]
        if said.after > self._ended or (urgent and isinstance(said.frame, Data)):
            return None
        self._at += 1
        return said.frame

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        """Some have ended, perhaps."""
        self._ended += _endings(frames)
        self._over = self._at == len(self._said) and self._ended >= self._all
        self._heard.set()
        self._link.wake()

    def link_closed(self, error: LinkError | None) -> None:
        self._error, self._over = error, True
        self._heard.set()


def _endings(frames: Sequence[Data | Control]) -> int:
    return sum(isinstance(one, Data) and one.last and one.component != PADDING for one in frames)


async def record(
    at: Address, invitation: Invitation, origin: Address, visits: Sequence[int]
) -> Recording:
    """One session of a device that loads these visits, one after the other. Raises OSError."""
    recorders: list[_Recorder] = []
    dialer = _dialer(at, invitation)

    async def connect() -> Link:
        recorders.append(_Recorder(await dialer.dial()))
        return recorders[-1]

    settings = LocalSettings(listen="127.0.0.1:0", security="none")
    local = LocalProxy(settings, [Default()], remote=_known(at, invitation), connect=connect)
    there = PageAccess(
        base=f"http://{text(origin)}/",
        statistics=no_link,
        proxy=f"http://{text(await local.listen())}",
    )
    running = asyncio.create_task(local.run())
    try:
        for visit in visits:
            await scripted.fetch_page(there, f"{visit}/index.html", navigates=True)
            await _quiet(recorders[0])
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    (recorder,) = recorders
    return Recording(recorder.words, recorder.ended, len(visits))


async def replayed(at: Address, invitation: Invitation, recording: Recording) -> int:
    """Say it to the remote there, as that device; times it stalled. Raises LinkError, OSError."""
    replay = SpokenAgain(await _dialer(at, invitation).dial(), recording)
    await replay.run()
    return replay.stalls


async def _quiet(recorder: _Recorder) -> None:
    clock = asyncio.get_running_loop().time
    while True:
        left = recorder.heard_at + QUIET - clock()
        if left <= 0:
            return
        await asyncio.sleep(left)


def _dialer(at: Address, invitation: Invitation) -> Dialer:
    return Dialer(
        LocalSettings(security="none"),
        _known(at, invitation),
        congestion="",
        patience=60.0,
        on_change=lambda _: None,
        expecting=lambda: False,
    )


def _known(at: Address, invitation: Invitation) -> Remote:
    identity = device_identity(invitation.seed)
    return Remote(text(at), ClientSecurity(identity.pem, pin=invitation.pin))
