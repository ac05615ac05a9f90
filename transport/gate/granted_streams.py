"""Makes measurement streams of the chunks that a gate grants, and learns what others leave.

    streams.sent(now, nbytes, may_begin=True, rate=40e3)    # of each chunk; a stream may begin
    streams.due                     # when the next chunk of one that is leaving is to go
    streams.arrived(news, now, round_trip=0.1)              # -> a result, or None

Source: ImTCP, III-B and IV: what a connection sends anyway is the probe. There packets are stored
in front of the sender until a stream can begin. Here what wants to go waits in the outbox, so a
stream is a change of the times at which chunks go: none waits for others, and nothing is stored.
The gate lets a chunk or two more be under way, by which a stream may be faster than the path.

A "packet" is a chunk: all of it leaves at once, and has come when its last byte has. Streams of one
measurement go one after the other, each once the one before has been heard of.

Pure. It knows chunks and times, neither frames nor datagrams.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from monitor.estimate import BandwidthEstimate
from monitor.inline.measurement import PACKETS, InlineMeasurement, InlineResult, Where
from monitor.inline.pause import CONGESTED
from monitor.inline.steadied import SteadiedResults
from monitor.inline.stream import MeasurementStream, StreamTimes
from transport.link.connection import DeliveryReport

LEAST: Final = 100.0
"""Bytes/second of a path that is measured: streams of a slower one would take minutes."""
UNLIKE: Final = 0.05
"""Share by which a chunk's size may differ from the others' of its stream."""
PUNCTUAL: Final = 0.5
"""Share by which an interval may be longer than the stream has it, or shorter: an event loop's
timers end at whole milliseconds, and what is found is reckoned from when chunks left in fact."""
OVERDUE: Final = 3.0
"""Round trips after which a stream that is not heard of in full is given up,"""
LEAST_OVERDUE: Final = 0.5
"""and seconds more."""
FAR: Final = 1.5
"""Times by which the path's rate may be beyond the range that is searched: farther, the search
begins there anew. What is available is at least what arrives, and a range moves by half its
width."""
SLOWEST: Final = 0.4
"""Of the path's rate, below which no range begins: a slower stream would hold up the link for what
can't be, and whoever waits for a text with it. A search begins at half of the rate."""
ANEW: Final = 3
"""Streams in a row that told nothing, after which the search begins anew: the present range may be
one whose streams this connection can't send."""
EDGE: Final = 0.5
"""Confidence in a result that says at least, or at most, so much."""
RESOLUTION: Final = 1e-4
"""Seconds below which two arrivals are not told apart: a receiver's kernel stamps them."""


@dataclass(slots=True)
class _Stream:
    """One that is leaving, or has left and is not heard of in full."""

    plan: MeasurementStream
    began: float
    ends: list[int] = field(default_factory=list)
    """For each chunk that left: bytes sent in all with its last one."""
    sent: list[float] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)

    @property
    def leaving(self) -> bool:
        return len(self.ends) < self.plan.count

    @property
    def due(self) -> float:
        return self.began + self.plan.offsets[len(self.ends)]

    @property
    def punctual(self) -> bool:
        """Whether the chunks left as they were to, so that they have the rates they are to have."""
        planned = [later - before for before, later in pairwise(self.plan.offsets)]
        took = [later - before for before, later in pairwise(self.sent)]
        return all(
            abs(one - as_planned) <= PUNCTUAL * as_planned
            for one, as_planned in zip(took, planned, strict=True)
        )


