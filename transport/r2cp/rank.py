"""How many segments others will have asked for before what this pipe asks for now is here. Pure.

The paper's `rank` (4.3.1): a request of pipe j at T brings its segment at T + RTT(j). For each
request under way, sent by another pipe p at T(i), p can ask for one more when its answer is there,
and that one comes at T(i) + 2 RTT(p). As many of these as come sooner are left to the others: this
pipe asks for what stands behind them. The paper counts that one answer alone; where one path is
many times as long, the one after it comes sooner as well, and so on, and they count here.

Where the window is larger than what the path holds, that count is too high by as much: answers wait
in a queue. So where a pipe knows its bottleneck it counts what that brings, and what is asked for
already is not pending. What stands with a sender (standing.py) counts as asked for now.

Nothing is kept: the pipes know what is under way and how long it takes, so an RTT that changes
(`update()`) ranks what is under way anew. An answer that should have come so long ago that even
the next one is late counts no more: that path has stopped, or nearly.
"""

from __future__ import annotations

from collections.abc import Iterable

from transport.rcp.pipe import Pipe
from transport.spp.congestion.bottleneck import BottleneckBased


def rank(pipe: Pipe, others: Iterable[tuple[Pipe, int]], now: float) -> int:
    """Bytes that others will have asked for and got by then, of those that are pending now. With
    each other pipe come the bytes that stand with its sender."""
    return sum(_left_to(other, stands, pipe, now) for other, stands in others)


def _left_to(other: Pipe, stands: int, pipe: Pipe, now: float) -> int:
    control, trip, round_ = other.congestion, pipe.round_trip.smoothed, other.round_trip.smoothed
    answering = [one for one in other.under_way() if now < one.at + 2 * round_]
    if isinstance(control, BottleneckBased) and control.found and (answering or other.idle):
        here, asked = control.found * trip, other.in_flight + stands
        return max(0, int(min(here - asked, control.found * (trip - round_))))
    ahead = stands * max(0, int(trip / round_) - 1) if stands else 0
    for one in answering:
        if one.at + 2 * round_ < now + trip:
            ahead += (one.end - one.begin) * (int((now + trip - one.at) / round_) - 1)
    return ahead
