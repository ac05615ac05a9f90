"""A path whose facts a test says, for the parts of the gate (transport/gate/path_facts.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from transport.gate.path_facts import PathFacts


@dataclass
class _Path:
    window: float
    excess: float
    jitter: float
    target: float
    rate: float
    drained: float
    least: float
    loop: float

    def dry(self, since: float, under_way: float) -> float:
        """Its reports are in time."""
        return 0.0


def path(
    *,
    window: float = 0.1,
    excess: float = 0.0,
    jitter: float = 0.0,
    target: float = 0.010,
    rate: float = 1e5,
    drained: float = 0.010,
    least: float = 0.0,
) -> PathFacts:
    """Facts: seconds, and bytes/second."""
    return cast(
        PathFacts, _Path(window, excess, jitter, target, rate, drained, least, window + excess)
    )
