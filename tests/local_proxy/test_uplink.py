"""Whoever needs a session waits for one, and never in a circle; ids outlive sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

from emulation.memory.memory import LinkModel, MemoryLink, memory_links
from emulation.memory.virtual_time import run as run_virtually
from local_proxy.link.components import Component
from local_proxy.link.session import LocalSession
from local_proxy.link.uplink import BACKOFF, DISTRUST, LASTS, Uplink
from transport.link.interface import Link, LinkError, NotTrusted
from wire import messages as m
from wire.fields import Headers
from wire.frames import Control


class Silent:
    """A remote that can say hello and nothing else."""

    quantum = 1024

    def __init__(self, link: MemoryLink) -> None:
        self.link = link
        self.said = [Control(m.encode(m.Hello([1], "test")))]
        link.start(self, self)

    def next_frame(self, *, now: float, urgent: bool) -> Control | None:
        return self.said.pop() if self.said else None

    def frames_received(self, frames: object, *, now: float) -> None:
        assert frames

    def link_closed(self, error: LinkError | None) -> None:
        self.said.clear()


class Ear:
    """A listener that passes on what the uplink must know."""

    def __init__(self) -> None:
        self.uplink: Uplink | None = None
        self.closed = 0

    def session_opened(self, session: LocalSession) -> None:
        assert self.uplink is not None
        self.uplink.opened()

    def skeleton_grew(
        self, document: int, components: list[Component], headers: Headers, promised: bool
    ) -> None: ...

    def placed(self, document: int, components: list[Component]) -> None:
        pass

    def progressed(self, component: Component, amount: int) -> None: ...

    def expired(self, fetch: m.Expired) -> None: ...
    def guaranteed(self, path: Sequence[str], rate: float, *, held: bool) -> None: ...

    def too_soon(self, document: int, earliest: float) -> None: ...
    def refused(self, number: int, reason: str) -> None: ...
    def noticed(self, text: str) -> None: ...

    def session_closed(self, session: LocalSession, error: LinkError | None) -> None:
        self.closed += 1


def test_a_request_in_the_very_moment_of_the_loss_waits_for_the_next_session() -> None:
    async def go() -> None:
        remotes: list[Silent] = []

        async def dial() -> Link:
            near, far = memory_links(LinkModel(rate_up=1e5, rate_down=1e5, delay=0.01))
            remotes.append(Silent(far))
            return near

        ear = Ear()
        uplink = ear.uplink = Uplink(dial, ear, remote=lambda: "test", device="test")
        running = asyncio.ensure_future(uplink.run())
        first = await uplink.wait_session(10.0)
        assert first is not None
        first.new_id()
        first.close()
        assert uplink.session is None
        second = await uplink.wait_session(10.0)  # at once: nobody has tidied up yet
        assert second is not None
        assert second is not first
        assert second.new_id() == 3
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert ear.closed == 2

    run_virtually(go())


def test_the_back_off_grows_unless_somebody_waits() -> None:
    async def go() -> None:
        attempts: list[float] = []
        clock = asyncio.get_running_loop().time

        async def refused() -> Link:
            attempts.append(clock())
            raise LinkError("refused")

        ear = Ear()
        uplink = ear.uplink = Uplink(refused, ear, remote=lambda: "test", device="test")
        running = asyncio.ensure_future(uplink.run())
        await asyncio.sleep(60.0)
        apart = [b - a for a, b in pairwise(attempts)]
        assert apart[:6] == sorted(apart[:6])
        assert max(apart) <= BACKOFF[-1] + 0.01
        before = len(attempts)
        assert await uplink.wait_session(5.0) is None
        assert len(attempts) - before >= 8  # every half second while somebody waits
        assert uplink.state().reason == "refused"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtually(go())


def test_sessions_that_do_not_last_are_tried_ever_more_rarely_until_one_does() -> None:
    async def go() -> None:
        began: list[float] = []
        ends_after = 0.1

        async def dial() -> Link:
            near, far = memory_links(LinkModel(rate_up=1e5, rate_down=1e5, delay=0.01))
            Silent(far)
            began.append(asyncio.get_running_loop().time())
            asyncio.get_running_loop().call_later(ends_after, far.close)
            return near

        ear = Ear()
        uplink = ear.uplink = Uplink(dial, ear, remote=lambda: "test", device="test")
        running = asyncio.ensure_future(uplink.run())
        await asyncio.sleep(60.0)
        apart = [b - a - ends_after for a, b in pairwise(began)]
        assert all(abs(real - said) < 0.1 for real, said in zip(apart, BACKOFF, strict=False))
        assert len(began) < 15
        ends_after = LASTS + 1.0
        await asyncio.sleep(40.0)
        last = began[-1] - began[-2] - ends_after
        assert abs(last - BACKOFF[0]) < 0.1
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtually(go())


def test_a_remote_that_does_not_know_us_is_asked_once_a_minute_and_nobody_waits() -> None:
    async def go() -> None:
        attempts: list[float] = []
        clock = asyncio.get_running_loop().time

        async def refused() -> Link:
            attempts.append(clock())
            if len(attempts) % 2:
                raise NotTrusted("not the remote")
            near, _ = memory_links(LinkModel(rate_up=1e5, rate_down=1e5, delay=0.01))
            asyncio.get_running_loop().call_soon(near.close, NotTrusted("who are you?"))
            return near

        ear = Ear()
        uplink = ear.uplink = Uplink(refused, ear, remote=lambda: "test", device="test")
        running = asyncio.ensure_future(uplink.run())
        before = clock()
        assert await uplink.wait_session(600.0) is None
        assert not await uplink.wait_connected(600.0)
        assert clock() - before < 1.0  # told the reason, and not kept waiting
        assert uplink.state().reason == "not the remote"
        await asyncio.sleep(200.0)
        assert uplink.state().reason == "who are you?"
        assert len(attempts) == 4
        assert all(b - a >= DISTRUST for a, b in pairwise(attempts))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtually(go())
