"""Both ends of a session with a picture in levels, as tests of these need them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence

from emulation.memory.memory import MemoryLink
from local_proxy.http.model import Response
from local_proxy.link.components import Component
from local_proxy.link.session import LocalSession
from transport.link.interface import LinkError
from wire import messages as m
from wire.fields import Headers
from wire.frames import Control
from wire.skeleton import Level

URL = "http://a.test/p.jpg"
IMAGE = [("accept", "image/avif,image/*,*/*;q=0.8")]
JPEG = "image/jpeg"
END = b"\xff\xd9"
LEVELS = (
    Level("low", 0, 3, JPEG, END),
    Level("medium", 0, 5, JPEG, END),
    Level("original", 0, 9, JPEG),
)
DATA = b"abcdefg" + END


async def text_of(response: Response | None) -> bytes:
    assert response is not None
    if isinstance(response.body, bytes):
        return response.body
    return b"".join([chunk async for chunk in response.body])


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def run(work: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


class Remote:
    """Says all it has to say, and hears nothing."""

    quantum = 1024

    def __init__(self, link: MemoryLink, said: list[m.Message]) -> None:
        self.frames = [Control(m.encode(message)) for message in said]
        link.start(self, self)

    def next_frame(self, *, now: float, urgent: bool) -> Control | None:
        return self.frames.pop(0) if self.frames else None

    def frames_received(self, frames: object, *, now: float) -> None: ...

    def link_closed(self, error: LinkError | None) -> None: ...


class Ear:
    """Keeps what was promised."""

    def __init__(self) -> None:
        self.promised: list[Component] = []
        self.heads = asyncio.Event()

    def session_opened(self, session: LocalSession) -> None: ...

    def skeleton_grew(
        self, document: int, components: list[Component], headers: Headers, promised: bool
    ) -> None:
        self.promised += components

    def placed(self, document: int, components: list[Component]) -> None:
        pass

    def progressed(self, component: Component, amount: int) -> None:
        if component.head is not None:
            self.heads.set()

    def expired(self, fetch: m.Expired) -> None: ...
    def guaranteed(self, path: Sequence[str], rate: float, *, held: bool) -> None: ...

    def too_soon(self, document: int, earliest: float) -> None: ...
    def refused(self, number: int, reason: str) -> None: ...
    def noticed(self, text: str) -> None: ...

    def session_closed(self, session: LocalSession, error: LinkError | None) -> None: ...
