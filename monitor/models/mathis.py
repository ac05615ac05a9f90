"""The square-root law of TCP's throughput: losses alone, no timeouts, no limits. Pure.

Mathis, Semke, Mahdavi, Ott: "The macroscopic behavior of the TCP congestion avoidance algorithm",
CCR 27(3), 1997, equation 3 with the constants of table 1. It overestimates where timeouts happen
or a window limits. Knows nothing of who measures.
"""

from __future__ import annotations

import math
from typing import Final

PERIODIC: Final = {"every": math.sqrt(3 / 2), "delayed": math.sqrt(3 / 4)}
"""C where losses come at even distances, by how the receiver acknowledges: every segment, or every
second one."""
RANDOM: Final = {"every": 1.31, "delayed": 0.93}
"""C where each segment is lost by chance."""


def throughput(loss: float, *, rtt: float, segment_size: float, constant: float) -> float:
    """Bytes/second: MSS/RTT * C/sqrt(p), equation 3; `loss` is p, loss events for each segment.

    Raises ValueError for what is no share above 0, no time or no size.
    """
    if not 0 < loss <= 1:
        raise ValueError(f"this model needs a loss rate above 0, at most 1, not {loss}")
    if not (0 < rtt < math.inf and 0 < segment_size < math.inf):
        raise ValueError(f"no path has {rtt=} and {segment_size=}")
    return segment_size / rtt * constant / math.sqrt(loss)
