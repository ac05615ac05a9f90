"""ATP's receiving side: segments back into messages.

Messages are delivered whole, those of one queue and priority in the order in which the sender
completed them, which is the order of sending unless timers or the application changed it. What was
cancelled leaves nothing behind. The carrier may change the order of segments but not repeat any.

A message that can't be taken is refused, and the sender told why; others are not affected. Pure;
memory is bounded, and who breaks a rule raises PeerFault.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Final, NamedTuple

from transport.nai import headers
from transport.nai.errors import SegmentFault
from transport.nai.headers import (
    Cancelled,
    Fault,
    MessageData,
    Poll,
    Polled,
    RefusalReason,
    RefusedMessage,
)

MEMORY: Final = 64 << 20
"""Bytes of messages that are not complete, or wait for one before them."""
_PIECE: Final = 128
"""Bytes that bookkeeping adds to each piece and each message, about."""
MOST_STREAMS: Final = 4096
"""Pairs of queue and priority in the life of a connection."""
_NOTES: Final = 1024
"""Bytes at least, beyond `memory`, for remembering what was refused; else a sixteenth of it."""
_MOST_REPLIES: Final = 64
"""Answers that wait to be taken."""
_GAP: Final = 1.0
"""Seconds: two polls further apart were no pair."""


class Received(NamedTuple):
    """A message at its receiver."""

    data: bytes
    queue: str
    priority: int
    id: int


class _Partial:
    """A message of which something has come, or that ended before all of it came."""

    __slots__ = ("end", "pieces", "queue", "received", "refused", "size", "upto")

    def __init__(self) -> None:
        self.pieces: dict[int, bytes] | None = {}
        """By offset; None: cancelled or refused."""
        self.refused = False
        self.size: int | None = None
        self.queue = ""
        self.received = 0
        self.end: tuple[int, int] | None = None
        self.upto: int | None = None
        """Bytes that will come in all, if it was cancelled."""


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
    refused: int


class _Stream:
    """The messages of one queue and priority, in order."""

    __slots__ = ("next", "waiting")

    def __init__(self) -> None:
        self.next = 0
        self.waiting: dict[int, Received | None] = {}
        """By place; None: one that was refused."""


class Receiver:
    """Takes payloads, gives messages. Ends with the first PeerFault."""

    def __init__(self, *, memory: int = MEMORY, queues: Container[str] | None = None) -> None:
        """`memory`: bytes; a message larger than this can't be received. `queues`: the names of
        those that are taken; None: all."""
        self._memory = memory
        self._queues = queues
        self._partials: dict[int, _Partial] = {}
        self._streams: dict[tuple[str, int], _Stream] = {}
        self._held = 0
        self._delivered = self._cancelled = self._refused = 0
        self._polled: tuple[int, float] | None = None
        self._replies: list[bytes] = []
        self.said: list[Polled | RefusedMessage | Fault] = []
        """What the peer says to our own sender; whoever reads it takes it away."""

    def receive(self, payload: bytes, now: float) -> list[Received]:
        """The messages that are complete with this segment. Raises PeerFault."""
        segment = headers.parse(payload)
        if isinstance(segment, MessageData):
            return self._data(segment)
        if isinstance(segment, Cancelled):
            self._cancel(segment)
        elif isinstance(segment, Poll):
            self._poll(segment, now)
        else:
            self.said.append(segment)
        return []

    def replies(self) -> list[bytes]:
        """Segments to send back, which are taken away by this."""
        replies, self._replies = self._replies, []
        return replies

    def statistics(self) -> ReceiverStatistics:
        return ReceiverStatistics(
            len(self._partials), self._held, self._delivered, self._cancelled, self._refused
        )

    # -- inside ------------------------------------------------------------------------------

    def _data(self, segment: MessageData) -> list[Received]:
        partial = self._partials.get(segment.id)
        if partial is None:
            if segment.size is not None and segment.last:  # whole in one segment
                return self._whole(segment)
            partial = self._open(segment.id)
        if partial.pieces is not None and segment.offset in partial.pieces:
            raise SegmentFault(f"bytes {segment.offset} of message {segment.id} came twice")
        self._count(partial, segment)
        if partial.pieces is not None:
            self._add(partial, segment)
        if partial.pieces is None:
            return self._buried(segment.id, partial)
        if partial.size is None or partial.received < partial.size:
            return []
        if partial.end is None:
            raise SegmentFault(f"message {segment.id} is complete and does not end")
        del self._partials[segment.id]
        self._held -= partial.received + _PIECE * (1 + len(partial.pieces))
        data = _joined(segment.id, partial.pieces, partial.size)
        priority, place = partial.end
        return self._in_order(Received(data, partial.queue, priority, segment.id), place)

    def _whole(self, segment: MessageData) -> list[Received]:
        """A message of one segment."""
        message = Received(segment.payload, segment.queue, segment.priority, segment.id)
        if not self._has(segment.queue):
            self._refuse(segment.id, RefusalReason.UNKNOWN_QUEUE)
            return []
        if len(segment.payload) > self._memory:
            self._refuse(segment.id, RefusalReason.TOO_LARGE)
            return self._skip(segment.queue, segment.priority, segment.place)
        return self._in_order(message, segment.place)

    def _count(self, partial: _Partial, segment: MessageData) -> None:
        """What a segment tells of its message, besides the bytes."""
        if segment.size is not None:
            if partial.size is not None:
                raise SegmentFault(f"message {segment.id} begins twice")
            partial.size, partial.queue = segment.size, segment.queue
        if segment.last:
            if partial.end is not None:
                raise SegmentFault(f"message {segment.id} ends twice")
            partial.end = (segment.priority, segment.place)
        partial.received += len(segment.payload)
        if partial.size is not None and partial.received > partial.size:
            raise SegmentFault(f"message {segment.id} has more than its {partial.size} bytes")

    def _add(self, partial: _Partial, segment: MessageData) -> None:
        """Keep its bytes, or refuse the message."""
        assert partial.pieces is not None
        size = len(segment.payload) + _PIECE
        if partial.size is not None and not self._has(partial.queue):
            self._give_up(segment.id, partial, RefusalReason.UNKNOWN_QUEUE)
        elif partial.size is not None and partial.size > self._memory:
            self._give_up(segment.id, partial, RefusalReason.TOO_LARGE)
        elif self._held + size > self._memory:
            self._give_up(segment.id, partial, RefusalReason.FULL)
        else:
            partial.pieces[segment.offset] = segment.payload
            self._held += size

    def _open(self, id: int) -> _Partial:
        self._note()
        partial = self._partials[id] = _Partial()
        return partial

    def _cancel(self, segment: Cancelled) -> None:
        partial = self._partials.get(segment.id) or self._open(segment.id)
        if partial.upto is not None:
            raise SegmentFault(f"message {segment.id} was cancelled twice")
        self._drop(partial)
        partial.upto = segment.sent
        self._cancelled += 1
        self._buried(segment.id, partial)

    def _buried(self, id: int, partial: _Partial) -> list[Received]:
        """Forget what was cancelled or refused once all has come that will; a refused one that
        was sent whole had a place in its stream."""
        if partial.upto is not None and partial.received > partial.upto:
            raise SegmentFault(f"message {id} goes on after it was cancelled")
        sent_whole = partial.refused and partial.received == partial.size and partial.end
        if partial.received != partial.upto and not sent_whole:
            return []
        del self._partials[id]
        self._held -= _PIECE
        if not sent_whole or not self._has(partial.queue):
            return []
        return self._skip(partial.queue, *sent_whole)

    # -- refusals ----------------------------------------------------------------------------

    def _has(self, queue: str) -> bool:
        return self._queues is None or queue in self._queues

    def _give_up(self, id: int, partial: _Partial, why: RefusalReason) -> None:
        """Keep nothing of it but that it was refused."""
        self._drop(partial)
        partial.refused = True
        self._refuse(id, why)

    def _drop(self, partial: _Partial) -> None:
        if partial.pieces is not None:
            self._held -= sum(map(len, partial.pieces.values())) + _PIECE * len(partial.pieces)
        partial.pieces = None

    def _refuse(self, id: int, why: RefusalReason) -> None:
        self._refused += 1
        self._reply(headers.refused(id, why, limit=self._memory))

    def _note(self) -> None:
        """Remember something that is no bytes of a message."""
        self._held += _PIECE
        if self._held > self._memory + max(_NOTES, self._memory // 16):
            raise SegmentFault(f"more unfinished messages than {self._memory} bytes can remember")

    def _reply(self, segment: bytes) -> None:
        if len(self._replies) < _MOST_REPLIES:
            self._replies.append(segment)

    # -- order -------------------------------------------------------------------------------

    def _in_order(self, message: Received, place: int) -> list[Received]:
        return self._placed(self._stream(message.queue, message.priority), place, message)

    def _skip(self, queue: str, priority: int, place: int) -> list[Received]:
        """No message will come for that place."""
        return self._placed(self._stream(queue, priority), place, None)

    def _stream(self, queue: str, priority: int) -> _Stream:
        stream = self._streams.get((queue, priority))
        if stream is None:
            if len(self._streams) >= MOST_STREAMS:
                raise SegmentFault(f"more than {MOST_STREAMS} pairs of queue and priority")
            stream = self._streams[queue, priority] = _Stream()
        return stream

    def _placed(self, stream: _Stream, place: int, message: Received | None) -> list[Received]:
        """What can be handed over now that this one is here."""
        if place < stream.next or place in stream.waiting:
            raise SegmentFault("a message takes the place of another")
        if place > stream.next:
            self._wait(stream, place, message)
            return []
        found = [] if message is None else [message]
        stream.next += 1
        while stream.next in stream.waiting:
            later = stream.waiting.pop(stream.next)
            self._held -= _PIECE
            if later is not None:
                self._held -= len(later.data)
                found.append(later)
            stream.next += 1
        self._delivered += len(found)
        return found

    def _wait(self, stream: _Stream, place: int, message: Received | None) -> None:
        """For those before it, if there is room."""
        if message is not None and self._held + len(message.data) + _PIECE > self._memory:
            self._refuse(message.id, RefusalReason.FULL)
            message = None
        stream.waiting[place] = message
        self._held += len(message.data) if message is not None else 0
        self._note()

    def _poll(self, segment: Poll, now: float) -> None:
        """The second of a pair is answered with the time since the first."""
        before, self._polled = self._polled, (segment.number, now)
        if before is None or before[0] != segment.number or now - before[1] > _GAP:
            return
        self._polled = None
        gap = now - before[1]
        self._reply(headers.polled(segment.number, size=segment.size, seconds=gap))


def _joined(id: int, pieces: dict[int, bytes], size: int) -> bytes:
    """The message, if the pieces are one: as many bytes may overlap and leave a gap."""
    data = b"".join(pieces[offset] for offset in sorted(pieces))
    at = 0
    for offset in sorted(pieces):
        if offset != at:
            raise SegmentFault(f"message {id} has a gap at byte {at}")
        at += len(pieces[offset])
    assert at == size
    return data
