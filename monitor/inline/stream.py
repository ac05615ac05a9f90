"""A measurement stream: packets whose intervals fall, so that their rates cover a sub-range.

Source: ImTCP, III-B, step 3. Pure. Knows when packets of one size are to leave, and what their
arrivals say; nothing of connections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from monitor.inline.search_range import SearchRange


@dataclass(frozen=True, slots=True)
class MeasurementStream:
    """Packets of one size that leave at these times."""

    packet: int
    """M: bytes of each."""
    offsets: tuple[float, ...]
    """S(i,1) to S(i,N): seconds after the first one's leaving."""
    covers: SearchRange | None = None
    """The sub-range; None: all leave at once, as Cprobe has them."""

    @property
    def count(self) -> int:
        """N: its packets."""
        return len(self.offsets)


@dataclass(frozen=True, slots=True)
class StreamTimes:
    """When a stream's packets have left, and come, each by one clock; seconds."""

    sent: Sequence[float]
    arrived: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.sent) != len(self.arrived) or len(self.sent) < 2:
            raise ValueError(f"{len(self.sent)} packets left, {len(self.arrived)} came")
        if any(later < before for before, later in pairwise(self.sent)):
            raise ValueError("packets of a stream leave in their order")

    @property
    def delays(self) -> list[float]:
        """D(i,1) to D(i,N): by how much later each came than the first one, for its leaving."""
        first, start = self.arrived[0], self.sent[0]
        return [
            (came - first) - (left - start)
            for left, came in zip(self.sent, self.arrived, strict=True)
        ]

    def rates(self, packet: int, *, resolution: float) -> list[tuple[float, float]]:
        """Bytes/second at which each packet but the first left, and came.

        `resolution`: seconds below which two arrivals can't be told apart.
        """
        return [
            (
                packet / max(left[1] - left[0], 1e-9),
                packet / max(came[1] - came[0], resolution, 1e-9),
            )
            for left, came in zip(pairwise(self.sent), pairwise(self.arrived), strict=True)
        ]


def covering(sub_range: SearchRange, *, packet: int, count: int) -> MeasurementStream:
    """The stream of `count` packets, N, whose rates rise from the sub-range's low to its high."""
    step = sub_range.width / (count - 1)
    intervals = (packet / (sub_range.low + step * j) for j in range(1, count))
    return MeasurementStream(packet, tuple(accumulate(intervals, initial=0.0)), sub_range)


def at_once(*, packet: int, count: int) -> MeasurementStream:
    """The stream that tells where to begin (step 1)."""
    return MeasurementStream(packet, (0.0,) * count)
