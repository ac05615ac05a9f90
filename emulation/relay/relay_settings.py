"""Settings and statistics of a relay. Who does the work: relay_engine.py."""

from __future__ import annotations

from dataclasses import dataclass

from emulation.lines.impairments import GOOD, Impairments

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """What a relay emulates. Rates in bytes/second, delay in seconds one way, queue in bytes."""

    target: Address
    rate_up: float
    rate_down: float
    delay: float
    queue: int
    listen: Address
    impairments: Impairments = GOOD
    trace_up: str = ""
    """Paths of the files that rates follow instead; empty: none."""
    trace_down: str = ""


@dataclass(frozen=True, slots=True)
class RelayStatistics:
    """An immutable snapshot."""

    bytes_up: int
    bytes_down: int
    queued_up: int
    queued_down: int
    peak_queued_up: int
    peak_queued_down: int
    connections: int
    """Accepted so far."""
    open: int
    lateness: tuple[float, float, float]
    """Seconds by which deliveries were late, median, 99th percentile, most, of the last 20 000."""
    outages: int = 0
    """That have ended."""
    resets: int = 0
    """Of these, those that reset what was open."""
