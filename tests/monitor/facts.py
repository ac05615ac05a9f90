"""Transport samples for tests: what is not said is as of a quiet connection."""

from __future__ import annotations

from typing import Any

from monitor.samples import TransportSample

QUIET: dict[str, Any] = {
    "connection": 1, "state": 0, "backoff": 0, "limited": 0, "timeout_us": 200_000, "mss": 1448,
    "unacked": 10, "lost": 0, "rtt_us": 50_000, "rttvar_us": 10_000, "threshold": 100, "window": 10,
    "retransmitted": 0, "acked": 0, "acknowledgements": 0, "min_rtt_us": 50_000, "segments": 0,
    "delivery_rate": 0, "peer_window": 65_536,
}  # fmt: skip


def transport(**said: Any) -> TransportSample:
    """One with these fields."""
    return TransportSample(**{**QUIET, **said})
