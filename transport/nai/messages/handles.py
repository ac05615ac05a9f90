"""Handles of a connection for an application: the messages it has submitted, and queues by name.

Thin: each method is a call of the sender's (atp.py) with the time put in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from transport.nai.messages.message import Expiry, MessageState, NaiMessage, Source, Verdict

if TYPE_CHECKING:
    from transport.nai.endpoint import NaiConnection

OnTimer = Callable[["SubmittedMessage", Expiry], Verdict | Awaitable[Verdict | None] | None]
"""Called when a message is refused, or its timer expires, early or late; the message is suspended.
The verdict says what becomes of it; None: Cancel."""


class SubmittedMessage:
    """A message that was submitted. The methods raise NaiError once it has ended."""

    __slots__ = ("_connection", "_done", "message")

    def __init__(self, connection: NaiConnection, message: NaiMessage) -> None:
        self._connection = connection
        self._done: asyncio.Future[MessageState] | None = None
        self.message = message

    @property
    def state(self) -> MessageState:
        return self.message.state

    @property
    def left(self) -> int:
        """Bytes that have not gone to the carrier."""
        return self.message.left

    @property
    def error(self) -> Exception | None:
        """Why it was cancelled, if not on purpose."""
        return self.message.error

    async def done(self) -> MessageState:
        """Wait until it has ended: delivered, cancelled or rejected."""
        if self.message.state.ended:
            return self.message.state
        if self._done is None:
            self._done = asyncio.get_running_loop().create_future()
            self.message.on_end = self._ended
        return await asyncio.shield(self._done)

    def suspend(self) -> None:
        """Send no more of it until it is resumed; its timer stops."""
        self._connection.sender.suspend(self.message)

    def defer(self, seconds: float | None = None) -> None:
        """The same; it goes on by itself after so many seconds, if any."""
        self._connection.sender.defer(self.message, self._connection.now, seconds=seconds)
        self._connection.wake()

    def resume(self) -> None:
        """Send what is left; its timer begins anew."""
        self._connection.sender.resume(self.message, self._connection.now)
        self._connection.wake()

    def restart(self) -> None:
        """Send it from its first byte; a rejected one is tried again."""
        self._connection.sender.restart(self.message, self._connection.now)
        self._connection.wake()

    def cancel(self) -> None:
        """Send no more of it, ever; the receiver drops what it has."""
        self._connection.sender.cancel(self.message)
        self._connection.wake()

    def prioritise(self, priority: int) -> bool:
        """Give it another priority; False: that would break timers, all stays as it was."""
        done = self._connection.sender.prioritise(self.message, priority, self._connection.now)
        self._connection.wake()
        return done

    def _ended(self, message: NaiMessage) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(message.state)

    def __repr__(self) -> str:
        return f"<SubmittedMessage {self.message!r}>"


class Queue:
    """A message queue: its messages share the link with other queues', by weights (queues.py)."""

    def __init__(self, connection: NaiConnection, name: str) -> None:
        self._connection = connection
        self.name = name

    def submit(
        self,
        data: bytes | Source,
        *,
        size: int | None = None,
        priority: int = 0,
        timer: float | None = None,
        on_timer: OnTimer | None = None,
    ) -> SubmittedMessage:
        """Submits a message, as Connection.submit does."""
        return self._connection.submit(
            data, size=size, priority=priority, queue=self.name, timer=timer, on_timer=on_timer
        )
