"""Lets an end have its turns: what came is heard, what follows from it goes. Both ends share it.

Links call back from within what an end does, so a turn that is asked for meanwhile comes later.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from transport.link.connection import ApartCarried, Carried
from wire.errors import PeerError


class MultipathEnd(ABC):
    """An end's turns, its timer, and what has come before a link took the end over."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._carried: Carried | None = None
        self._apart: ApartCarried | None = None
        """The same, where it can do without order: asked once, for to ask a protocol is slow."""
        self._early = bytearray()
        """What has come and was not received."""
        self._failure: Exception | None = None
        self._arrived = asyncio.Event()
        self._turning = self._soon = False
        self._timer: asyncio.TimerHandle | None = None

    async def receive(self, most: int) -> bytes:
        """At most so many bytes of what the peer says. Raises LinkError, PeerError."""
        while not self._early and self._failure is None:
            self._arrived.clear()
            await self._arrived.wait()
        if not self._early and self._failure is not None:
            raise self._failure
        data = bytes(self._early[:most])
        del self._early[:most]
        return data

    def start(self, carried: Carried) -> None:
        """Makes it that link's connection from now on."""
        self._carried = carried
        self._apart = carried if isinstance(carried, ApartCarried) else None
        self.wake()

    def wake(self) -> None:
        """The link may have something to send that it lacked before."""
        if not self._soon:
            self._soon = True
            self._loop.call_soon(self._wake)

    def drain(self) -> None:
        """Hand over what is here and was not heard yet."""
        if self._carried is not None:
            self._hear_early(self._carried)

    @abstractmethod
    def _turn(self) -> None:
        """Hear, then send. Raises PeerError where the peer broke the protocol."""

    def _changed(self) -> None:
        """Something came, arrived, or may go."""
        if self._turning:
            self.wake()
            return
        self._turning = True
        try:
            self._turn()
        except PeerError as error:
            self._fail(error)
        finally:
            self._turning = False

    def _wake(self) -> None:
        self._soon = False
        self._changed()

    def _heard(self, data: bytes) -> None:
        """Bytes of the peer's stream, in order."""
        if not data:
            return
        self._early += data
        self._arrived.set()
        if self._carried is not None:
            self._hear_early(self._carried)

    def _hear_early(self, carried: Carried) -> None:
        data = bytes(self._early)
        self._early.clear()
        if data:
            carried.heard(data)

    def _fail(self, error: Exception) -> None:
        """Nothing more crosses."""
        if self._failure is not None:
            return
        self._failure = error
        self._arrived.set()
        if self._carried is not None:
            self._carried.failed(error)

    def _call_at(self, due: float | None) -> None:
        """Have a turn then, whatever was meant before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._changed)

    def _forget(self) -> None:
        self._carried = self._apart = None
        self._call_at(None)
