"""Views of a scripted TCP connection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from monitor.tcp_view import LOSS, OPEN, RECOVERY, TcpInfo

NEVER = 2**31 - 1
"""The kernel's slow start threshold before the first loss."""
START = TcpInfo(
    rtt=0.1,
    min_rtt=0.1,
    unacked_segments=10,
    window_segments=10,
    unsent=100_000,
    retransmitted_segments=0,
    segments=10,
    delivery_rate=0.0,
    rtt_deviation=0.01,
    retransmission_timeout=0.3,
    segment_size=1000,
    congestion_state=OPEN,
    slow_start_threshold=NEVER,
    bytes_acked=0,
    peer_window=50_000,
    buffer_limited=0.0,
)
EVERY = 0.05
"""Seconds."""


def script(
    *steps: dict[str, object], first: TcpInfo = START, every: float = EVERY
) -> list[tuple[float, TcpInfo]]:
    """Views at even intervals: the first one, and for each step what it changes.

    Each has sent and got acknowledged five segments more than the one before, unless it says
    otherwise.
    """
    views = [(100.0, first)]
    for number, step in enumerate(steps, 1):
        before = views[-1][1]
        moved = replace(before, segments=before.segments + 5, bytes_acked=before.bytes_acked + 5000)
        views.append((100.0 + number * every, replace(moved, **step)))
    return views


def recovery(lost: int, threshold: int) -> dict[str, object]:
    """Recovery with so many segments sent again in all."""
    return {
        "congestion_state": RECOVERY,
        "retransmitted_segments": lost,
        "slow_start_threshold": threshold,
    }


def timed_out(lost: int, threshold: int, *, acked: int, backoff: int = 1) -> dict[str, object]:
    """A timeout, with so many bytes acknowledged in all."""
    return {
        **recovery(lost, threshold),
        "congestion_state": LOSS,
        "backoff": backoff,
        "bytes_acked": acked,
    }


USUAL: dict[str, object] = {"congestion_state": OPEN, "backoff": 0}


def told(views: Iterable[tuple[float, TcpInfo]], listener: object) -> None:
    """Have it hear all of them."""
    for now, view in views:
        listener.add(now, view)  # type: ignore[attr-defined]
