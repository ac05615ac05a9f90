"""ATP's receiving side: segments back into messages.

Messages are delivered whole, those of one queue and priority in the order in which the sender
completed them, which is the order of sending unless timers or the application changed it. What was
cancelled leaves nothing behind. The carrier may change the order of segments but not repeat any.

Pure; memory is bounded, and whoever exceeds the bound or breaks a rule raises PeerFault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from transport.nai import headers
from transport.nai.errors import PeerFault
from transport.nai.headers import Cancelled, Data, Poll, Polled

MEMORY: Final = 64 << 20
"""Bytes of messages that are not complete, or wait for one before them."""
_PIECE: Final = 128
"""Bytes that bookkeeping adds to each piece and each message, about."""
MOST_STREAMS: Final = 4096
"""Pairs of queue and priority in the life of a connection."""
_MOST_REPLIES: Final = 64
"""Answers to polls that wait for room; an honest sender has one."""
_GAP: Final = 1.0
"""Seconds: two polls further apart were no pair."""


class Received(NamedTuple):
    """A message at its receiver."""

    data: bytes
    queue: str
    priority: int
    id: int


class _Partial:
    """A message of which something has come, or that was cancelled before all of it came."""

    __slots__ = ("end", "pieces", "queue", "received", "size", "upto")

    def __init__(self) -> None:
        self.pieces: dict[int, bytes] | None = {}
        """By offset; None: cancelled, `upto` bytes will come in all."""
        self.size: int | None = None
        self.queue = ""
        self.received = 0
        self.end: tuple[int, int] | None = None
        self.upto = 0


@dataclass(frozen=True, slots=True)
class ReceiverStatistics:
    """An immutable snapshot."""

    open: int
    """Messages of which something has come."""
    held: int
    """Bytes of memory, bookkeeping included."""
    delivered: int
    """Messages."""
    cancelled: int


class _Stream:
    """The messages of one queue and priority, in order."""

    __slots__ = ("next", "waiting")

    def __init__(self) -> None:
        self.next = 0
        self.waiting: dict[int, Received] = {}


class Receiver:
    """Takes payloads, gives messages. Ends with the first PeerFault."""

    def __init__(self, *, memory: int = MEMORY) -> None:
        """`memory`: bytes; a message larger than this can't be received."""
        self._memory = memory
        self._partials: dict[int, _Partial] = {}
        self._streams: dict[tuple[str, int], _Stream] = {}
        self._held = 0
        self._delivered = self._cancelled = 0
        self._polled: tuple[int, float] | None = None
        self._replies: list[bytes] = []
        self.answer: Polled | None = None
        """The newest answer to a poll of our own sender's; whoever reads it takes it away."""

    def receive(self, payload: bytes, now: float) -> list[Received]:
        """The messages that are complete with this segment. Raises PeerFault."""
        segment = headers.parse(payload)
        if isinstance(segment, Data):
            return self._data(segment)
        if isinstance(segment, Cancelled):
            self._cancel(segment)
        elif isinstance(segment, Poll):
            self._poll(segment, now)
        else:
            self.answer = segment
        return []

    def replies(self) -> list[bytes]:
        """Segments to send back, which are taken away by this."""
        replies, self._replies = self._replies, []
        return replies

    def statistics(self) -> ReceiverStatistics:
        return ReceiverStatistics(len(self._partials), self._held, self._delivered, self._cancelled)

    # -- inside ------------------------------------------------------------------------------

    def _data(self, segment: Data) -> list[Received]:
        partial = self._partials.get(segment.id)
        if partial is None:
            if segment.size is not None and segment.last:  # whole in one segment
                whole = Received(segment.payload, segment.queue, segment.priority, segment.id)
                return self._in_order(whole, segment.place)
            partial = self._open(segment.id)
        partial.received += len(segment.payload)
        if partial.pieces is None:
            self._buried(segment.id, partial)
            return []
        self._add(partial, segment)
        if partial.size is None or partial.received < partial.size:
            return []
        if partial.end is None:
            raise PeerFault(f"message {segment.id} is complete and does not end")
        del self._partials[segment.id]
        self._held -= partial.received + _PIECE * (1 + len(partial.pieces))
        data = _joined(segment.id, partial.pieces, partial.size)
        priority, place = partial.end
        return self._in_order(Received(data, partial.queue, priority, segment.id), place)

    def _add(self, partial: _Partial, segment: Data) -> None:
        assert partial.pieces is not None
        if segment.offset in partial.pieces:
            raise PeerFault(f"bytes {segment.offset} of message {segment.id} came twice")
        if segment.size is not None:
            if partial.size is not None:
                raise PeerFault(f"message {segment.id} begins twice")
            partial.size, partial.queue = segment.size, segment.queue
        if segment.last:
            if partial.end is not None:
                raise PeerFault(f"message {segment.id} ends twice")
            partial.end = (segment.priority, segment.place)
        partial.pieces[segment.offset] = segment.payload
        self._hold(len(segment.payload) + _PIECE)
        if partial.size is None:
            return
        if partial.size > self._memory:
            raise PeerFault(
                f"a message of {partial.size} bytes, of {self._memory} at most: raise `memory`"
            )
        if partial.received > partial.size:
            raise PeerFault(f"message {segment.id} has more than its {partial.size} bytes")

    def _open(self, id: int) -> _Partial:
        self._hold(_PIECE)
        partial = self._partials[id] = _Partial()
        return partial

    def _cancel(self, segment: Cancelled) -> None:
        partial = self._partials.get(segment.id) or self._open(segment.id)
        if partial.pieces is None:
            raise PeerFault(f"message {segment.id} was cancelled twice")
        self._held -= sum(map(len, partial.pieces.values())) + _PIECE * len(partial.pieces)
        partial.pieces, partial.upto = None, segment.sent
        self._cancelled += 1
        self._buried(segment.id, partial)

    def _buried(self, id: int, partial: _Partial) -> None:
        """Forget a cancelled message once all has come that will."""
        if partial.received > partial.upto:
            raise PeerFault(f"message {id} goes on after it was cancelled")
        if partial.received == partial.upto:
            del self._partials[id]
            self._held -= _PIECE

    def _in_order(self, message: Received, place: int) -> list[Received]:
        key = (message.queue, message.priority)
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= MOST_STREAMS:
                raise PeerFault(f"more than {MOST_STREAMS} pairs of queue and priority")
            stream = self._streams[key] = _Stream()
        if place < stream.next or place in stream.waiting:
            raise PeerFault(f"message {message.id} takes the place of another")
        if place > stream.next:
            stream.waiting[place] = message
            self._hold(len(message.data) + _PIECE)
            return []
        found: list[Received] = [message]
        stream.next += 1
        while stream.waiting and (later := stream.waiting.pop(stream.next, None)) is not None:
            self._held -= len(later.data) + _PIECE
            found.append(later)
            stream.next += 1
        self._delivered += len(found)
        return found

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > self._memory:
            raise PeerFault(
                f"unfinished messages of more than {self._memory} bytes: raise `memory`"
            )

    def _poll(self, segment: Poll, now: float) -> None:
        """The second of a pair is answered with the time since the first."""
        before, self._polled = self._polled, (segment.number, now)
        if before is None or before[0] != segment.number or now - before[1] > _GAP:
            return
        self._polled = None
        if len(self._replies) < _MOST_REPLIES:
            gap = now - before[1]
            self._replies.append(headers.polled(segment.number, size=segment.size, seconds=gap))


def _joined(id: int, pieces: dict[int, bytes], size: int) -> bytes:
    """The message, if the pieces are one: as many bytes may overlap and leave a gap."""
    data = b"".join(pieces[offset] for offset in sorted(pieces))
    at = 0
    for offset in sorted(pieces):
        if offset != at:
            raise PeerFault(f"message {id} has a gap at byte {at}")
        at += len(pieces[offset])
    assert at == size
    return data
