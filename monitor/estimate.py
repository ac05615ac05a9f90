"""An estimate of what a link carries, and how sure it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BandwidthEstimate:
    """What the link can do, as far as is known."""

    rate: float
    """Bytes/second towards the peer (sender) or from it (receiver)."""
    at: float
    """When it was measured, on the loop's clock, seconds."""
    confidence: float
    """0 (a guess) to 1 (measured over several round trips while the link was busy)."""
    source: str
    """What measured it: "reports", "requests", "tcp_info", "gate", "imtcp", or a sensor
    (monitor/samples.py)."""
