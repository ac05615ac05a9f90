"""The header of a segment, and nothing of what it means. Numbers are LEB128, 7 bits a byte.

    DATA     flags, id, offset                            then bytes of the message
      begin  + size, length of the queue's name, the name
      end    + priority (zigzag), place
    CANCEL   flags, id, bytes of it that were sent        nothing more follows of that message
    POLL     flags, number                                 then padding: one of a packet pair
    POLLED   flags, number, bytes, microseconds           the answer: so much came within that time
    REFUSED  flags, id, why, limit                         the receiver does not take that message
    FAULT    flags, then text                              why the receiver ends the connection

A message of one segment begins and ends at once. Its bytes are as many as the carrier says. `place`
counts the messages of that queue and priority that were sent whole: over a carrier that does not
keep order, they are delivered in this one.

Pure. Raises PeerFault for what no honest sender makes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from transport.nai.errors import SegmentFault
from transport.nai.messages.message import MAX_PRIORITY, MAX_SIZE
from transport.nai.messages.queues import MAX_NAME

DATA: Final = 0x10
CANCEL: Final = 0x20
POLL: Final = 0x30
POLLED: Final = 0x40
REFUSED: Final = 0x50
FAULT: Final = 0x60
SMALLEST_POLL: Final = 100
"""Bytes of a packet of a pair: its own time on the link is what is measured."""
BEGIN: Final = 0x01
END: Final = 0x02
_KIND: Final = 0xF0
_NUMBER: Final = 9
"""Bytes of a number at most: 63 bits."""
_LARGEST_ID: Final = 1 << 48
CONTINUED: Final = 1 + 7 + 5 + 4 + 7
"""Bytes of the largest header of a segment that begins nothing."""
_LONGEST_TEXT: Final = 100
"""Bytes: with a fault's flags what any carrier's segment holds."""
FIRST: Final = CONTINUED + 5 + 1
"""The same of one that begins a message; its queue's name comes on top."""


class MessageData(NamedTuple):
    """Bytes of a message."""

    id: int
    offset: int
    size: int | None
    """Of the whole message, where it begins."""
    queue: str
    last: bool
    priority: int
    place: int
    payload: bytes


class Cancelled(NamedTuple):
    """A message that will not be completed, and how many of its bytes were sent."""

    id: int
    sent: int


class Poll(NamedTuple):
    """One of two packets that follow each other at once."""

    number: int
    size: int


class Polled(NamedTuple):
    """How far apart the two were: the second one's bytes came within so many seconds."""

    number: int
    size: int
    seconds: float


class RefusalReason(IntEnum):
    """Why a receiver does not take a message."""

    TOO_LARGE = 1
    """Larger than all that it holds of unfinished messages: `limit` bytes."""
    FULL = 2
    """It holds `limit` bytes of unfinished messages already."""
    UNKNOWN_QUEUE = 3
    """It has no queue of that name."""


class RefusedMessage(NamedTuple):
    """A message that the receiver does not take; nothing of it is kept there."""

    id: int
    why: RefusalReason
    limit: int


class Fault(NamedTuple):
    """The receiver ends the connection, since the sender broke the protocol."""

    text: str


Segment = MessageData | Cancelled | Poll | Polled | RefusedMessage | Fault


def number(value: int) -> bytes:
    """A number in LEB128."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def data(
    id: int,
    offset: int,
    *,
    size: int | None = None,
    queue: str = "",
    end: tuple[int, int] | None = None,
) -> bytes:
    """The header of a message's bytes. `size` and `queue`: it begins. `end`: priority, place."""
    flags = DATA | (BEGIN if size is not None else 0) | (END if end is not None else 0)
    out = bytes((flags,)) + number(id) + number(offset)
    if size is not None:
        name = queue.encode()
        out += number(size) + bytes((len(name),)) + name
    if end is not None:
        priority, place = end
        out += number(2 * priority if priority >= 0 else -2 * priority - 1) + number(place)
    return out


