"""Statistics of a gate, for people, benches and tests. Knows nothing of how it decides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Phase(Enum):
    """Where the controller is."""

    START = "start"
    STEADY = "steady"
    DRAIN = "drain"
    CONTENTION = "contention"
    """Others fill the queue."""


@dataclass(frozen=True, slots=True)
class GateStatistics:
    """An immutable snapshot. Bytes and seconds."""

    phase: Phase
    under_way: int
    cap: float
    margin: float
    growth: int
    """Doublings of the margin at present."""
    delivered: float
    """Most bytes delivered within one window."""
    seen: float
    """Bytes/second that the link has carried at some time, whatever it does now; 0: not known."""
    min_delay: float | None
    delay: float | None
    excess: float
    """Queueing delay of the newest reported byte."""
    jitter: float
    drops: int
    drains: int
