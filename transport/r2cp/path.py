"""Holds the pipes of an R2CP engine, what their requests are made of, and who is to be asked. Pure.

A path is doubtful that has been silent for too long; a spare one carries nothing while one answers
that is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Final

from transport.r2cp.standing import StandingPulls
from transport.r2cp.train_rate import TrainRate
from transport.rcp.goodbye import RcpGoodbye
from transport.rcp.persist import Persist
from transport.rcp.pipe import Pipe
from transport.rcp.pipe_requests import PipeRequests

_AROUND: Final = 120
"""Bytes that a segment costs besides its own: headers and seal, its share of a request."""


@dataclass(slots=True)
class PipePath:
    """One pipe, and what its requests are made of."""

    asking: PipeRequests
    goodbye: RcpGoodbye = field(default_factory=RcpGoodbye)
    persist: Persist = field(default_factory=Persist)
    standing: StandingPulls = field(default_factory=StandingPulls)
    train: TrainRate = field(default_factory=TrainRate)
    """What it carries, by the cells of a stream without order."""
    established: bool = False
    frozen: bool = False
    spare: bool = False
    """It is asked for nothing while one that is none answers."""
    retired: bool = False
    """It is asked for nothing more."""
    carried: int = 0
    """Bytes that came over it first."""
    doubtful: bool = False
    """It has been silent for too long: others are asked for what it was, and for all else."""
    void: int = 0
    """Of a stream without order: others are asked for what requests before that clock asked for,"""
    dropped: int | None = None
    """The clock before which its sender keeps nothing; None: it does not say."""
    void_at: float = -inf
    """which were made by that time."""
    fresh: list[int] = field(default_factory=list)
    """Where cells begin that it was asked for beside what others owe."""
    copies: set[int] = field(default_factory=set)
    """Numbers of asks that only find out whether it lives: their bytes are others' as well."""
    left: int | None = None
    """Bytes that may cross it, of which it owes some already; None: any number."""
    limit: int | None = None
    """Its sender had nothing from there on when it last said so; None: it may be asked."""
    word: tuple[int, int] = (-1, 0)
    """The newest such word: clock of the request that it answers, and limit."""

    @property
    def pipe(self) -> Pipe:
        return self.asking.pipe

    @property
    def sure(self) -> bool:
        """It answers, and may be asked."""
        return not self.doubtful and not self.retired

    @property
    def owed(self) -> int:
        """Bytes that its sender was asked for and that are not here."""
        return self.pipe.in_flight + self.standing.size

    @property
    def affords(self) -> float:
        """Segments that it may still be asked for."""
        if self.left is None:
            return inf
        return max(0, self.left - self.owed) // (self.asking.size + _AROUND)

    @property
    def delay(self) -> float:
        """Seconds that an answer takes now, as far as is known."""
        rate, delay = self.train.rate, self.pipe.delay
        if not self.pipe.idle:  # of what stood no round trip tells
            delay = max(delay, self.pipe.round_trip.least + self.train.waited)
        return delay + (self.asking.packet / rate if rate else 0.0)


class PathTable(dict[int, PipePath]):
    """All pipes of one engine by their numbers."""

    def ready(self) -> list[tuple[int, PipePath]]:
        """Lists what may be asked."""
        return [
            (number, path) for number, path in self.items() if path.established and not path.frozen
        ]

    def replaced(self, path: PipePath) -> bool:
        """Whether there are others that can be relied on."""
        return any(other is not path and other.sure for _, other in self.ready())

    def rests(self, path: PipePath) -> bool:
        """Whether it is to be asked for nothing: it is retired, or spare and not needed now."""
        return path.retired or (
            path.spare and any(other.sure and not other.spare for _, other in self.ready())
        )

    def asked(self, *, but: PipePath | None) -> list[PipePath]:
        """Lists the others that are asked for anything."""
        return [
            path
            for _, path in self.ready()
            if path is not but and path.sure and path.affords > 0 and not self.rests(path)
        ]

    def quickest(self, but: PipePath | None = None) -> PipePath | None:
        """Finds the shortest delay among all (but that one) that answer and do not rest."""
        ready = (path for _, path in self.ready() if path is not but)
        sure = (path for path in ready if path.sure and not self.rests(path))
        return min(sure, key=lambda path: path.delay, default=None)
