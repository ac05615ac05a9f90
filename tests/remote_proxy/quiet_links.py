"""Links that carry what they are asked to, at once, and keep it for the test."""

from __future__ import annotations

from collections.abc import Callable

from transport.link.interface import Inbox, LinkError, LinkStatistics, Outbox
from wire import messages as m
from wire.frames import Control


class HeardLink:
    """Pulls all that there is whenever it is woken."""

    def __init__(self, *, closes: bool = True, connected: bool = True) -> None:
        """`closes`: it tells its inbox when it is closed."""
        self.heard: list[m.Message] = []
        self.closed: list[LinkError | None] = []
        self.connected = connected
        self._closes = closes
        self._outbox: Outbox | None = None
        self._inbox: Inbox | None = None

    def start(
        self, outbox: Outbox, inbox: Inbox, *, competes: Callable[[], bool] = lambda: True
    ) -> None:
        self._outbox, self._inbox = outbox, inbox

    def wake(self) -> None:
        assert self._outbox is not None
        while (frame := self._outbox.next_frame(now=0.0, urgent=False)) is not None:
            if isinstance(frame, Control):
                self.heard.append(m.decode(frame.payload))

    def hang_up(self, error: LinkError | None = None) -> None:
        """The other end closes it."""
        assert self._inbox is not None
        self._inbox.link_closed(error)

    def close(self, error: LinkError | None = None) -> None:
        self.closed.append(error)
        if self._closes and self._inbox is not None:
            self._inbox.link_closed(error)

    def statistics(self) -> LinkStatistics:
        return LinkStatistics(0, 0, 0, 0.0, None, None, None, None, connected=self.connected)
