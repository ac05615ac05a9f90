"""Knows how much of the stream there is to be asked for, and of which sender. Pure.

Each sender has told at some time where its part of the stream ended then (`Limit`, or DATA that is
throttled). What is asked for beyond stands with the sender that keeps it, or is pending again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from transport.r2cp.path import PipePath
from transport.r2cp.standing import StandingRange
from transport.rcp.pending import ByteRange
from transport.rcp.pipe import Ask
from transport.rcp.received_stream import ReceivedStream


class Availability:
    """What all senders of one stream have, as far as the receiver knows."""

    def __init__(
        self, stream: ReceivedStream, paths: Callable[[], Iterable[PipePath]], *, stands: bool
    ) -> None:
        """`stands`: a sender has more where somebody asks for more, so who brings bytes without
        saying that they are the last may have more, and others too."""
        self.known = 0
        """All before this byte exists: somebody has sent it, or said that there is as much."""
        self._stream, self._paths, self._stands = stream, paths, stands

    def exists(self, end: int, path: PipePath, now: float) -> None:
        """Who has said that there is less may be asked for this much: it has had the time. What
        stood until now is under way."""
        if end <= self.known:
            return
        self.known = end
        for other in self._paths():
            if other is not path and other.limit is not None:
                other.limit = max(other.limit, end)
            if other.standing:
                self._ask(other, other.standing.release(end), now)

    def more(self, end: int, path: PipePath, now: float) -> None:
        """Bytes before `end` have come that were not the last: all that stands with their sender is
        on its way, or will be said to have no end yet."""
        self.exists(end, path, now)
        if path.standing:
            self._ask(path, path.standing.withdraw(), now)
        for other in self._paths() if self._stands else (path,):
            if other.limit is not None and end >= other.limit:
                other.limit = None  # its sender has had more since

    def limited(self, path: PipePath, limit: int, echo: int, now: float) -> None:
        """Its sender has nothing from there on: what it was asked for beyond stands, or is asked
        for again, of others or later, and is no loss. What another sender has is not in question.
        """
        self.exists(limit, path, now)
        if (echo, limit) <= path.word:
            return
        path.word, path.limit = (echo, limit), limit
        for one in path.pipe.under_way():
            if one.clock <= echo and one.end > limit:
                self._withhold(path, one, limit)

    def _withhold(self, path: PipePath, one: Ask, limit: int) -> None:
        """Its sender had nothing of that from `limit` on. Where it keeps what it was asked for, and
        others have brought what is behind that, it has more by now, which is on its way."""
        limit = max(limit, self.known) if one.kept else limit
        begin, end = max(one.begin, limit), one.end
        if begin >= end:
            return
        if one.begin < limit:
            path.pipe.shorten(one, limit)
        else:
            path.pipe.cancel(one)
        if one.number in path.copies:
            return
        if one.kept:
            path.standing.add(begin, end, since=min(one.at, one.stood_since))
        else:
            self._stream.pending.put_back(begin, end)

    def _ask(self, path: PipePath, ranges: Iterable[StandingRange], now: float) -> None:
        """What stood until now is under way."""
        for begin, end, since in ranges:
            one = ByteRange(begin, end)
            path.asking.ask((one,), pulled=True, now=now, kept=True, stood_since=since)
