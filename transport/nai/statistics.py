"""What a sender has done so far, for whoever watches."""

from __future__ import annotations

from dataclasses import dataclass

from transport.nai.estimator import Estimate


@dataclass(frozen=True, slots=True)
class SenderStatistics:
    """An immutable snapshot."""

    queued: int
    """Messages under way."""
    waiting: int
    """Messages suspended or deferred."""
    bytes: int
    """Of messages under way, with headers."""
    delivered: int
    """Messages."""
    late: int
    early: int
    refused: int
    cancelled: int
    wasted: int
    """Bytes sent of messages that were cancelled or begun anew."""
    estimate: Estimate