class GrantedStreams:
    """Measures what others leave of one path, by one connection's chunks."""

    def __init__(self) -> None:
        self._measurement: InlineMeasurement | None = None
        self._stream: _Stream | None = None
        self._not_before = 0.0
        self._failed = 0
        """Streams in a row that told nothing."""
        self._sent = self._arrived = 0
        """Bytes of chunks: that left, and that came."""
        self._before = 0
        """Bytes of the connection's stream before the first of those, as far as they are known: of
        what came behind a hole that is still open less is said to be here."""
        self.latest: InlineResult | None = None
        self._steadied = SteadiedResults()
        self.found_at = 0.0
        """When: seconds on the sender's clock."""
        self.streams = self.failures = 0
        """Streams that told something, and that did not."""

    @property
    def due(self) -> float | None:
        """When the next chunk of the stream that is leaving is to go; None: none is leaving."""
        return self._stream.due if self._stream is not None and self._stream.leaving else None

    def sent(self, now: float, nbytes: int, *, may_begin: bool, rate: float) -> None:
        """A chunk goes. `may_begin`: more waits; `rate`, bytes/second: what the path is known to
        carry, where the search begins."""
        self._sent += nbytes
        if self._stream is None:
            if not may_begin or rate < LEAST or now < self._not_before:
                return
            self._stream = _Stream(self._plan(nbytes, rate), now)
        stream = self._stream
        if not stream.leaving:
            return
        if abs(nbytes - stream.plan.packet) > UNLIKE * stream.plan.packet:
            self._fail(now, 0.0)
            return
        stream.ends.append(self._sent)

    def arrived(
        self, news: DeliveryReport, now: float, *, round_trip: float
    ) -> InlineResult | None:
        """Bytes came over there; the result, if that makes one. `round_trip` in seconds."""
        self._arrived += news.size
        self._before = max(self._before, news.in_order - self._arrived)
        stream = self._stream
        if stream is None:
            return None
        if news.in_order - self._before != self._arrived:  # something is missing in between
            self._fail(now, round_trip)
            return None
        heard = [end for end in stream.ends[len(stream.arrived) :] if end <= self._arrived]
        if heard and heard != [self._arrived]:  # told together: when each came is not known
            self._fail(now, round_trip)
            return None
        if heard:
            stream.sent.append(news.sent_at)
            stream.arrived.append(news.arrived_at)
        if len(stream.arrived) == stream.plan.count:
            return self._heard(stream, now, round_trip)
        if now > stream.began + stream.plan.offsets[-1] + OVERDUE * round_trip + LEAST_OVERDUE:
            self._fail(now, round_trip)
        return None

    def estimate(self) -> BandwidthEstimate | None:
        """What others leave of the path, this connection's own share included; None: not known."""
        if self.latest is None:
            return None
        sure = 1.0 if self.latest.where is Where.INSIDE else EDGE
        rate = self._steadied.mean or self.latest.available
        return BandwidthEstimate(rate, self.found_at, sure, "imtcp")

    # -- inside --------------------------------------------------------------------------------

    def _plan(self, packet: int, rate: float) -> MeasurementStream:
        if self._measurement is None:
            self._measurement = InlineMeasurement(packet=packet, count=PACKETS)
            self._measurement.begin_at(rate)
        measurement = self._measurement
        measurement.packet = packet
        searched = measurement.searched
        if searched is None or not SLOWEST * rate <= searched.low <= FAR * rate <= (
            FAR * FAR * searched.high
        ):
            measurement.begin_at(rate)
        return measurement.stream

    def _heard(self, stream: _Stream, now: float, round_trip: float) -> InlineResult | None:
        assert self._measurement is not None
        if not stream.punctual:
            self._fail(now, round_trip)
            return None
        self._stream = None
        self._failed = 0
        self.streams += 1
        times = StreamTimes(stream.sent, stream.arrived)
        found = self._measurement.observed(times, resolution=RESOLUTION)
        if found is not None:
            self.latest, self.found_at = found, now
            self._steadied.add(found.available)
            self._not_before = now + CONGESTED * round_trip
        return found

    def _fail(self, now: float, round_trip: float) -> None:
        """The stream tells nothing; another one is tried, but not at once."""
        self._stream = None
        self.failures += 1
        self._failed += 1
        if self._failed == ANEW:
            self._failed, self._measurement = 0, None
        self._not_before = now + max(CONGESTED * round_trip, LEAST_OVERDUE)
