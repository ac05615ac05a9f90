"""A CONNECT tunnel: two opaque components, one each way, never adapted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from local_proxy.link.components import Component, ComponentFailed
from local_proxy.link.session import LocalSession
from transport.sending.outgoing import Outgoing
from transport.sending.talk import Talk


class Tunnel:
    """The far end of a tunnel, as a front sees it (local_proxy.http.model.Duplex)."""

    def __init__(
        self,
        component: Component,
        up: Outgoing,
        session: LocalSession,
        *,
        opened: Callable[[bool], None] | None = None,
    ) -> None:
        """`opened`: of a tunnel whose client takes it for open; told whether it has been, once."""
        self._opened = opened
        self._ended_up = self._ended_down = False
        self._component = component
        self._down = component.read()
        self._up = up
        self._session = session
        self._talk = Talk(now=asyncio.get_running_loop().time())

    async def read(self) -> bytes:
        """Some bytes towards the client; empty at the end, also when the link is lost."""
        try:
            if self._opened is not None and not await self._opens(self._opened):
                return b""
            data = await anext(self._down, b"")
        except ComponentFailed:
            return b""
        self._ended_down |= not data
        return data

    async def _opens(self, told: Callable[[bool], None]) -> bool:
        try:
            stands = (await self._component.wait_head()).status == 200
        except ComponentFailed:
            told(False)
            raise
        self._opened = None
        told(stands)
        return stands

    async def write(self, data: bytes) -> None:
        """Bytes from the client. Returns when there is room for more."""
        self.say(data)
        await self._up.room()

    def say(self, data: bytes) -> None:
        """The same, of little: it need not be known yet that there is a server."""
        now = asyncio.get_running_loop().time()
        talked = self._talk.talks
        talks = self._talk.say(len(data), now=now, rate=self._session.rate_up)
        if talks != talked:
            self._session.set_talk(self._up, talks)
        self._up.write(data)

    async def end(self) -> None:
        """The client has no more to send; reading goes on."""
        self._ended_up = True
        self._up.finish()

    async def close(self) -> None:
        """Both ways end. Where both have done so by themselves, what is queued still goes up."""
        await self._down.aclose()
        if not (self._ended_up and self._ended_down):
            self._session.cancel(self._component)
