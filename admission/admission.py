"""Which messages can be sent in time (ATP, section 3.3).

Messages are ranked by priority, then deadline: within a priority this is EDF, which meets all
deadlines if any order does. With the work W of a message and of all ranked before it, and the
bandwidth r, it will be sent by now + W / r. A new message is admitted if it and all those behind
it, whose W grows by its size, are in time still; those without timers have all the time there is.

Of several queues each has its share of the link at least. What is in the others can delay a queue
by no more than the time it takes, so a queue is in time if it is so either at its share, or at the
whole bandwidth after all others. (Weights: transport/nai/messages/queues.py.)

Pure. Sizes are bytes on the wire; it must not know messages, only their keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple

from admission.ranking import FIRST, LAST, Key, Ranking

_STILL: Final = 1e9
"""Seconds a byte of a link that carries nothing; infinity times no bytes is not a number."""


class Protects(StrEnum):
    """Whose timers a new message must not break."""

    ALL = "all"
    """Those of all admitted messages, as section 3.3 says."""
    PEERS = "peers"
    """Those of its priority. Lower ones expire early, as in the paper's experiments, where ATP
    discards "a low-priority message [...] when a higher-priority message arrives" (5.4)."""


class AdmissionEntry(NamedTuple):
    """A message as admission sees it."""

    priority: int
    deadline: float | None
    order: int

    @property
    def key(self) -> Key:
        """Where it stands; those without a deadline stand together, at the end of a priority."""
        if self.deadline is None:
            return (-self.priority, inf, 0)
        return (-self.priority, self.deadline, self.order)

    @property
    def behind(self) -> Key:
        """Just behind it, and behind what goes first though it stands at the same place."""
        rank, deadline, order = self.key
        return (rank, deadline, order + 1)

    @property
    def level_end(self) -> Key:
        """Behind all of its priority."""
        return (-self.priority, inf, 1)


class Admission:
    """What is queued, and whether more can be. Bytes, bytes/second, seconds."""

    def __init__(self, *, blocking: int = 0, protects: Protects = Protects.ALL) -> None:
        """`blocking`: bytes that go first whatever comes, as a segment begun can't be
        interrupted."""
        self.blocking = blocking
        self.protects = protects
        self._pace = _STILL
        self._rankings: dict[str, Ranking] = {}
        self._untimed: dict[tuple[str, Key], int] = {}
        """How many messages share a key, as all without timers of one priority do."""
        self._total = 0

    @property
    def total(self) -> int:
        """Bytes of all messages."""
        return self._total

    def set_rate(self, rate: float) -> None:
        """The link carries so many bytes/second."""
        self._pace = min(_STILL, 1 / rate) if rate > 0 else _STILL

    def admits(
        self,
        queue: str,
        entry: AdmissionEntry,
        size: int,
        now: float,
        *,
        shares: Mapping[str, float],
        expected: float = 0.0,
    ) -> bool:
        """Whether it would be in time, and the others still. `shares`: of each queue in use, the
        new message's included, 0 to 1; `expected` bytes/second of higher priorities to come."""
        for name, other in self._rankings.items():
            if name != queue and not self._in_time(other, size, now, shares[name]):
                return False
        ranking = self._rankings.get(queue) or Ranking()
        through = ranking.before(entry.behind) + size + self.blocking
        for bare, start in self._models(ranking, now, shares[queue]):
            pace = min(_STILL, bare / (1 - expected * bare)) if expected * bare < 1 else _STILL
            in_time = entry.deadline is None or start + through * pace <= entry.deadline
            if in_time and self._spares(
                ranking, entry, start + (size + self.blocking) * pace, pace
            ):
                return True
        return False

    def add(self, queue: str, entry: AdmissionEntry, size: int) -> None:
        """It is queued, admitted or not asked for."""
        ranking = self._rankings.setdefault(queue, Ranking())
        key = entry.key
        ranking.add(key, size)
        self._total += size
        if entry.deadline is None:
            self._untimed[queue, key] = self._untimed.get((queue, key), 0) + 1

    def served(self, queue: str, entry: AdmissionEntry, size: int) -> None:
        """So many bytes of it were sent."""
        self._rankings[queue].reduce(entry.key, size)
        self._total -= size

    def remove(self, queue: str, entry: AdmissionEntry, size: int) -> None:
        """It is gone, with so many bytes left."""
        ranking, key = self._rankings[queue], entry.key
        self._total -= size
        if entry.deadline is None:
            count = self._untimed.pop((queue, key)) - 1
            ranking.reduce(key, size)
            if count:
                self._untimed[queue, key] = count
                return
        ranking.remove(key)
        if not ranking:
            del self._rankings[queue]

    def late(
        self, now: float, *, grace: float = 0.0, shares: Mapping[str, float]
    ) -> Iterator[tuple[str, Key]]:
        """The messages that can't be in time, in order of rank; `grace`: by more than so many
        seconds."""
        for name, ranking in list(self._rankings.items()):
            models = self._models(ranking, now - grace, shares[name])
            if ranking.floor(self._pace) >= models[0][1] or any(
                ranking.slack_between(FIRST, LAST, pace) >= start for pace, start in models
            ):
                continue
            for key in list(ranking.late(*models[-1])):
                yield name, key

    # -- inside ------------------------------------------------------------------------------

    def _models(self, ranking: Ranking, now: float, share: float) -> list[tuple[float, float]]:
        """Seconds a byte and the start of a queue's work, each of them a bound: the whole bandwidth
        after all other queues, or its share from now on."""
        beside = self._total - ranking.total
        whole = (self._pace, now + beside * self._pace)
        return [whole, (self._pace / share, now)] if beside else [whole]

    def _in_time(self, other: Ranking, size: int, now: float, share: float) -> bool:
        """Another queue, with so much more beside it."""
        whole = now + (self._total - other.total + size + self.blocking) * self._pace
        if other.floor(self._pace) >= whole or other.slack(self._pace) >= whole:
            return True
        pace = self._pace / share
        return other.slack_between(FIRST, LAST, pace) >= now + self.blocking * pace

    def _spares(self, ranking: Ranking, entry: AdmissionEntry, start: float, pace: float) -> bool:
        """Whether those behind it are in time still if the queue's work begins then, without it."""
        last = LAST if self.protects is Protects.ALL else entry.level_end
        if pace == self._pace and ranking.floor(pace) >= start:
            return True
        return ranking.slack_between(entry.behind, last, pace) >= start
