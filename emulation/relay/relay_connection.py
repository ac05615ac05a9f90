"""One connection through a relay: how it is made, how it ends, how it is reset."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from emulation.relay.relay_settings import RelaySettings
from emulation.relay.relay_sockets import connecting, reset
from emulation.relay.relay_way import Half, RelayDirection


class RelayedConnection:
    """Two sockets and the two halves between them."""

    def __init__(
        self,
        near: socket.socket,
        *,
        up: RelayDirection,
        down: RelayDirection,
        settings: RelaySettings,
        on_close: Callable[[RelayedConnection], None],
    ) -> None:
        """`near`: who has connected."""
        self._near = near
        self._far: socket.socket | None = None
        self._up = Half(up, self)
        self._down = Half(down, self)
        self._settings = settings
        self._on_close = on_close
        self._halves_ended = 0
        self.dead = False

    async def run(self, moving: asyncio.Event) -> None:
        """Connect as a handshake would: a round trip before the first byte moves.

        `moving`: set while there is no outage.
        """
        settings, loop = self._settings, asyncio.get_running_loop()
        up, down = self._up, self._down
        far = self._far = connecting(settings.queue)
        await moving.wait()
        await asyncio.sleep(2 * settings.delay)
        if self.dead:
            return
        up.source, down.sink = self._near, self._near
        up.way.want(up)
        await asyncio.sleep(settings.delay)
        if self.dead:
            return
        try:
            await loop.sock_connect(far, settings.target)
        except OSError:
            self.abort()
            return
        if self.dead:
            return
        up.sink, down.source = far, far
        up.way.flush(up)
        down.way.want(down)

    def half_ended(self) -> None:
        """One direction's EOF was passed on; after both, the connection is over."""
        self._halves_ended += 1
        if self._halves_ended == 2:
            self._close()

    def abort_later(self) -> None:
        """One end was reset; the other hears of it a propagation delay later."""
        if not self.dead:
            asyncio.get_running_loop().call_later(self._settings.delay, self.abort)

    def abort(self) -> None:
        """Reset both ends."""
        if self.dead:
            return
        for end in (self._near, self._far):
            if end is not None:
                reset(end)
        self._close()

    def _close(self) -> None:
        self.dead = True
        for half in (self._up, self._down):
            half.way.forget(half)
        self._near.close()
        if self._far is not None:
            self._far.close()
        self._on_close(self)
