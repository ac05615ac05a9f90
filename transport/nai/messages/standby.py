"""Messages that could not be sent in time at the last estimate, and whose time is not over: the
link may recover.

Without it a message that nobody is asked about is dropped when it is refused, or early; the paper
names that as what NAI-TCP does better ("due to ATP rejecting messages at points where it
underestimates the current bandwidth", section 5.4).

Pure. It must not know why a message is here, nor what admits it.
"""

from __future__ import annotations

from typing import Final

from transport.nai.messages.message import Expiry, NaiMessage

_TRIED: Final = 16
"""Messages that are asked about at a time."""


class Standby:
    """Messages that wait for more bandwidth."""

    def __init__(self, *, wanted: bool) -> None:
        """`wanted`: else nobody ever waits here."""
        self._wanted = wanted
        self._waiting: dict[NaiMessage, None] = {}
        self.hopeful = False
        """There is more bandwidth, or less to send, than when they were last asked about."""

    def __contains__(self, message: NaiMessage) -> bool:
        return message in self._waiting

    def takes(self, message: NaiMessage, expiry: Expiry) -> bool:
        """Whether it may wait: nobody is to be asked about it, and its time is not over."""
        nobody_asks = self._wanted and message.on_timer is None
        return nobody_asks and message.deadline is not None and expiry is not Expiry.LATE

    def add(self, message: NaiMessage) -> float:
        """It waits; seconds by the sender's clock until when."""
        assert message.deadline is not None, "it would wait for ever"
        self._waiting[message] = None
        return message.deadline

    def remove(self, message: NaiMessage) -> None:
        """If it is here."""
        self._waiting.pop(message, None)

    def first(self) -> list[NaiMessage]:
        """Whom to ask about now: as they would be sent, by priority and deadline."""
        if not self.hopeful:
            return []
        self.hopeful = False
        return sorted(self._waiting, key=_rank)[:_TRIED]


def _rank(message: NaiMessage) -> tuple[int, float]:
    assert message.deadline is not None, "it would wait for ever"
    return (-message.priority, message.deadline)
