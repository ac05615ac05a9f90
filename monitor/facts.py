"""The facts about one TCP connection that throughput models are fed with. Pure.

What they are: Bolliger and Gross, "Bandwidth monitoring for network-aware applications", note 3:
round trip, loss rate, how long timeouts last, how the receiver acknowledges, the receiver's window.
Knows neither who found them out (monitor/sensors/connection.py) nor the models (monitor/models/).
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConnectionFacts:
    """All that is known of one connection at a moment, as counted since another one."""

    at: float
    """When, seconds by the loop's clock."""
    since: float
    """When counting began."""
    rtt: float
    """Seconds of a round trip: the mean over round trips, not over time."""
    segment_size: int
    """Bytes of payload of a full segment."""
    segments: int
    """Data segments sent, again or for the first time."""
    bytes_acked: int
    from_start: bool = True
    """Counting began with the connection: its first slow start is among what was counted."""
    rtt_deviation: float = 0.0
    """Seconds."""
    retransmission_timeout: float = 1.0
    """Seconds; the default is RFC 6298's initial one."""
    retransmitted: int = 0
    """Segments sent again."""
    loss_events: float = 0.0
    """Times that losses halved the window. One event may be many lost segments. A share of one is
    how sure its sensor was."""
    first_loss: int | None = None
    """Segments sent when the first of them was seen."""
    timeouts: int = 0
    """Loss events that only a timer ended."""
    timeout_seconds: float = 0.0
    """Seconds in all without progress because of these."""
    segments_per_ack: float = 1.0
    """Segments that one acknowledgement covers; 2 where the receiver delays them (RFC 5681)."""
    grows_by_segments: bool = True
    """The sender's window grows with segments acknowledged, not with acknowledgements (RFC 3465),
    as Linux has it: delayed ones do not slow it."""
    send_window: float | None = None
    """Bytes under way at most, as the sender's buffer has it; None: it sets no limit."""
    receive_window: float | None = None
    """Bytes under way at most, as the receiver has it; None: unknown."""

    def __post_init__(self) -> None:
        """Raises ValueError for what no connection can have."""
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} of a connection can't be {value}")
        if self.at < self.since:
            raise ValueError(f"counting began at {self.since}, which is after {self.at}")
        if self.rtt == 0 or self.segment_size == 0 or self.segments_per_ack == 0:
            raise ValueError("a connection has a round trip, a segment's size and acknowledgements")
        if self.loss_events > self.segments or self.retransmitted > self.segments:
            raise ValueError("more losses than segments were sent")
        if 0 in (self.send_window, self.receive_window):
            raise ValueError("a window of a connection takes a byte at least")

    @property
    def duration(self) -> float:
        """Seconds of counting."""
        return self.at - self.since

    @property
    def loss_rate(self) -> float:
        """Loss events for each segment sent."""
        return self.loss_events / self.segments if self.segments else 0.0

    @property
    def window(self) -> float | None:
        """Segments under way at most, 1 or more; None: nothing is known to limit them."""
        known = [one for one in (self.send_window, self.receive_window) if one is not None]
        return max(1.0, min(known) / self.segment_size) if known else None

    @property
    def acks_per_growth(self) -> float:
        """The models' b: the window grows by a segment in so many full rounds."""
        return 1.0 if self.grows_by_segments else max(1.0, self.segments_per_ack)