def cancel(id: int, sent: int) -> bytes:
    return bytes((CANCEL,)) + number(id) + number(sent)


def poll(which: int, *, size: int) -> bytes:
    """Padded to `size` bytes."""
    head = bytes((POLL,)) + number(which)
    return head + bytes(max(0, size - len(head)))


def polled(which: int, *, size: int, seconds: float) -> bytes:
    return bytes((POLLED,)) + number(which) + number(size) + number(round(seconds * 1e6))


def refused(id: int, why: RefusalReason, *, limit: int) -> bytes:
    return bytes((REFUSED,)) + number(id) + number(why) + number(limit)


def fault(text: str) -> bytes:
    """Cut to what a segment holds."""
    return bytes((FAULT,)) + text.encode()[:_LONGEST_TEXT]


def parse(payload: bytes) -> Segment:
    """What a segment says. Raises PeerFault."""
    if not payload:
        raise SegmentFault("an empty segment")
    kind = payload[0] & _KIND
    if kind == DATA:
        return _data(payload)
    if kind == FAULT:
        return Fault(payload[1 : 1 + _LONGEST_TEXT].decode(errors="replace"))
    which, at = _number(payload, 1)
    if kind == CANCEL:
        sent, at = _number(payload, at)
        _check(which <= _LARGEST_ID and sent <= MAX_SIZE and at == len(payload), "cancellation")
        return Cancelled(which, sent)
    if kind == POLL:
        return Poll(which, len(payload))
    if kind == REFUSED:
        return _refused(payload, which, at)
    _check(kind == POLLED, f"kind {kind:#x}")
    size, at = _number(payload, at)
    micros, at = _number(payload, at)
    _check(at == len(payload), "answer to a poll")
    return Polled(which, size, micros * 1e-6)


def _refused(payload: bytes, id: int, at: int) -> RefusedMessage:
    why, at = _number(payload, at)
    limit, at = _number(payload, at)
    known = id <= _LARGEST_ID and why in tuple(RefusalReason) and at == len(payload)
    _check(known, "refusal")
    return RefusedMessage(id, RefusalReason(why), limit)


def _data(payload: bytes) -> MessageData:
    flags = payload[0]
    id, at = _number(payload, 1)
    offset, at = _number(payload, at)
    size, queue, priority, place = None, "", 0, 0
    if flags & BEGIN:
        size, at = _number(payload, at)
        queue, at = _name(payload, at)
    if flags & END:
        zigzag, at = _number(payload, at)
        priority = zigzag >> 1 if not zigzag & 1 else -(zigzag + 1 >> 1)
        place, at = _number(payload, at)
    rest = payload[at:]
    upto = offset + len(rest)
    _check(not flags & ~(DATA | BEGIN | END), f"flags {flags:#x}")
    _check(id <= _LARGEST_ID and upto <= (MAX_SIZE if size is None else size), "bytes past its end")
    _check(size is None or (offset == 0 and size <= MAX_SIZE), "beginning")
    _check(bool(rest) or (size == 0 and bool(flags & END)), "data without bytes")
    _check(abs(priority) <= MAX_PRIORITY and place <= _LARGEST_ID, "end")
    if size is not None:
        _check(bool(flags & END) == (upto == size), "a message of one segment that is not whole")
    return MessageData(id, offset, size, queue, bool(flags & END), priority, place, rest)


def _name(payload: bytes, at: int) -> tuple[str, int]:
    _check(at < len(payload) and payload[at] <= MAX_NAME, "queue's name")
    end = at + 1 + payload[at]
    _check(end <= len(payload), "truncated name")
    try:
        return payload[at + 1 : end].decode(), end
    except UnicodeDecodeError as error:
        raise SegmentFault("a segment with a queue's name that is not UTF-8") from error


def _number(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for end in range(at, min(len(payload), at + _NUMBER)):
        byte = payload[end]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, end + 1
        shift += 7
    raise SegmentFault("a segment whose header is truncated, or whose numbers are absurd")


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise SegmentFault(f"a segment that no sender makes: {what}")
