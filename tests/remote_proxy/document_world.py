"""A session's side of documents in parts: the real tree and outbox, and no link."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from office.contents import unpacked
from office.entries import read
from office.zip_directory import parse
from remote_proxy.documents.document import PackageDocument
from remote_proxy.documents.fetch import Gathering
from remote_proxy.documents.spool import Spool
from remote_proxy.jobs.job import Job
from remote_proxy.origin.client import OriginResponse
from remote_proxy.reach.failures import OriginError
from scheduling.commands import Obedience
from scheduling.plan import Plan
from scheduling.tree import Tree
from transcoders.make.registry import Transcoders
from transport.sending.outbox import TreeOutbox
from transport.sending.outgoing import Budget
from wire import messages as m
from wire.abilities import Takes
from wire.continuation import Continuation
from wire.fields import Headers
from wire.frames import Control
from wire.session import Session, Side

T = TypeVar("T")
DOCUMENT = 5
"""The document's component."""


def response(
    data: bytes,
    *,
    headers: Headers | None = None,
    status: int = 200,
    length: int | None = None,
    breaks: OriginError | None = None,
) -> OriginResponse:
    """An answer in pieces of 1 KB; `breaks`: what ends it instead of its end."""

    async def body() -> AsyncIterator[bytes]:
        for at in range(0, len(data), 1024):
            await asyncio.sleep(0)
            yield data[at : at + 1024]
        if breaks is not None:
            raise breaks

    found = length if length is not None else len(data)
    return OriginResponse(status, "OK", headers or [], body(), found, lambda: None)


def job(
    url: str = "http://a.test/deck.pptx",
    *,
    takes: Takes = Takes.PACKAGE,
    method: str = "GET",
    treatment: m.Treatment = m.Treatment.ADAPTED,
    resume: Continuation | None = None,
) -> Job:
    request = m.Request(
        DOCUMENT, DOCUMENT, method, url, b"", treatment=treatment, takes=takes, resume=resume
    )
    return Job.requested(request, [], None)


async def at_once(work: Callable[[], T], /) -> T:
    """Runs what takes long where it is asked for."""
    return work()


@asynccontextmanager
async def gathered(
    data: bytes, *, headers: Headers | None = None, breaks: OriginError | None = None
) -> AsyncIterator[PackageDocument]:
    """A document whose bytes are on their way."""
    directory = parse(data, length=len(data))

    def content(name: str) -> bytes:
        entry = directory.by_name[name]
        return unpacked(entry, data[entry.start : entry.end])

    async def nothing(fields: Headers) -> OriginResponse:
        raise AssertionError(fields)

    with Spool() as spool:
        announced = len(data) + (breaks is not None)
        answer = response(data, headers=headers, breaks=breaks, length=announced)
        gathering = Gathering(answer, spool, limit=1 << 24, ask=nothing)
        running = asyncio.ensure_future(gathering.run())
        try:
            yield PackageDocument(
                headers or [], gathering, directory, read(directory, content), at_once
            )
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


class FakeSender:
    """What a delivery of a document needs of its session."""

    device = "device"

    def __init__(self, *accepts: str) -> None:
        self.session = Session(Side.REMOTE, agent="t")
        self.local = Session(Side.LOCAL, agent="t", accepts=accepts)
        hello = self.local.next_control()
        assert hello is not None
        self.session.receive(hello)
        self.tree = Tree(quantum=4096)
        self.obedience = Obedience(self.tree, Plan())
        self.outbox = TreeOutbox(
            self.session,
            self.tree.hierarchy,
            self.tree.multiplexer,
            Budget(1 << 24),
            wake=lambda: None,
        )
        self.rate: float | None = None
        self.counted = 0
        self.adopted: list[tuple[int, int]] = []
        self.heard: list[m.Message] = []
        """What the device was told."""
        self.headers: list[Headers] = []
        self.came: defaultdict[int, bytes] = defaultdict(bytes)
        """Bytes by component."""
        self.order: list[int] = []
        """Components as their first bytes came."""
        self.ended: set[int] = set()

    def accepts(self, coding: str) -> bool:
        return self.session.peer is not None and coding in self.session.peer.accepts

    def say(self, message: m.Message, headers: Headers | None = None) -> None:
        self.session.enqueue(message, headers)

    def count(self, amount: int) -> None:
        self.counted += amount

    def adopt(self, document: int, component: int) -> None:
        self.adopted.append((document, component))

    def deliver(self) -> None:
        """Let the device have all that is there to be sent."""
        while (frame := self.outbox.next_frame(now=0.0, urgent=False)) is not None:
            if isinstance(frame, Control):
                message, headers = self.local.receive(frame.payload)
                if not isinstance(message, m.Hello):
                    self.heard.append(message)
                    self.headers.append(headers)
                continue
            if not self.came[frame.component]:
                self.order.append(frame.component)
            self.came[frame.component] += frame.payload
            if frame.last:
                self.ended.add(frame.component)

    def told(self, kind: type[T]) -> list[T]:
        return [one for one in self.heard if isinstance(one, kind)]


class FakeTranscoders(Transcoders):
    """Says what the test wants of pictures in documents."""

    def __init__(self, *, coarse: bytes | None = None, form: bytes | None = None) -> None:
        super().__init__(workers=1, jpegtran=None)
        self.coarse = coarse
        self.form = form
        self.asked: list[tuple[int, int, bool, bool]] = []

    async def thumbnail(self, data: bytes, *, whose: str = "") -> bytes | None:
        return self.coarse

    async def exact(
        self,
        data: bytes,
        *,
        start: int,
        length: int,
        deflated: bool,
        scans: bool,
        whose: str = "",
    ) -> bytes | None:
        self.asked.append((start, length, deflated, scans))
        return self.form
