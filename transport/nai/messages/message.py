"""A message: the application's unit of data, and what becomes of it (ATP, sections 3.1 and 3.3).

    queued -> sending -> delivered                  all of its bytes went to the carrier
      |  \\________|____> suspended -> queued        by the application, or a timer expired
      |           |       deferred  -> queued        the same for some time
      |           '-----> cancelled
      '-> rejected                                   no timer could be kept with it

A record; only the sender (atp.py) writes to it. "Delivered" is the sender's word, as in the paper:
timers are enforced at the sender, so that no clocks need be alike.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from math import isnan
from typing import TYPE_CHECKING, Final

from transport.nai.errors import NaiError

if TYPE_CHECKING:
    from hats.tree.node import Node

MAX_SIZE: Final = 1 << 32
"""Bytes of a message."""
MAX_PRIORITY: Final = 1 << 20
"""And its negative the lowest."""


class MessageState(StrEnum):
    """Where a message stands."""

    QUEUED = "queued"
    SENDING = "sending"
    SUSPENDED = "suspended"
    DEFERRED = "deferred"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    DELIVERED = "delivered"

    @property
    def ended(self) -> bool:
        """Nothing more becomes of it (but a rejected one may be restarted)."""
        return self in (MessageState.CANCELLED, MessageState.REJECTED, MessageState.DELIVERED)

    @property
    def under_way(self) -> bool:
        """It takes part in the contest for the link."""
        return self in (MessageState.QUEUED, MessageState.SENDING)


class Expiry(StrEnum):
    """Why a callback timer's function is called."""

    LATE = "late"
    """The time is over."""
    EARLY = "early"
    """The bandwidth has fallen: the message could not be sent in time any more."""
    REFUSED = "refused"
    """It can't be sent in time, or not without breaking the timers of others."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Send it all the same; from now on with this timer, seconds, None: with none."""

    timer: float | None = None


@dataclass(frozen=True, slots=True)
class Defer:
    """Not now: again after so many seconds, None: when the application resumes it."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Not at all."""


Verdict = Continue | Defer | Cancel
Source = Callable[[int, int], bytes]
"""offset, length: exactly those bytes of the message. May be asked twice after a restart."""


def _source(data: bytes | Source, size: int | None) -> tuple[Source, int]:
    """Where a message's bytes are, and how many. Raises NaiError."""
    if callable(data):
        if size is None:
            raise NaiError("bytes from a source need a size")
        source = data
    else:
        whole = bytes(data)
        size = len(whole) if size is None else size
        if size != len(whole):
            raise NaiError(f"size {size} of {len(whole)} bytes: leave it out")

        def source(offset: int, length: int) -> bytes:
            return whole[offset : offset + length]

    if not 0 <= size <= MAX_SIZE:
        raise NaiError(f"{size} bytes in a message: 0 to {MAX_SIZE}")
    return source, size


class NaiMessage:
    """One message at its sender; identity is equality. Bytes and seconds."""

    __slots__ = (
        "__weakref__",
        "again_at",
        "asked",
        "deadline",
        "error",
        "id",
        "node",
        "on_end",
        "on_timer",
        "order",
        "priority",
        "queue",
        "sent",
        "size",
        "source",
        "state",
        "timer",
    )

    def __init__(
        self,
        data: bytes | Source,
        *,
        size: int | None = None,
        priority: int = 0,
        queue: str = "",
        timer: float | None = None,
        on_timer: OnTimer | None = None,
    ) -> None:
        """Bytes, or a source of `size` bytes. Raises NaiError for what can't be sent."""
        self.source, self.size = _source(data, size)
        self.priority = check_priority(priority)
        self.queue = queue
        self.timer = check_timer(timer)
        """Seconds from being queued, as given; `deadline` is what it came to."""
        self.on_timer = on_timer
        self.id = 0
        """As the receiver knows it; given when it is queued, another one at a restart."""
        self.order = 0
        """Ties are broken by it: earlier ones first."""
        self.state = MessageState.QUEUED
        self.sent = 0
        self.deadline: float | None = None
        """By the sender's clock."""
        self.again_at = float("-inf")
        """Its callback is not called before, lest an answer that can't be kept spins."""
        self.asked: Expiry | None = None
        """Its callback has been called, or is about to be, and has not been answered."""
        self.node: Node | None = None
        """Its leaf in the tree while it is under way."""
        self.error: Exception | None = None
        """Why it was cancelled, if not on purpose."""
        self.on_end: Callable[[NaiMessage], None] | None = None
        """For whoever waits; called once when the message ends."""

    @property
    def left(self) -> int:
        """Bytes that have not gone to the carrier."""
        return self.size - self.sent

    def __repr__(self) -> str:
        return (
            f"<NaiMessage {self.id} {self.state} {self.sent}/{self.size} priority={self.priority}>"
        )


OnTimer = Callable[[NaiMessage, Expiry], Verdict | Awaitable[Verdict | None] | None]
"""The callback timer's function; the message is suspended when it is called. None: Cancel."""


def check_priority(priority: int) -> int:
    if not isinstance(priority, int) or abs(priority) > MAX_PRIORITY:
        raise NaiError(f"priority {priority!r}: a whole number, at most {MAX_PRIORITY} either way")
    return priority


def check_timer(timer: float | None) -> float | None:
    if timer is not None and isnan(timer):
        raise NaiError("a timer that is not a number")
    return None if timer == float("inf") else timer


def check_alive(message: NaiMessage) -> None:
    if message.state.ended:
        raise NaiError(f"the message has ended: {message.state}")


def nothing(offset: int, length: int) -> bytes:
    """The source of a message that has ended, whose bytes nobody keeps."""
    raise NaiError("the message has ended, and its bytes are gone")
