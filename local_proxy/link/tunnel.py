"""A CONNECT tunnel: two opaque components, one each way, never adapted."""

from __future__ import annotations

import asyncio

from local_proxy.link.components import Component, ComponentFailed
from local_proxy.link.session import LocalSession
from transport.sending.outgoing import Outgoing
from transport.sending.talk import Talk


class Tunnel:
    """The far end of a tunnel, as a front sees it (local_proxy.http.model.Duplex)."""

    def __init__(self, component: Component, up: Outgoing, session: LocalSession) -> None:
        self._component = component
        self._down = component.read()
        self._up = up
        self._session = session
        self._talk = Talk(now=asyncio.get_running_loop().time())

    async def read(self) -> bytes:
        """Some bytes towards the client; empty at the end, also when the link is lost."""
        try:
            return await anext(self._down, b"")
        except ComponentFailed:
            return b""

    async def write(self, data: bytes) -> None:
        """Bytes from the client. Returns when there is room for more."""
        now = asyncio.get_running_loop().time()
        talked = self._talk.talks
        talks = self._talk.say(len(data), now=now, rate=self._session.rate_up)
        if talks != talked:
            self._session.set_talk(self._up, talks)
        self._up.write(data)
        await self._up.room()

    async def end(self) -> None:
        """The client has no more to send; reading goes on."""
        self._up.finish()

    async def close(self) -> None:
        """Both ways end."""
        await self._down.aclose()
        self._session.cancel(self._component)
