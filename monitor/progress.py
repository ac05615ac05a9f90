"""The progress that a receiver reports, which sensors read. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReportedProgress:
    """What a report says, in our terms."""

    received: int
    """Bytes in all."""
    gained: int
    """Bytes of them that the report before did not have."""
    sent_at: float
    """When the newest of them was sent, by our clock, seconds."""
    first_sent_at: float
    """When the oldest of those that the report before did not cover was sent."""
    size: int
    """Bytes that had been sent in one go with the newest of them."""
    part: int
    """As many of these as are there."""
    arrived_at: float
    """When it arrived, by the receiver's, seconds since its first report."""
