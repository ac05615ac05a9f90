"""The time of day, for what others reckon by it: caching fields. All else uses the loop's clock."""

from __future__ import annotations

from datetime import UTC, datetime


def wall_clock() -> float:
    """Seconds since the epoch."""
    return datetime.now(UTC).timestamp()
