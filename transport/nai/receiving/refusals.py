"""Messages that the receiver did not take: which they were, and why, in words.

Pure. What becomes of them is the sender's affair (atp.py).
"""

from __future__ import annotations

from typing import Final
from weakref import WeakValueDictionary

from transport.nai.errors import NotTaken
from transport.nai.headers import RefusalReason, RefusedMessage
from transport.nai.messages.message import NaiMessage

_REASONS: Final = {
    RefusalReason.TOO_LARGE: "the receiver takes messages of {} bytes at most",
    RefusalReason.FULL: "the receiver holds {} bytes of unfinished messages already",
    RefusalReason.UNKNOWN_QUEUE: "the receiver takes no messages of that queue",
}


class Known:
    """Messages by the id that the receiver has of them, as long as somebody else cares for them:
    one that was sent whole may be refused as well."""

    def __init__(self) -> None:
        self._messages: WeakValueDictionary[int, NaiMessage] = WeakValueDictionary()
        self.refused = 0
        """Refusals so far."""

    def add(self, message: NaiMessage) -> None:
        """It has an id from now on."""
        self._messages[message.id] = message

    def refusal(self, said: RefusedMessage) -> tuple[NaiMessage | None, NotTaken]:
        """Whom it is about, unless it is forgotten or was begun anew, and what it says.

        One that has ended, sent in vain, has that for its error.
        """
        self.refused += 1
        error = NotTaken(said.id, _REASONS[said.why].format(said.limit))
        message = self._messages.get(said.id)
        if message is None or message.id != said.id:
            return None, error
        if message.state.ended:
            message.error = error
        return message, error
