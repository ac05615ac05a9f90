"""A remote proxy that says what the test says, at the other end of a link in virtual time."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from emulation.memory.memory import LinkModel, MemoryLink, memory_links
from local_proxy.link.components import Component
from local_proxy.link.session import LocalSession
from local_proxy.link.uplink import Uplink
from transport.link.interface import Link, LinkError
from wire import abilities
from wire import messages as m
from wire.fields import Headers
from wire.frames import Control, Data
from wire.session import Session, Side

PIECE = 1024
"""Bytes of a component that are sent at a time."""
MOMENT = 0.5
"""Seconds of virtual time in which whatever was said has come."""
ACCEPTS = (
    abilities.GROWING,
    abilities.NOTICES,
    abilities.DECISIONS,
    abilities.APPLICATIONS,
    abilities.STOPPED,
    abilities.TREE,
)
M = TypeVar("M", bound=m.Message)
Answer = Callable[["ScriptedRemote", m.Request, Headers], None]


class ScriptedRemote:
    """Notes what it hears; answers requests as `answer` does, or not at all."""

    quantum = PIECE

    def __init__(
        self, link: MemoryLink, answer: Answer | None, *, accepts: Sequence[str] = ACCEPTS
    ) -> None:
        self.session = Session(Side.REMOTE, agent="test", accepts=accepts)
        self.heard: list[m.Message] = []
        self.fields: dict[int, Headers] = {}
        """Of the requests, by component."""
        self.uploaded: dict[int, bytes] = defaultdict(bytes)
        self.ended: set[int] = set()
        """Components whose upload has come to its end."""
        self.answer = answer
        self._link = link
        self._data: deque[Data] = deque()
        link.start(self, self)

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        payload = self.session.next_control()
        if payload is not None:
            return Control(payload)
        return self._data.popleft() if self._data and not urgent else None

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        for frame in frames:
            if isinstance(frame, Data):
                self.uploaded[frame.component] += frame.payload
                if frame.last:
                    self.ended.add(frame.component)
                continue
            message, headers = self.session.receive(frame.payload)
            self.heard.append(message)
            if isinstance(message, m.Request):
                self.fields[message.component] = headers
                if self.answer is not None:
                    self.answer(self, message, headers)
        self._link.wake()

    def link_closed(self, error: LinkError | None) -> None:
        self.session.link_lost()

    def of(self, kind: type[M]) -> list[M]:
        """What it has heard of that sort."""
        return [message for message in self.heard if isinstance(message, kind)]

    @property
    def asked(self) -> list[m.Request]:
        """The requests, the latest last."""
        return self.of(m.Request)

    def say(self, message: m.Message, headers: Headers | None = None) -> None:
        self.session.enqueue(message, headers)
        self._link.wake()

    def head(
        self, component: int, status: int = 200, headers: Headers | None = None, size: int = -1
    ) -> None:
        self.say(m.Head(component, status, b"", size), headers or [])

    def send(self, component: int, data: bytes, *, last: bool = True) -> None:
        for at in range(0, len(data), PIECE) or (0,):
            piece, ends = data[at : at + PIECE], at + PIECE >= len(data)
            self._data.append(Data(component, piece, last and ends))
        self._link.wake()

    def respond(
        self, request: m.Request, body: bytes, headers: Headers | None = None, *, status: int = 200
    ) -> None:
        """All of a response."""
        self.head(request.component, status, headers, len(body))
        self.send(request.component, body)

    def close(self, error: LinkError | None = None) -> None:
        """The link breaks, or ends."""
        self._link.close(error)


class Listening:
    """What a session's listener must do, and no more."""

    def __init__(self) -> None:
        self.uplink: Uplink | None = None
        self.grown: list[Component] = []
        self.errors: list[LinkError | None] = []

    def session_opened(self, session: LocalSession) -> None:
        assert self.uplink is not None
        self.uplink.opened()

    def skeleton_grew(
        self, document: int, components: list[Component], headers: Headers, promised: bool
    ) -> None:
        self.grown += components

    def placed(self, document: int, components: list[Component]) -> None:
        pass

    def progressed(self, component: Component, amount: int) -> None: ...

    def expired(self, fetch: m.Expired) -> None: ...

    def guaranteed(self, path: Sequence[str], rate: float, *, held: bool) -> None: ...

    def too_soon(self, document: int, earliest: float) -> None: ...
    def refused(self, number: int, reason: str) -> None: ...

    def noticed(self, text: str) -> None: ...

    def session_closed(self, session: LocalSession, error: LinkError | None) -> None:
        self.errors.append(error)


class Remotes:
    """Makes links, each with a scripted remote at its end."""

    def __init__(self, answer: Answer | None = None, *, accepts: Sequence[str] = ACCEPTS) -> None:
        self.answer = answer
        self.accepts = accepts
        self.all: list[ScriptedRemote] = []
        self.refuses = False
        """Nobody is there."""

    async def dial(self) -> Link:
        if self.refuses:
            raise LinkError("refused")
        near, far = memory_links(LinkModel(rate_up=1e6, rate_down=1e6, delay=0.01))
        self.all.append(ScriptedRemote(far, self.answer, accepts=self.accepts))
        return near

    @property
    def latest(self) -> ScriptedRemote:
        return self.all[-1]


class Linked:
    """An uplink with a scripted remote, and its session."""

    def __init__(self, uplink: Uplink, remotes: Remotes, listener: Listening) -> None:
        self.uplink = uplink
        self.remotes = remotes
        self.listener = listener

    @property
    def remote(self) -> ScriptedRemote:
        return self.remotes.latest

    @property
    def session(self) -> LocalSession:
        session = self.uplink.session
        assert session is not None
        return session


@asynccontextmanager
async def linked(
    answer: Answer | None = None, *, patience: float = 5.0, link: bool = True
) -> AsyncIterator[Linked]:
    """`patience`: seconds for another link. `link` False: there is none at first."""
    remotes, listener = Remotes(answer), Listening()
    remotes.refuses = not link
    uplink = listener.uplink = Uplink(
        remotes.dial, listener, remote=lambda: "test", device="test", patience=patience
    )
    running = asyncio.ensure_future(uplink.run())
    try:
        if link:
            assert await uplink.wait_session(10.0) is not None
        yield Linked(uplink, remotes, listener)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def moment() -> None:
    """Let all that was said arrive."""
    await asyncio.sleep(MOMENT)
