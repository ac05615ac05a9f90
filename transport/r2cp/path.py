"""Holds one pipe of an R2CP engine, and what its requests are made of. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from transport.r2cp.standing import StandingPulls
from transport.rcp.goodbye import RcpGoodbye
from transport.rcp.persist import Persist
from transport.rcp.pipe import Pipe
from transport.rcp.pipe_requests import PipeRequests


@dataclass(slots=True)
class PipePath:
    """One pipe, and what its requests are made of."""

    asking: PipeRequests
    goodbye: RcpGoodbye = field(default_factory=RcpGoodbye)
    persist: Persist = field(default_factory=Persist)
    standing: StandingPulls = field(default_factory=StandingPulls)
    established: bool = False
    frozen: bool = False
    carried: int = 0
    """Bytes that came over it first."""
    doubtful: bool = False
    """It has been silent for too long: others are asked for what it was, and for all else."""
    copies: set[int] = field(default_factory=set)
    """Numbers of asks that only find out whether it lives: their bytes are others' as well."""
    limit: int | None = None
    """Its sender had nothing from there on when it last said so; None: it may be asked."""
    word: tuple[int, int] = (-1, 0)
    """The newest such word: clock of the request that it answers, and limit."""

    @property
    def pipe(self) -> Pipe:
        return self.asking.pipe
