"""Messages into segments: how long, with which header, and what that costs.

It must not know which message is next, nor when.
"""

from __future__ import annotations

from typing import Final

from transport.nai import headers
from transport.nai.carriers.interface import Carrier
from transport.nai.errors import NaiError
from transport.nai.messages.message import NaiMessage
from transport.nai.receiving.receiver import MOST_STREAMS

_SMALLEST: Final = 128
"""Bytes of a segment below which headers would be most of it."""
_HEADER: Final = 8
"""Bytes of a header as they mostly are, for what admission reckons with."""


class Cutting:
    """One direction's segments."""

    def __init__(self, carrier: Carrier) -> None:
        """Raises NaiError for a carrier of segments that hold too little."""
        if carrier.segment < _SMALLEST:
            raise NaiError(
                f"segments of {carrier.segment} bytes are too small: {_SMALLEST} at least"
            )
        self._carrier = carrier
        self.payload = carrier.segment - headers.CONTINUED
        """Bytes of a message in a full segment that begins none."""
        self.full = carrier.takes(carrier.segment)
        """Bytes of a full segment in the carrier's queue."""
        self._places: dict[tuple[str, int], int] = {}

    def open(self, queue: str, priority: int) -> None:
        """There will be messages of that queue and priority. Raises NaiError for too many such."""
        if (queue, priority) not in self._places:
            if len(self._places) >= MOST_STREAMS:
                raise NaiError(f"more than {MOST_STREAMS} pairs of queue and priority")
            self._places[queue, priority] = 0

    def first(self, message: NaiMessage) -> int:
        """Bytes of the message that its next segment may have."""
        if message.sent:
            return self.payload
        return self._carrier.segment - headers.FIRST - len(message.queue.encode())

    def segment(self, message: NaiMessage, length: int, *, last: bool) -> bytes:
        """The next `length` bytes of it. Raises what its source raises, NaiError if it lacks
        bytes."""
        offset = message.sent
        data = message.source(offset, length)
        if len(data) != length:
            raise NaiError(f"a source gave {len(data)} bytes; it was asked for {length}")
        end = None
        if last:
            stream = (message.queue, message.priority)
            end = (message.priority, self._places[stream])
            self._places[stream] += 1
        size = None if offset else message.size
        return headers.data(message.id, offset, size=size, queue=message.queue, end=end) + data

    def waiting(self, now: float) -> int:
        """Bytes in the carrier's queue, before which nothing can go."""
        return self._carrier.backlog(now)

    def cost(self, left: int) -> int:
        """Bytes in the carrier's queue that so many bytes of a message take."""
        full, rest = divmod(left, self.payload)
        cost = full * self.full
        return cost + self._carrier.takes(rest + _HEADER) if rest or not full else cost
