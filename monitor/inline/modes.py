"""Says what windows ImTCP's two transmission modes have by what is available.

Source: ImTCP, V. Windows are in packets of `packet` bytes, bandwidths in bytes/second. Pure.
"""

from __future__ import annotations

from typing import Final

from monitor.inline.measurement import PACKETS

SHARE: Final = 0.9
"""g of the background mode: of what others leave, what it takes."""
STREAMS: Final = 5
"""Streams' packets that a window holds at least, so that measurements go on (V-A: the formula has m
of them, the text five; four streams and what is under way between them need five)."""
SLACK: Final = 1.25
"""Of what fills the path, what a window keeps after a loss in full-speed mode: what was lost is
noticed a round trip later."""
EAGER: Final = 100.0
"""h of the full-speed mode, for links that lose (V-B)."""


def background_ceiling(
    available: float,
    round_trip: float,
    *,
    packet: int,
    count: int = PACKETS,
    share: float = SHARE,
) -> float:
    """MaxCwnd: beyond it others would have less. It is never less than measuring takes."""
    return max(share * round_trip * available / packet, float(STREAMS * count))


def full_speed_increase(
    window: float, available: float, round_trip: float, *, packet: int, eagerness: float = EAGER
) -> float:
    """Packets by which a window grows in a round trip: many while it is far from V = A RTT."""
    carried = available * round_trip / packet
    if carried <= 0:
        return 1.0
    return max(1.0, eagerness * (1.0 - window / carried))


def full_speed_reduced(
    window: float, available: float, least_round_trip: float, *, packet: int
) -> float:
    """Packets of a window after a loss: half of it, but what fills the path at what is available.

    Ours: the paper halves. Where others take nothing of it, a loss that leaves the measured
    bandwidth as it was is the air's.
    """
    fills = available * least_round_trip / packet
    return min(window, max(window / 2, SLACK * fills))
