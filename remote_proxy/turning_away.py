"""Says goodbye to a device that gets no session, so that its people read why.

Must not know who is turned away, or for what.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from transport.link.interface import Link, LinkError
from wire import messages as m
from wire.frames import Control, Data

PATIENCE: Final = 20.0
"""Seconds for the peer to hear of it and close; then this end does."""
_QUANTUM: Final = 1024


class TurnedAway:
    """One link with nothing to say but why. Outbox and inbox of it (transport.link.interface)."""

    def __init__(self, link: Link, reason: str) -> None:
        self._link = link
        self._goodbye: Control | None = Control(m.encode(m.Goodbye(reason)))
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Until the link has closed."""
        self._link.start(self, self)
        self._link.wake()
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(self.closed)
        except TimeoutError:
            pass
        finally:
            self._link.close()

    # -- transport.link.interface.Outbox -----------------------------------------------------------

    @property
    def quantum(self) -> int:
        return _QUANTUM

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        frame, self._goodbye = self._goodbye, None
        return frame

    # -- transport.link.interface.Inbox ------------------------------------------------------------

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        """Its Hello, which comes to nothing."""

    def link_closed(self, error: LinkError | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
