"""Says what windows ImTCP's two transmission modes have by what is available.

Source: ImTCP, V. Windows are in packets of `packet` bytes, bandwidths in bytes/second. Pure.

The background mode has a second signal, which the paper's has not: a queue. A result tells of a
millisecond or two, and where others come in bursts most of those find an idle line; so a window by
results alone takes all that the mean leaves, and stands in the way of each burst. The queue tells
of a burst within a round trip, and of what the window itself adds (as LEDBAT, RFC 6817, uses it).
"""

from __future__ import annotations

from math import inf
from typing import Final

from monitor.inline.measurement import PACKETS

SHARE: Final = 0.9
"""g of the background mode: of what others leave, what it takes."""
STREAMS: Final = 5
"""Streams' packets that a window holds at least, so that measurements go on (V-A: the formula has m
of them, the text five; four streams and what is under way between them need five)."""
QUEUE: Final = 0.03
"""Seconds of others' queue at which the background takes no more than measuring does; with half of
it, half. Beside 220 readers of pages .02 gives two thirds of what .03 does, and at .05 pages take
3 % longer instead of 1."""
REGAINED: Final = 0.1
"""Packets by which its window may grow for each that is acknowledged: a tenth in a round trip. What
doubles is back in full before the next burst of who reads pages."""
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


class BackgroundWindow:
    """MaxCwnd of one connection: by results, and at once by the queue before it."""

    def __init__(self, *, packet: int, count: int = PACKETS, share: float = SHARE) -> None:
        """`packet`: M, bytes; `count`: N; `share`: g."""
        self._packet, self._count, self._share = packet, count, share
        self._available = 0.0
        self._least = inf
        """Seconds of the shortest round trip: that of an empty queue."""
        self.packets = inf
        """The window; without a result there is no bound."""

    def measured(self, available: float) -> None:
        """A result, bytes/second."""
        self._available = available

    def acknowledged(self, packets: int, round_trip: float) -> None:
        """So many have come; the newest one's round trip took so long, in seconds and on the path
        alone: what it waited in the sender tells nothing of a queue."""
        self._least = min(self._least, round_trip)
        if not self._available:
            return
        least = float(STREAMS * self._count)
        allowed = self._allowed(round_trip - self._least)
        if self.packets < inf:
            allowed = min(allowed, self.packets + REGAINED * packets)
        self.packets = max(least, allowed)

    def lost(self) -> None:
        """Packets were lost for which a window is halved: this one, too."""
        self.packets /= 2

    def _allowed(self, queued: float) -> float:
        """Packets by the latest result and a queue of so many seconds."""
        streams = self._count * self._packet / self._available
        """Seconds of queue that a stream of this connection makes."""
        free = 1.0 - max(0.0, queued - streams) / QUEUE
        full = background_ceiling(
            *(self._available, self._least),
            packet=self._packet,
            count=self._count,
            share=self._share,
        )
        return free * full


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
