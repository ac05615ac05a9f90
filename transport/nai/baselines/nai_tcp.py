"""NAI over one TCP connection: the simplest of the paper's implementations (ATP, section 5.2).

"The sender opens a single, blocking connection to the receiver. New messages wait on a queue to be
sent. Whenever a send call returns, the first queued message is sent if less than half of its
timeout has expired, otherwise it is discarded. Send operations are irrevocable. Once a send
completes, the time is compared against the timer to see if it was delivered within the timeout."
A send completes with the receiver's acknowledgement. Priorities go along and change nothing.

A `Lane` is such a connection and the queue it takes from, which NAI-MTCP gives several of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from types import TracebackType
from typing import Self

from transport.nai.carriers.streams import (
    ACKNOWLEDGED,
    CHUNK,
    GIVEN_UP,
    HEAD,
    LENGTH,
    CarrierStream,
)
from transport.nai.errors import CarrierError, NaiError, SegmentFault
from transport.nai.messages.message import check_priority, check_timer


class MessageFate(StrEnum):
    """What became of a message, by its sender's clock."""

    DELIVERED = "delivered"
    LATE = "late"
    """Delivered, but its time was over."""
    DISCARDED = "discarded"
    """Never sent: it had waited for half of its time."""
    GIVEN_UP = "given up"
    """Its time was over while it was sent (NAI-MTCP)."""
    LOST = "lost"
    """The connection ended."""


@dataclass(eq=False, slots=True)
class Sent:
    """A message that was submitted. Seconds by the sender's clock."""

    id: int
    data: bytes
    priority: int
    entered: float
    timer: float | None
    fate: asyncio.Future[MessageFate]

    @property
    def deadline(self) -> float:
        return float("inf") if self.timer is None else self.entered + self.timer

    def end(self, fate: MessageFate) -> None:
        self.data = b""
        if not self.fate.done():
            self.fate.set_result(fate)


class Backlog:
    """Messages that wait, first in, first out; several lanes may take from it."""

    def __init__(self) -> None:
        self._waiting: deque[Sent] = deque()
        self._news = asyncio.Event()

    def put(self, message: Sent) -> None:
        self._waiting.append(message)
        self._news.set()

    async def take(self, loop: asyncio.AbstractEventLoop) -> Sent:
        """The first that may still be sent; those before it are discarded."""
        while True:
            while self._waiting:
                message = self._waiting.popleft()
                if message.timer is None or loop.time() - message.entered < message.timer / 2:
                    return message
                message.end(MessageFate.DISCARDED)
            self._news.clear()
            await self._news.wait()

    def clear(self) -> None:
        while self._waiting:
            self._waiting.popleft().end(MessageFate.LOST)


class Lane:
    """One connection, one message at a time."""

    def __init__(self, stream: CarrierStream, backlog: Backlog, *, gives_up: bool) -> None:
        """`gives_up`: what is left of a message whose time is over is not sent."""
        self._stream, self._backlog, self._gives_up = stream, backlog, gives_up
        self._loop = asyncio.get_running_loop()

    async def run(self) -> None:
        """Until cancelled. Raises CarrierError, PeerFault."""
        while True:
            message = await self._backlog.take(self._loop)
            try:
                message.end(await self._send(message))
            finally:
                message.end(MessageFate.LOST)

    async def _send(self, message: Sent) -> MessageFate:
        stream, data = self._stream, message.data
        head = HEAD.pack(message.id, len(data), message.priority)
        for offset in range(0, len(data), CHUNK):
            if self._gives_up and self._loop.time() >= message.deadline:
                await stream.write(head + GIVEN_UP)
                return MessageFate.GIVEN_UP
            chunk = data[offset : offset + CHUNK]
            await stream.write(head + LENGTH.pack(len(chunk)) + chunk)
            head = b""
        if head:
            await stream.write(head)
        answer = await stream.read(1)
        if not answer:
            raise CarrierError("the peer closed before it had acknowledged a message")
        if answer != ACKNOWLEDGED:
            raise SegmentFault(f"{answer!r} where an acknowledgement belongs")
        return MessageFate.DELIVERED if self._loop.time() <= message.deadline else MessageFate.LATE


class Lanes:
    """Several lanes, and the backlogs they take from: what both implementations are."""

    def __init__(self, lanes: list[tuple[CarrierStream, Backlog]], *, gives_up: bool) -> None:
        """Call it from within the loop it shall run in."""
        self._loop = asyncio.get_running_loop()
        self._streams = [stream for stream, _ in lanes]
        self._backlogs = [backlog for _, backlog in lanes]
        self._ids = count(1)
        self.error: Exception | None = None
        """Why it has ended, if not by `close`."""
        self._ended = False
        self._tasks = [
            self._loop.create_task(Lane(stream, backlog, gives_up=gives_up).run())
            for stream, backlog in lanes
        ]
        for task in self._tasks:
            task.add_done_callback(self._stopped)

    def _put(self, backlog: Backlog, data: bytes, *, priority: int, timer: float | None) -> Sent:
        """Queue a message. Raises NaiError, CarrierError."""
        if self._ended:
            raise CarrierError("the connection is closed") from self.error
        if len(data) > 0xFFFFFFFF:
            raise NaiError(f"{len(data)} bytes in a message: 4 GB at most")
        now = self._loop.time()
        message = Sent(
            next(self._ids),
            data,
            check_priority(priority),
            now,
            check_timer(timer),
            self._loop.create_future(),
        )
        backlog.put(message)
        return message

    def close(self) -> None:
        """Messages that are not delivered are lost."""
        self._ended = True
        for task in self._tasks:
            task.cancel()
        for backlog in self._backlogs:
            backlog.clear()
        for stream in self._streams:
            stream.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _stopped(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self.error = self.error or error
            if not self._ended:
                self.close()


class NaiTcp(Lanes):
    """NAI-TCP's sending side."""

    def __init__(self, stream: CarrierStream) -> None:
        """Call it from within the loop it shall run in."""
        self._backlog = Backlog()
        super().__init__([(stream, self._backlog)], gives_up=False)

    def submit(self, data: bytes, *, priority: int = 0, timer: float | None = None) -> Sent:
        """Queue a message; `timer` in seconds. Raises NaiError, CarrierError."""
        return self._put(self._backlog, data, priority=priority, timer=timer)
