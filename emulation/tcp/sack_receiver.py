"""TCP's receiver with SACK, a reference model beside sack_sender.py. Pure.

It acknowledges every second segment in order (or each, as ns-2's does by default), a single one
after a while, and at once what comes out of order or fills a hole (RFC 5681, 4.2). Blocks are the
three most recent ones (RFC 2018).
"""

from __future__ import annotations

from typing import Final

from emulation.tcp.sack_sender import SackAck, SackSegment

DELAY: Final = 0.04
"""Seconds, Linux's least."""
_BLOCKS: Final = 3


class SackReceiver:
    """The other end of one connection."""

    def __init__(self, *, every: int = 2) -> None:
        """`every`: segments in order to an acknowledgement."""
        self._every = every
        self.upto = 0
        """All before have come."""
        self.timer: float | None = None
        self._ranges: list[tuple[int, int]] = []
        """Out of order, the most recently changed one first."""
        self._unanswered = 0
        self._echo = 0.0
        self._corrupted: set[int] = set()

    def corrupted(self, number: int) -> None:
        """The last hop says that this segment was lost in the air."""
        if number >= self.upto:
            self._corrupted.add(number)

    def received(self, segment: SackSegment, now: float) -> SackAck | None:
        """The acknowledgement that goes at once; None: none."""
        if not self._unanswered or segment.number != self.upto:
            self._echo = segment.sent_at
        self._unanswered += 1
        self._corrupted.discard(segment.number)
        if segment.number == self.upto and not self._ranges:
            self.upto += 1
            if self._unanswered < self._every:
                self.timer = now + DELAY
                return None
        else:
            self._add(segment.number)
        return self.acknowledge(now)

    def acknowledge(self, now: float) -> SackAck:
        """The acknowledgement of all, which the timer asks for too."""
        self._unanswered, self.timer = 0, None
        eln = self.upto in self._corrupted
        return SackAck(self.upto, tuple(self._ranges[:_BLOCKS]), self._echo, eln, now)

    def _add(self, number: int) -> None:
        if number < self.upto or any(begin <= number < end for begin, end in self._ranges):
            return
        begin, end = number, number + 1
        if begin == self.upto:
            self.upto = end
        else:
            for one in [one for one in self._ranges if begin == one[1] or one[0] == end]:
                self._ranges.remove(one)
                begin, end = min(begin, one[0]), max(end, one[1])
            self._ranges.insert(0, (begin, end))
            return
        for one in sorted(self._ranges):
            if one[0] == self.upto:
                self._ranges.remove(one)
                self.upto = one[1]
        self._corrupted = {one for one in self._corrupted if one >= self.upto}
