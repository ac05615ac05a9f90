"""How many segments others will have asked for before what this pipe asks for now is here. Pure.

The paper's `rank` (4.3.1): a request of pipe j at T brings its segment at T + RTT(j). For each
request under way, sent by another pipe p at T(i), p can ask for one more when its answer is there,
and that one comes at T(i) + 2 RTT(p). As many of these as come sooner are left to the others: this
pipe asks for what stands behind them. The paper counts that one answer alone; where one path is
many times as long, the one after it comes sooner as well, and so on, and they count here.

Nothing is kept: the pipes know what is under way and how long it takes, so an RTT that changes
(`update()`) ranks what is under way anew. An answer that should have come so long ago that even
the next one is late counts no more: that path has stopped, or nearly.
"""

from __future__ import annotations

from collections.abc import Iterable

from transport.rcp.pipe import Pipe


def rank(pipe: Pipe, others: Iterable[Pipe], now: float) -> int:
    """Bytes that others will have asked for and got by then, of those that are pending now."""
    arrival = now + pipe.round_trip.smoothed
    ahead = 0
    for other in others:
        trip = other.round_trip.smoothed
        for one in other.under_way():
            if now < one.at + 2 * trip < arrival:
                ahead += (one.end - one.begin) * (int((arrival - one.at) / trip) - 1)
    return ahead
