"""Where segments leave for the carrier: control first, packet pairs, and what of them waits there.

It must not know messages. `now` is an argument; the carrier's calls aside it is pure.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from transport.nai import headers
from transport.nai.carriers.interface import Carrier
from transport.nai.estimators.estimator import Estimator

_MOST_REPLIES: Final = 1024
"""Segments that wait to go; a peer that asks and does not read makes no more."""


class Departure:
    """One direction's way to the carrier, watched by the estimator."""

    def __init__(self, carrier: Carrier, estimator: Estimator) -> None:
        self._carrier, self._estimator = carrier, estimator
        self._control: deque[bytes] = deque()
        self._last_poll = 0
        self._accepted = 0
        """Bytes that the carrier took, as it counts."""

    def __len__(self) -> int:
        """Segments of control that wait."""
        return len(self._control)

    def put(self, control: bytes) -> None:
        """A segment that is to go before all messages'."""
        self._control.append(control)

    def reply(self, control: bytes) -> None:
        """The same for the receiving side; one too many is lost."""
        if len(self._control) < _MOST_REPLIES:
            self._control.append(control)

    def clear(self) -> None:
        self._control.clear()

    def observe(self, now: float) -> bool:
        """Look at what has left; whether there is a new estimate."""
        backlog, latency = self._carrier.backlog(now), self._carrier.latency
        departed = self._accepted - backlog
        return self._estimator.observe(now, departed=departed, backlog=backlog, latency=latency)

    def poll(self, now: float) -> None:
        """Send a packet pair if the estimator wants one."""
        carrier, segment = self._carrier, self._carrier.segment
        if self._estimator.wants_poll(now) and carrier.room(now) >= 2 * segment:
            size = max(headers.SMALLEST_POLL, min(segment, self._estimator.poll_size))
            self._last_poll += 1
            for _ in range(2):
                self.hand_over(headers.poll(self._last_poll, size=size), now)
            self._estimator.poll_sent(now, 2 * carrier.takes(size))

    def ready(self, now: float) -> bool:
        """Send all control that fits; whether a message's segment may go then."""
        while self._carrier.room(now) >= self._carrier.segment:
            if not self._control:
                return self._estimator.ready_at(now) <= now
            self.hand_over(self._control.popleft(), now)
        return False

    def hand_over(self, segment: bytes, now: float) -> None:
        size = self._carrier.takes(len(segment))
        self._carrier.send(segment, now)
        self._accepted += size
        self._estimator.sent(now, size)
